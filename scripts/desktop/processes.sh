# shellcheck shell=bash
# Processes that outlive the script that starts them: sourced by scripts that start daemons.
#
# Each has a name and a file "$PROCESSES/NAME" that holds its pid and its start time in the kernel's
# ticks. Together they name one process for ever, so that nothing else is ever ended in its place.
# What a process prints is in "$LOGS/NAME.log". The script that sources this sets both folders.

# Prints when the process $1 started; fails when it has ended. A zombie has ended.
start_time() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -ra stat <<<"${stat##*) }"
  case ${stat[0]} in Z | X) return 1 ;; esac
  printf '%s\n' "${stat[19]}"
}

alive() {
  local pid started
  [ -s "$PROCESSES/$1" ] && read -r pid started <"$PROCESSES/$1" &&
    [ "$(start_time "$pid")" = "$started" ]
}

pid_of() {
  local pid _
  read -r pid _ <"$PROCESSES/$1" && printf '%s\n' "$pid"
}

# launch NAME COMMAND...: starts it, unless it runs already.
launch() {
  local name=$1 started
  shift
  alive "$name" && return 0
  setsid "$@" </dev/null >"$LOGS/$name.log" 2>&1 9>&- &
  disown $!
  started=$(start_time $!) || started=0
  printf '%s %s\n' $! "$started" >"$PROCESSES/$name"
}

# await NAME WHAT COMMAND...: waits until COMMAND succeeds; fails when the process NAME has ended or
# 20 seconds have passed, and shows the end of its log.
await() {
  local name=$1 what=$2 deadline=$((SECONDS + 20))
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! alive "$name"; then
      printf '%s: %s ended before there was a %s:\n' "${0##*/}" "$name" "$what"
    elif [ "$SECONDS" -ge "$deadline" ]; then
      printf '%s: %s gave no %s in 20 s:\n' "${0##*/}" "$name" "$what"
    else
      sleep 0.05
      continue
    fi >&2
    tail -n 10 "$LOGS/$name.log" >&2
    return 1
  done
}

# finish NAME...: asks each to end, one after the other, and makes it after 3 seconds.
finish() {
  local name pid tries
  for name; do
    if alive "$name"; then
      pid=$(pid_of "$name")
      kill -TERM "$pid" 2>/dev/null || true
      for ((tries = 0; tries < 150; tries++)); do
        alive "$name" || break
        sleep 0.02
      done
      ! alive "$name" || kill -KILL "$pid" 2>/dev/null || true
    fi
    rm -f "$PROCESSES/$name"
  done
}
