#!/usr/bin/env bash
# tests/install/clean_root.sh DIR [PACKAGE.deb...]: the Debian packages in a clean Debian 12. By hand, because it takes
# minutes, root and a network.
#
# Makes a minimal root in DIR by mmdebstrap (kept as DIR/base.tar), builds libmbirk-dev, and installs it there with
# apt-get, next to the given packages (the program's: docs/installing.md). In the root, with Debian's own compiler,
# CMake and pkg-config, the consumer is built by find_package and by pkg-config as an ordinary user and must print our
# version; the program, if it was given, profiles one operation. Then the packages are removed, and nothing of them may
# be left.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source=$(cd -- "$here/../.." && pwd)
fail() { echo "clean_root.sh: $*" >&2; exit 1; }
(($#)) || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
((EUID == 0)) || fail "needs root"
command -v mmdebstrap >/dev/null || fail "needs the Debian package mmdebstrap"
mkdir -p "$1"
work=$(cd -- "$1" && pwd)
shift
root=$work/root

[[ -e $work/base.tar ]] ||
  { mmdebstrap --variant=minbase bookworm "$work/part.tar" && mv "$work/part.tar" "$work/base.tar"; }
rm -rf "$root" "$work/sources" "$work/packages"
mkdir -p "$root/packages" "$work/packages"
tar -C "$root" --numeric-owner -xf "$work/base.tar"
cp "$(readlink -f /etc/resolv.conf)" "$root/etc/resolv.conf"

echo "==== building libmbirk-dev"
cmake -S "$source" -B "$work/sources" -D MBIRK_BUILD_PROGRAM=OFF -D MBIRK_BUILD_TESTS=OFF \
  -D MBIRK_BUILD_BENCH=OFF -D MBIRK_BUILD_EXAMPLES=OFF >"$work/configure.log"
cpack --config "$work/sources/CPackConfig.cmake" -B "$work/packages"
cp "$work"/packages/*.deb "$@" "$root/packages"
version=$(dpkg-deb -f "$work"/packages/libmbirk-dev_*.deb Version)
cp -r "$here/consumer" "$root/consumer"
if command -v lintian >/dev/null; then
  echo "==== lintian"
  lintian --allow-root --fail-on error "$root"/packages/*.deb || fail "lintian found errors (above)"
fi

# in_root <user> <command>: with processes and mounts of its own.
in_root() {
  unshare --mount --pid --kill-child bash -c 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" &&
    exec chroot --userspec="$2" "$1" /usr/bin/env -i \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp DEBIAN_FRONTEND=noninteractive \
      bash -euc "$3"' bash "$root" "$1" "$2"
}

echo "==== installing"
in_root root 'apt-get -qq update
  apt-get -qq install -y --no-install-recommends /packages/*.deb >/tmp/apt.log || { cat /tmp/apt.log; exit 1; }'
in_root root 'apt-get -qq install -y --no-install-recommends g++ cmake make pkgconf >/tmp/apt.log ||
  { cat /tmp/apt.log; exit 1; }'
echo "==== the consumer by find_package"
found=$(in_root nobody 'cmake -S /consumer -B /tmp/found >/tmp/found.log && cmake --build /tmp/found >>/tmp/found.log ||
  { cat /tmp/found.log >&2; exit 1; }
  /tmp/found/consumer')
echo "==== the consumer by pkg-config"
flagged=$(in_root nobody 'g++ -std=c++20 -Wall -Wextra -Werror $(pkg-config --cflags mbirk) /consumer/main.cpp \
    -o /tmp/flagged
  /tmp/flagged')
for printed in "$found" "$flagged"; do
  [[ $printed-1 == "$version" ]] || fail "the consumer printed '$printed', but the package is $version"
done
packages=libmbirk-dev
if compgen -G "$root/packages/mbirk_*.deb" >/dev/null; then
  echo "==== the program"
  packages+=" mbirk"
  in_root nobody 'mbirk profile --sizes 16 --runs 1 --ops parallel_forward_project --out /tmp/output --quiet &&
    ls /tmp/output'
fi
echo "==== removing"
in_root root "apt-get -qq purge -y $packages >/dev/null"
left=$(find "$root/usr" "$root/etc" -path "*mbirk*")
[[ -z $left ]] || fail "left after the packages were removed: $left"
echo "clean_root.sh: $packages $version can be installed, used and removed"
