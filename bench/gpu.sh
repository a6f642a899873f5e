#!/usr/bin/env bash
# Builds, tests, checks and measures on a machine with a CUDA device, unattended and without a network. See
# `bench/gpu.sh --help` and docs/gpu.md.
set -euo pipefail
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

all_parts=(build test sanitize profile cells peers)
all_cells=(200x208x160 512x448x384 513x449x385 1024x1008x992)
part_seconds=450  # time limit of one part; rented machines often allow ten minutes per command

usage() {
  cat <<'TEXT'
bench/gpu.sh [--parts NAME,...] [--headers DIR] [--out DIR] [--build DIR] [--quick]

Builds, tests and measures on this machine's CUDA device. Writes gpu_<date>.json, gpu_<date>.md and a log of each part
to --out.

  --parts    some of build,test,sanitize,profile,cells,peers (all). Each ends in less than 8 minutes and can be run
             alone, after build
  --headers  folder of header packages that are not installed: fmt/, nlohmann/, CLI/, gtest/, zlib.h and zconf.h as in
             /usr/include, and googletest/, the source of GoogleTest, as in /usr/src
  --out      results (build/gpu/results); those of other parts that are there are kept
  --build    build folder (build/gpu)
  --quick    smaller sizes and a single sanitizer: a few minutes in all

Exit code: 0 done, 1 something failed (the Markdown says what), 2 bad usage, 3 no CUDA device, 130 interrupted.
TEXT
}
bad_usage() { echo "gpu.sh: $*" >&2; exit 2; }
say() { echo "gpu: $*"; }
has() { [[ " ${*:2} " == *" $1 "* ]]; }
absolute() { if [[ $1 == /* ]]; then echo "$1"; else echo "$PWD/$1"; fi; }

parts=("${all_parts[@]}") headers='' out='' build=$root/build/gpu quick=0
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --quick) quick=1 ;;
    --parts | --headers | --out | --build)
      [[ -n ${2:-} && ${2:-} != --* ]] || bad_usage "$1: expected a value; --help says which"
      case $1 in
        --parts)
          IFS=, read -r -a parts <<<"$2"
          ((${#parts[@]})) || bad_usage "--parts: expected some of ${all_parts[*]}"
          for part in "${parts[@]}"; do
            has "$part" "${all_parts[@]}" || bad_usage "--parts: unknown part '$part', expected some of ${all_parts[*]}"
          done
          ;;
        --headers)
          [[ -d $2 ]] || bad_usage "--headers: no folder at $2"
          headers=$(cd -- "$2" && pwd)
          ;;
        --out) out=$(absolute "$2") ;;
        --build) build=$(absolute "$2") ;;
      esac
      shift
      ;;
    *) bad_usage "unknown option '$1'; --help lists them" ;;
  esac
  shift
done
out=${out:-$build/results}

command -v python3 >/dev/null || { echo "gpu.sh: needs python3" >&2; exit 1; }
report() { python3 -B "$root/bench/gpu_report.py" "$@"; }

device=$(report device) || {
  echo "gpu.sh: no CUDA device: neither the driver's library nor nvidia-smi shows one" >&2
  exit 3
}
IFS=$'\t' read -r arch uuid device_name <<<"$device"
[[ $uuid != - ]] || uuid=''
for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-*; do
  if [[ -n $folder && -x $folder/bin/nvcc ]]; then PATH=$PATH:$folder/bin; fi
done

# The commit of this code: by git, or from the file COMMIT where only the files were copied.
commit=unknown
if git -C "$root" rev-parse --short=12 HEAD >/dev/null 2>&1; then
  commit=$(git -C "$root" rev-parse --short=12 HEAD)
  [[ -z $(git -C "$root" status --porcelain 2>/dev/null) ]] || commit+=' and changes'
elif [[ -f $root/COMMIT ]]; then
  commit=$(head -c 100 "$root/COMMIT" | tr -d '\n\t')
fi

mkdir -p "$build" "$out" || { echo "gpu.sh: cannot make $build and $out" >&2; exit 1; }
work=$(mktemp -d "$build/run.XXXXXX")
steps=$work/steps.tsv
: >"$steps"
program=$build/bench/mbirk/mbirk tests=$build/tests/device/test_cuda cells=$build/bench/mbirk_gpu_cells
part='' child='' sampler='' failures=0 log=/dev/null deadline=0

# Every part ends here, even an interrupted one: the contents of the work folder go into the results.
finish_part() {
  [[ -n $part ]] || return 0
  stop_sampler
  report merge --out "$out" --work "$work" --part "$part" --commit "$commit" --seconds $((SECONDS - part_start)) ||
    failures=$((failures + 1))
  part=''
}
stop_sampler() {
  if [[ -n $sampler ]]; then
    kill "$sampler" 2>/dev/null || true
    wait "$sampler" 2>/dev/null || true
    sampler=''
  fi
}
interrupted() {
  [[ -z $child ]] || kill -TERM -- "-$child" 2>/dev/null || true
  [[ -z $part ]] || note "$part" failed "$((SECONDS - part_start))" interrupted
  exit 130
}
leave() {
  local status=$?
  if [[ -n $part && $status != 0 && $status != 130 ]]; then
    note "$part" failed "$((SECONDS - part_start))" "the script ended with exit code $status"
  fi
  finish_part
  rm -rf "$work"
}
trap interrupted INT TERM
trap leave EXIT

# note <step> <ok|failed|skipped> <seconds> [what]
note() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$part" "$1" "$2" "$3" "$(tr '\t\n' '  ' <<<"${4:-}")" >>"$steps"
  say "$part: $1: $2${4:+: $4}"
  [[ $2 != failed ]] || failures=$((failures + 1))
}
left() { echo $((deadline - SECONDS)); }
last_words() { grep -v '^[[:space:]]*$' "$work/last" | tail -n 1 | cut -c -300 || true; }

# limited <seconds> <command...>: exit code 124 or 137 when it took longer. It runs in the background, so that this
# script handles signals at once.
limited() {
  local status=0
  timeout -k 10 "$1" "${@:2}" >"$work/last" 2>&1 &
  child=$!
  { wait "$child"; } 2>/dev/null || status=$?
  child=''
  cat "$work/last" >>"$log"
  return "$status"
}

# step <name> <most seconds> <command...>: logs the output, also to $work/last. Returns the command's exit code, or 125
# when no time was left for it.
step() {
  local name=$1 most=$2 status=0 start=$SECONDS
  shift 2
  if (($(left) < 5)); then
    note "$name" skipped 0 "the $part_seconds s of the part are used up"
    return 125
  fi
  ((most < $(left))) || most=$(left)
  printf '\n$ %s\n' "$*" >>"$log"
  limited "$most" "$@" || status=$?
  if ((status == 0)); then
    note "$name" ok $((SECONDS - start))
  elif ((SECONDS - start >= most)) && has "$status" 124 137; then
    note "$name" failed $((SECONDS - start)) "not finished in $most s"
  else
    note "$name" failed $((SECONDS - start)) "exit code $status: $(last_words)"
  fi
  return "$status"
}

# needs <file> <what>: a part whose program is missing counts as one failure.
needs() {
  [[ -x $1 ]] || { note "$2" failed 0 "${1#"$root"/} is not there: build it with --parts build"; return 1; }
}

# The packages of --headers, as files that find_package reads.
cmake_options=()
package() {  # <name> <header that must be there> <text of its file>
  if [[ ! -e $headers/$2 ]]; then
    say "--headers has no $2: $1 is looked for in the system"
    return
  fi
  mkdir -p "$build/headers/$1"
  printf '%s\n' "$3" >"$build/headers/$1/$1Config.cmake"
  cmake_options+=("-D$1_DIR=$build/headers/$1")
}
header_target() {  # <target> <include folder> [<definition>]
  printf 'if(NOT TARGET %s)\n  add_library(%s INTERFACE IMPORTED)\n' "$1" "$1"
  printf '  set_target_properties(%s PROPERTIES INTERFACE_INCLUDE_DIRECTORIES [==[%s]==]' "$1" "$2"
  printf ' INTERFACE_COMPILE_DEFINITIONS "%s")\nendif()\n' "${3:-}"
}
add_headers() {
  local source folder library
  package fmt fmt/format.h "$(header_target fmt::fmt "$headers" FMT_HEADER_ONLY=1)"
  package nlohmann_json nlohmann/json.hpp "$(header_target nlohmann_json::nlohmann_json "$headers")"
  package CLI11 CLI/CLI.hpp "$(header_target CLI11::CLI11 "$headers")"
  for folder in googletest/googletest googletest; do
    source=$headers/$folder
    [[ -f $source/src/gtest-all.cc ]] || continue
    package GTest "$folder/src/gtest-all.cc" "if(NOT TARGET GTest::gtest)
  find_package(Threads REQUIRED)
  add_library(mbirk_gtest STATIC [==[$source/src/gtest-all.cc]==])
  add_library(mbirk_gtest_main STATIC [==[$source/src/gtest_main.cc]==])
  target_include_directories(mbirk_gtest SYSTEM PUBLIC [==[$source/include]==] PRIVATE [==[$source]==])
  target_compile_features(mbirk_gtest PUBLIC cxx_std_17)
  target_link_libraries(mbirk_gtest PUBLIC Threads::Threads)
  target_link_libraries(mbirk_gtest_main PUBLIC mbirk_gtest)
  add_library(GTest::gtest ALIAS mbirk_gtest)
  add_library(GTest::gtest_main ALIAS mbirk_gtest_main)
endif()"
    break
  done
  # zlib is a library: nearly every system has it, but often not under the name that the linker looks for.
  if [[ -e $headers/zlib.h ]]; then
    for library in "$headers"/libz.a "$headers"/libz.so* /usr/lib/*/libz.so /usr/lib*/libz.so /lib/*/libz.so.1 \
                   /usr/lib/*/libz.so.1 /lib*/libz.so.1 /usr/lib*/libz.so.1; do
      [[ -e $library ]] || continue
      cmake_options+=("-DZLIB_INCLUDE_DIR=$headers" "-DZLIB_LIBRARY=$library")
      break
    done
  fi
}

run_build() {
  local target targets=(mbirk_gpu_cells) line
  [[ -z $headers ]] || add_headers
  if [[ ! -f $build/CMakeCache.txt ]] && command -v ninja >/dev/null; then cmake_options+=(-G Ninja); fi
  step configure 120 cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DMBIRK_CUDA=ON \
    "-DCMAKE_CUDA_ARCHITECTURES=$arch" -DMBIRK_UNIT_TESTS_ONLY=ON -DMBIRK_BUILD_EXAMPLES=OFF -DMBIRK_WERROR=OFF \
    "${cmake_options[@]}" || return 0
  sed -n 's/^-- mbirk:/gpu: build:/p' "$work/last"
  cp "$work/last" "$work/configure"
  if line=$(grep -m 1 'mbirk: the program is off' "$work/configure"); then
    note "the program" failed 0 "${line#-- }"
  else
    targets+=(mbirk_program mbirk_devices)
  fi
  if line=$(grep -m 1 'mbirk: unit testing is off' "$work/configure"); then
    note "the C++ tests" failed 0 "not run: ${line#-- }"
  else
    targets+=(test_cuda)
  fi

  # Building everything at once is fastest; afterwards each target is built alone, to find the one that failed. A failed
  # target must not leave the output of an earlier build.
  local keep_going=(-- -k 0)
  [[ -f $build/build.ninja ]] || keep_going=(-- -k)
  step compile "$part_seconds" cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}" \
    "${keep_going[@]}" && return 0
  grep -n -m 5 -E 'error[: ]|FAILED' "$work/last" || true
  for target in "${targets[@]}"; do
    case $target in
      mbirk_program) line=$program ;;
      mbirk_devices) line=$program-devices ;;
      test_cuda) line=$tests ;;
      *) line=$cells ;;
    esac
    if (($(left) >= 20)); then
      step "$target" "$part_seconds" cmake --build "$build" --target "$target" || rm -f "$line"
    else
      rm -f "$line"
      note "$target" skipped 0 "no time was left; --parts build goes on where this one stopped"
    fi
  done
}

