# shellcheck shell=bash
# What a desktop can show and play: sourced by scripts/headless-desktop, which says what each thing is, and
# whose folders, processes and functions these use.
# shellcheck disable=SC2154

# A node in the PipeWire server itself, which lives as long as that.
make_null_node() {
  is_node_up "$1" || pw-cli create-node adapter "{ factory.name=support.null-audio-sink
    node.name=$1 node.description=\"$3\" media.class=$2 object.linger=true
    audio.position=[FL FR] monitor.channel-volumes=true }" >/dev/null
  await pipewire "node $1" is_node_up "$1"
}

# play NAME FREQUENCY NODE PROPERTIES [ELEMENT-PROPERTY]: a tone as a playback stream
play() {
  launch "$1" gst-launch-1.0 -q audiotestsrc is-live=true freq="$2" volume=0.5 ! \
    audio/x-raw,format=S16LE,rate=48000,channels=2 ! \
    pipewiresink ${5:+"$5"} stream-properties="props,node.name=$3,$4"
  await "$1" "node $3" is_node_up "$3"
}

link_microphone() {
  local channel
  for channel in FL FR; do
    pw-link porthole_voice:output_$channel porthole_microphone:input_$channel 2>&1 |
      grep -qv 'File exists' && return 1
  done
  return 0
}

all_things="window, window2, speakers, microphone, camera, odd-camera"

show() {
  local words properties name number
  case $1 in
    window | window2) show "$1=counter" ;;
    window=* | window2=*)
      name=${1%%=*}
      [ "$name" = window ] && number=1 || number=2
      has_output "$number" || fail "there is no second output: start with --outputs 2" 64
      IFS=+ read -ra words <<<"${1#*=}"
      case ${words[0]-} in
        counter | still | full | typing) ;;
        *) fail "no window is called ${words[0]-} (counter, still, full, typing)" 64 ;;
      esac
      finish "$name"
      words=("${words[@]/#flips/--flips}")
      words=("${words[@]/#poked/--poked}")
      # A window appears where the last one was looked at.
      swaymsg focus output "HEADLESS-$number" >/dev/null
      launch "$name" /usr/bin/python3 "$here/desktop/window.py" "${words[@]/#rate=/--rate=}"
      await "$name" "picture" is_in_log "$name" ready
      ;;
    speakers)
      make_null_node porthole_speakers Audio/Sink "Speakers without hardware"
      play speakers 440 porthole_tone media.class=Stream/Output/Audio \
        target-object=porthole_speakers
      ;;
    microphone)
      make_null_node porthole_microphone Audio/Source/Virtual "Microphone without hardware"
      # Nothing links a playback stream to a source by itself.
      play microphone 660 porthole_voice media.class=Stream/Output/Audio,node.autoconnect=false
      await microphone "link" link_microphone
      ;;
    # Without `identity` the source draws straight into the sink's buffers, and when a viewer leaves, pictures end: it
    # waits for a buffer, gives the next viewer all that was missed at once, and waits again.
    camera)
      properties=media.class=Video/Source,media.role=Camera,node.name=porthole_camera
      launch camera gst-launch-1.0 -q videotestsrc is-live=true pattern=ball ! \
        video/x-raw,format=YUY2,width=640,height=480,framerate=30/1 ! \
        identity drop-allocation=true ! pipewiresink mode=provide stream-properties="props,$properties"
      await camera "node porthole_camera" is_node_up porthole_camera
      ;;
    odd-camera)
      # A size that no macroblock and no chroma sample divides.
      properties=media.class=Video/Source,media.role=Camera,node.name=porthole_odd_camera
      launch odd-camera gst-launch-1.0 -q videotestsrc is-live=true pattern=smpte75 ! \
        video/x-raw,format=NV12,width=641,height=481,framerate=30/1 ! \
        identity drop-allocation=true ! pipewiresink mode=provide stream-properties="props,$properties"
      await odd-camera "node porthole_odd_camera" is_node_up porthole_odd_camera
      ;;
    *) fail "nothing to show is called $1 ($all_things)" 64 ;;
  esac
}

hide() {
  case $1 in
    window | window2 | speakers | microphone | camera | odd-camera) finish "$1" ;;
    *) fail "nothing to hide is called $1 ($all_things)" 64 ;;
  esac
}
