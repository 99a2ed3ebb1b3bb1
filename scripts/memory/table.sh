# shellcheck shell=bash
# The table of `scripts/measure memory`, which sources this and has set root, folder and sizes.

# How long each runs before it is looked at, in seconds: pools are filled and sizes have settled.
settling=5

# field NAME PID: a figure of /proc/PID/status, in kB where it is memory
field() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$2/status"; }
# limit NAME PID: a hard limit in kB, or "none"
limit() {
  awk -v name="$1" 'index($0, name) == 1 {
    hard = $(NF - 1); print (hard == "unlimited" ? "none" : hard / 1024)
  }' "/proc/$2/limits"
}
# The only child of a process that was launched.
child_of() { awk '{ print $1 }' "/proc/$1/task/$1/children"; }
# Pages of the process's own files without a name, mapped or not, in kB.
owned_files() {
  local file sum=0 blocks
  for file in "/proc/$1/fd/"*; do
    case $(readlink "$file") in
      /memfd:porthole*)
        blocks=$(stat -L -c %b "$file")
        sum=$((sum + blocks / 2))
        ;;
    esac
  done
  echo "$sum"
}
# row NAME PID: a line of the table
row() {
  local name figures=()
  for name in VmPeak VmSize VmData VmRSS RssAnon RssShmem; do figures+=("$(field "$name" "$2")"); done
  figures+=("$(owned_files "$2")" "$(field Threads "$2")")
  figures+=("$(limit "Max address space" "$2")" "$(limit "Max data size" "$2")")
  printf '| %s ' "$1" "${figures[@]}"
  printf '|\n'
}

measure_memory() {
  local size tier rows=''
  : "${root:?}" "${folder:?}" "${sizes:?}"
  for size in ${sizes//,/ }; do
    start_desktop "$size"
    for tier in address data; do
      say "$size in the $tier tier"
      launch_relay --memory-tier "$tier"
      sleep "$settling"
      rows+=$(row "$size, $tier" "$(child_of "$(pid_of relay)")")$'\n'
      finish relay
    done
    say "$size in GStreamer"
    launch_peer
    sleep "$settling"
    rows+=$(row "$size, GStreamer x264" "$(child_of "$(pid_of peer)")")$'\n'
    finish peer
    "$root/scripts/headless-desktop" stop "$folder/desktop"
  done
  printf '\nkB, as the kernel counts them, a window changing 30 times a second\n'
  printf '| what | VmPeak | VmSize | VmData | RSS | anonymous | shared | own memfds | threads | '
  printf 'limit of addresses | limit of data |\n'
  printf '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n%s' "$rows"
}
