# Shared by the commands in script/: where things are, how progress and errors look. Sourced, not run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CACHE=$ROOT/.cache
VENV=$ROOT/.venv
BUILD=$ROOT/build
PINS=$ROOT/script/lib/pins

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# die MESSAGE [REMEDY]
die() {
  say "error: $1"
  [ $# -lt 2 ] || say "remedy: $2"
  exit 1
}

# progress TITLE: what ninja prints, of which it makes lines "[done/all]", as one line of progress: how far it is, and how
# long that will take. Where stderr is no terminal it is a line each half minute. All of it is kept in the log.
progress() {
  local title=$1 line done all start=$SECONDS shown=$SECONDS text
  while IFS= read -r line; do
    printf '%s\n' "$line" >&3
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    text="$title: $done of $all steps, $((SECONDS - start)) s"
    [ "$done" -eq 0 ] || [ $((SECONDS - start)) -lt 10 ] || text+=", some $(((SECONDS - start) * (all - done) / done)) s left"
    if [ -t 2 ]; then
      printf '\r\033[K%s: %s' "$(basename "$0")" "$text" >&2
    elif [ $((SECONDS - shown)) -ge 30 ]; then
      shown=$SECONDS
      say "$text"
    fi
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

# configure: and again where a file that CMake read, or a list of files that it made, is another one now.
configure() {
  if [ ! -f "$BUILD/build.ninja" ]; then
    step "Configuring" cmake --preset default -S "$ROOT" -B "$BUILD"
  else
    mkdir -p "$CACHE/log"
    ninja -C "$BUILD" build.ninja >"$CACHE/log/configure.log" 2>&1 || {
      tail -n 25 "$CACHE/log/configure.log" >&2
      die "CMake cannot configure $BUILD; its messages are above"
    }
  fi
}

# build TARGET...: configures where that was not done, and builds; says nothing where nothing is to do.
build() {
  local log=$CACHE/log/build.log start=$SECONDS title="Building $*"
  configure
  mkdir -p "$CACHE/log"
  if ! NINJA_STATUS='[%f/%t] ' ninja -C "$BUILD" "$@" 2>&1 3>&- | progress "$title" 3>"$log"; then
    local unknown
    if unknown=$(grep -m1 '^ninja: error: unknown target' "$log"); then
      die "${unknown#ninja: error: }" "the sets are devsan_products, devsan_demo, devsan_checker, devsan_watcher and all; \`ninja -C $BUILD -t targets all\` lists every target"
    fi
    # What ninja prints of what failed, without the steps that went well.
    grep -v '^\[[0-9]*/[0-9]*\] ' "$log" | tail -n 60 >&2
    die "the build failed; the compiler's messages are above, all of it is in $log"
  fi
  grep -q 'no work to do' "$log" || say "$title: done in $((SECONDS - start)) s"
}

log_of() { printf '%s\n' "$CACHE/log/$(printf '%s' "$1" | tr -cs 'A-Za-z0-9' '-').log"; }

# step TITLE COMMAND...: runs a long command with its output in a log and a line of progress; shows the log's end when
# it fails. Where stderr is a terminal, the elapsed time ticks.
step() {
  local title=$1 log start pid status=0
  shift
  mkdir -p "$CACHE/log"
  log=$(log_of "$title")
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

# install_pinned TITLE PYTHON LIST: what $PINS/LIST.txt locks, and nothing else. Returns pip's status where something cannot be
# had; ends the script where it is not what was locked.
install_pinned() {
  local status=0 log
  step "$1" "$2" -m pip --disable-pip-version-check install --quiet --require-hashes -r "$PINS/$3.txt" || status=$?
  log=$(log_of "$1")
  if [ "$status" -ne 0 ] && grep -q 'DO NOT MATCH THE HASHES' "$log"; then
    die "pip's package index gives other files than $PINS/$3.txt locks: $(sed -n 's/^    \([^ ]\{1,\}\) from .*/\1/p' "$log" | paste -sd' '); nothing was installed" \
      "give pip the index that they come from (for torch PyTorch's own), on x86-64 with CPython 3.11; if you know why the files are others, script/update-pins $3 locks them"
  fi
  if [ "$status" -ne 0 ] && grep -q 'In --require-hashes mode\|Hashes are required in --require-hashes' "$log"; then
    die "$PINS/$3.txt lacks what its packages need" "script/update-pins $3 completes it"
  fi
  return "$status"
}
