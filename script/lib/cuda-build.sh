# A CUDA build of PyTorch in a virtual environment of its own. Sourced after common.sh.

NEEDED_GB=10

skip() {
  say "skipped: $1"
  exit 77
}

# package_of ENV: the folder of its PyTorch; no library is loaded.
package_of() {
  "$1/bin/python" -c 'import importlib.util as u
print(u.find_spec("torch").submodule_search_locations[0])' 2>/dev/null || true
}

# version_of PACKAGE NAME: a line of its version.py, "None" or nothing where there is none.
version_of() {
  sed -n "s/^$2\(: .*\)\? = '\?\([^']*\)'\?\$/\2/p" "$1/version.py" 2>/dev/null || true
}

# is_cuda_build ENV
is_cuda_build() {
  case $(version_of "$(package_of "$1")" cuda) in '' | None) return 1 ;; esac
}

# need_cuda_build VERSION ENV: installs it with what the tests need beside it, as $PINS locks them; says so and ends with status 77
# where the disk or the package cannot be had. An environment that someone else made stays as it is.
need_cuda_build() {
  local version=$1 env=$2 pins=cuda-build-$1 free
  if ! is_cuda_build "$env" || { [ -f "$env/installed-pins.txt" ] && ! cmp -s "$PINS/$pins.txt" "$env/installed-pins.txt"; }; then
    [ -f "$PINS/$pins.txt" ] || die "no $PINS/$pins.txt, which locks PyTorch $version and what it needs" \
      "write $pins.in as those beside it are, then script/update-pins $pins"
    mkdir -p "$env"
    free=$(df --output=avail -BG "$env" | tail -n 1 | tr -dc 0-9)
    [ "$free" -ge "$NEEDED_GB" ] || skip "$env has $free GB free, a CUDA build of PyTorch needs $NEEDED_GB; name another folder with --env"
    "${PYTHON:-python3}" -m venv "$env"
    install_pinned "downloading PyTorch $version with CUDA, some 3 GB, into $env" "$env/bin/python" "$pins" ||
      skip "PyTorch $version cannot be installed; see what pip says above"
    cp "$PINS/$pins.txt" "$env/installed-pins.txt"
  fi
  is_cuda_build "$env" || skip "pip's settings bring a CPU build of PyTorch; name a virtual environment with a CUDA build by --env"
}