run_test() {
  local case name
  mkdir -p "$work/test" "$work/golden"
  if needs "$tests" 'the C++ tests'; then
    if GTEST_OUTPUT="json:$work/test/" step 'ctest -L cuda' 400 \
      ctest --test-dir "$build" -L '^cuda$' --no-tests=error --output-on-failure; then
      compgen -G "$work/test/*.json" >/dev/null || note 'ctest -L cuda' failed 0 'no test was run: it was skipped'
    fi
  fi
  needs "$program" 'the reference cases' || return 0
  for case in "$root"/tests/golden/*/case.json; do
    name=$(basename "$(dirname "$case")")
    step "reference case $name" 120 "$program" run "$(dirname "$case")" --out "$work/out/$name" --policy cuda \
      --check --quiet || true
    cp "$work/last" "$work/golden/$name.txt"
  done
  rm -rf "$work/out"
}

# Odd and tall scans in both geometries, and every operation that is not a projection, among them reconstructions of one
# iteration.
sanitized='Projector/Oracle.*/parallel_odd:Projector/Oracle.*/parallel_more_rows'
sanitized+=':Projector/Oracle.*/parallel_wider_truncated'
sanitized+=':Projector/Oracle.*/cone_odd:Projector/Oracle.*/cone_many_slices'
sanitized+=':Projector/Oracle.*/cone_helical_curved:Projector/Oracle.*/cone_tall_rows'
sanitized+=':Device/OnScans.*/parallel_odd:Device/OnScans.*/cone_odd:OnDevice.*'

run_sanitize() {
  local tool sanitizer='' folder tools=(memcheck racecheck initcheck synccheck) found summary
  needs "$tests" 'the C++ tests' || return 0
  sanitizer=$(command -v compute-sanitizer || true)
  for folder in "$(dirname "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")" /usr/local/cuda*/bin \
                /usr/local/cuda*/compute-sanitizer; do
    [[ -n $sanitizer || ! -x $folder/compute-sanitizer ]] || sanitizer=$folder/compute-sanitizer
  done
  [[ -n $sanitizer ]] || { note compute-sanitizer failed 0 'not found beside nvcc nor on the PATH'; return 0; }
  limited 60 "$tests" "--gtest_filter=$sanitized" --gtest_list_tests || true
  found=$(grep -c '^  ' "$work/last" || true)
  ((found > 20)) || { note 'the filter' failed 0 "it selects $found tests of test_cuda: $(last_words)"; return 0; }
  ((!quick)) || tools=(memcheck)
  for tool in "${tools[@]}"; do
    step "$tool" 110 "$sanitizer" --tool "$tool" --error-exitcode 99 "$tests" "--gtest_filter=$sanitized" \
      --gtest_brief=1 || true
    summary=$(grep -a -E 'ERROR SUMMARY|RACECHECK SUMMARY|========= Error|\[  (PASSED|FAILED)  \] [0-9]' "$work/last" |
      head -n 4 | tr '\n' ' ' || true)
    printf '%s\t%s\t%s\n' "$tool" "$found" "${summary:-no summary}" >>"$work/sanitize.tsv"
  done
}

run_profile() {
  local n sizes=(32 64 128 256)
  ((!quick)) || sizes=(32 64)
  needs "$program" 'mbirk profile' || return 0
  start_sampler
  for n in "${sizes[@]}"; do
    step "size $n" "$part_seconds" "$program" profile --policy cuda --sizes "$n" --out "$work/profile" --quiet || true
  done
}

# Samples the clocks twice a second during a measurement.
start_sampler() {
  command -v nvidia-smi >/dev/null || return 0
  nvidia-smi ${uuid:+--id="$uuid"} --query-gpu=clocks.sm,clocks.mem,utilization.gpu,temperature.gpu,power.draw \
    --format=csv,noheader,nounits -lms 500 >"$work/clocks.csv" 2>/dev/null &
  sampler=$!
}

run_cells() {
  local cell geometry file ops again budget list=("${all_cells[@]}")
  ((!quick)) || list=("${all_cells[@]:0:2}")
  needs "$cells" 'the cells' || return 0
  mkdir -p "$work/cells"
  start_sampler
  for cell in "${list[@]}"; do
    for geometry in parallel cone; do
      ops=''
      # An operation that leaves the device unusable, or ends the process, keeps the remaining ones from running: a new
      # process runs those.
      for again in 1 2 3 4 5 6; do
        file=$work/cells/$cell.$geometry.$again.json
        budget=$(($(left) - 20))  # so that the last operation ends in time
        step "$cell $geometry${ops:+ ($ops)}" "$part_seconds" \
          "$cells" --cells "$cell" --geometry "$geometry" ${ops:+--ops "$ops"} \
          --budget $((budget > 0 ? budget : 0)) --op-budget 30 --out "$file" || true
        ops=$(report not-run "$file")
        [[ -n $ops ]] || break
      done
    done
  done
}

run_peers() {
  local cell list=("${all_cells[@]}") rounds=3 share k=0
  ((!quick)) || list=("${all_cells[@]:0:1}")
  needs "$cells" mbirk_gpu_cells || return 0
  mkdir -p "$work/peers"
  start_sampler
  for cell in "${list[@]}"; do
    # The smaller cells must leave time for the largest, whose calls are the longest.
    share=$(($(left) / (${#list[@]} - k) - 10))
    k=$((k + 1))
    if ((share < 10)); then
      note "$cell" skipped 0 "the $part_seconds s of the part are used up"
      continue
    fi
    step "$cell" $((share + 60)) python3 -B "$root/bench/compare_gpu.py" --program "$cells" --cells "$cell" \
      --rounds "$rounds" --budget "$share" --json "$work/peers/$cell.json" || true
    grep -a '^peers: ' "$work/last" || true
  done
}

say "$device_name, compute capability $arch, commit $commit, parts ${parts[*]}"
for name in "${all_parts[@]}"; do
  has "$name" "${parts[@]}" || continue
  part=$name part_start=$SECONDS deadline=$((SECONDS + part_seconds)) log=$out/$name.log
  : >"$log"
  "run_$name"
  finish_part
done
say "results: $(compgen -G "$out/gpu_*.md" | tr '\n' ' ')"
((failures == 0)) || { say "$failures failed"; exit 1; }
