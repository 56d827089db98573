# Shared by the commands in script/: where things are, how progress and errors look. Sourced, not run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=$ROOT/.cache
VENV=$ROOT/.venv
BUILD=$ROOT/build
TORCH_VERSION=2.13.0

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# die MESSAGE [REMEDY]
die() {
  say "error: $1"
  [ $# -lt 2 ] || say "remedy: $2"
  exit 1
}

# step TITLE COMMAND...: runs a long command with its output in a log and a line of progress; shows the log's end when
# it fails. Where stderr is a terminal, the elapsed time ticks.
step() {
  local title=$1 log start pid status=0
  shift
  mkdir -p "$CACHE/log"
  log=$CACHE/log/$(printf '%s' "$title" | tr -cs 'A-Za-z0-9' '-').log
  start=$SECONDS
  say "$title ..."
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  if [ -t 2 ]; then
    while kill -0 "$pid" 2>/dev/null; do
      printf '\r%s: %s ... %d s ' "$(basename "$0")" "$title" $((SECONDS - start)) >&2
      sleep 1
    done
    printf '\r\033[K' >&2
  fi
  wait "$pid" || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 25 "$log" >&2
    say "error: $title failed with status $status; the whole log is $log"
    return "$status"
  fi
  say "$title: done in $((SECONDS - start)) s"
}
