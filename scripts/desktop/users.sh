# shellcheck shell=bash
# Who uses a desktop, so that the last one ends it: sourced by scripts/headless-desktop.
#
# A process has a file "$dir/users/PID" with its start time, which counts while it lives; whoever starts a
# desktop by hand has "$dir/users/kept", which counts until the desktop is stopped. Called under the lock; the
# script that sources this sets `dir`.
# shellcheck disable=SC2154

# enter PID: empty for by hand
enter() {
  mkdir -p "$dir/users"
  if [ -n "$1" ]; then start_time "$1" >"$dir/users/$1"; else : >"$dir/users/kept"; fi
}

is_used() {
  local file
  [ ! -e "$dir/users/kept" ] || return 0
  for file in "$dir/users"/*; do
    [ ! -s "$file" ] || [ "$(start_time "${file##*/}")" != "$(<"$file")" ] || return 0
  done
  return 1
}
