# How a wheel is made of a finished build folder, for the commands in script/. Sourced after common.sh, not run.

# build_wheel WORK FROM_BUILD SHIPPED: into WORK/wheel. Without FROM_BUILD it compiles, in build/wheel; SHIPPED is a folder of
# libraries for other LibTorchs, or empty.
build_wheel() {
  local options=(--no-build-isolation --no-deps --no-index --wheel-dir "$1/plain")
  if [ -n "$2" ]; then
    options+=("-Cbuild-dir=$1/cmake" "-Ccmake.define.DEVSAN_FROM_BUILD=$2")
  else
    options+=("-Cbuild-dir=$BUILD/wheel")
  fi
  [ -z "$3" ] || options+=("-Ccmake.define.DEVSAN_SHIPPED=$3")
  "$VENV/bin/python" -m pip wheel "${options[@]}" "$ROOT"
  # The tag says on which systems it runs; LibTorch's libraries are those of the program.
  PATH=$VENV/bin:$PATH "$VENV/bin/python" -m auditwheel repair --only-plat --exclude 'libtorch*' --exclude libc10.so \
    --wheel-dir "$1/wheel" "$1"/plain/*.whl
}

# build_plugin_wheel WORK BUILD: that of the plugins for clang-tidy, into WORK/wheel.
build_plugin_wheel() {
  "$VENV/bin/python" -B "$ROOT/script/lib/plugin_wheel.py" --build "$2" --out "$1/plugins"
  PATH=$VENV/bin:$PATH "$VENV/bin/python" -m auditwheel repair --only-plat --wheel-dir "$1/wheel" "$1"/plugins/*.whl
}
