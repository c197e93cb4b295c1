# What tools/quickstart and tools/test share: packages, configuring, building. Sourced, never run. Everything said
# goes to standard error, so that the output of the command that follows stays its own.

shardcheck_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# Debian 12 and Ubuntu 24.04 names.
shardcheck_packages=(
  build-essential cmake ninja-build
  libfmt-dev nlohmann-json3-dev libcli11-dev libeigen3-dev librapidcheck-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)

say() { printf 'shardcheck: %s\n' "$*" >&2; }

# fail STATUS SENTENCE. The statuses are those of the command: 3 the machine cannot, 70 our own mistake.
fail() {
  say "$2"
  exit "$1"
}

missing_packages() {
  local package
  for package in "${shardcheck_packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || echo "$package"
  done
}

# apt_get ARGUMENTS: as root, without questions, patient when another apt holds the lock.
apt_get() {
  local root=()
  ((EUID == 0)) || root=(sudo)
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

install_packages() {
  if ! { command -v apt-get && command -v dpkg-query; } >/dev/null; then
    say "no apt here, so these are taken to be installed by other means: ${shardcheck_packages[*]}"
    return
  fi
  local missing log
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} > 0)) || return 0
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    fail 3 "neither root nor sudo; as root, run: apt-get install ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  log=$(mktemp)
  # A failed update is no failure yet: one dead mirror in the list need not be the one that has these packages.
  apt_get update >"$log" 2>&1 || true
  if ! apt_get install --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
    grep -m 5 -E '^(E|Err|W):' "$log" >&2 || tail -n 3 "$log" >&2  # apt's first causes, or what sudo said
    rm -f "$log"
    fail 3 "apt could not install the packages (is there a network?); once they are there, run this again"
  fi
  rm -f "$log"
}

# Ninja configures again by itself when a CMakeLists.txt changes; it does not know of the presets. CMake leaves a
# build.ninja alone that would not change, so it is touched: its time says when the presets were last read.
configure() {
  local ninja_file=$shardcheck_root/build/release/build.ninja
  if [[ $ninja_file -nt $shardcheck_root/CMakePresets.json ]]; then return; fi
  say "configuring build/release"
  (cd "$shardcheck_root" && cmake --preset release) >/dev/null </dev/null || fail 3 "cmake could not configure; see above"
  touch "$ninja_file"
}

# build TARGET: progress on a terminal, only what goes wrong elsewhere.
build() {
  local quiet=()
  [[ -t 2 ]] || quiet=(-- --quiet)
  say "building"
  (cd "$shardcheck_root" && cmake --build --preset release --target "$1" "${quiet[@]}") >&2 </dev/null ||
    fail 70 "the build failed; see above"
}
