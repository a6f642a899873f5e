#!/bin/bash
# Builds an image of docker/Dockerfile with buildah and runs it with podman, without a registry: the base image is made
# by debootstrap and gets the name that the recipe has. docs/containers.md says what was tried with it.
#
#     docker/build_and_run.sh WORK TARGET [BUILDAH OPTION]... [-- ARGUMENT OF THE PROGRAM...]
#     docker/build_and_run.sh build/containers cpu --build-arg MARCH=native -- profile --sizes 16 --runs 2 --out /output
#
# Images, layers and /output are kept in the folder WORK, and nothing outside it is changed. The container gets no
# network, no capabilities and a read-only file system, as in docker/compose.yaml; with NETWORK=host it gets the network
# of the machine. Needs root, and the Debian packages buildah, podman, runc and debootstrap.
set -euo pipefail

usage() {
  sed -n 's/^# \{0,1\}//; 2,10p' "$0" >&2
  exit 2
}
[[ $# -ge 2 && $1 != -* && $2 != -* ]] || usage
for tool in buildah podman runc debootstrap; do
  command -v "$tool" > /dev/null || { echo "build_and_run.sh: $tool is missing; apt-get install $tool" >&2; exit 2; }
done
[[ $(id -u) == 0 ]] || { echo "build_and_run.sh: needs root" >&2; exit 2; }

source=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
work=$(cd "$1" && pwd)
target=$2
shift 2
options=()
while [[ $# -gt 0 && $1 != -- ]]; do
  options+=("$1")
  shift
done
[[ $# -gt 0 ]] && shift

export CONTAINERS_STORAGE_CONF=$work/storage.conf
printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/storage"\nrunroot = "%s/run"\n' "$work" "$work" \
  > "$CONTAINERS_STORAGE_CONF"

# The name without its digest, which only the registry's image has.
base=docker.io/library/$(sed -n 's/^ARG DEBIAN=\([^@]*\)@.*/\1/p' "$source/docker/Dockerfile")
release=${base##*:}
release=${release%%-*}
if ! podman image exists "$base"; then
  rm -rf "$work/$release"
  debootstrap --variant=minbase "$release" "$work/$release"
  rm -rf "$work/$release"/var/cache/apt/{*.bin,archives/*.deb} "$work/$release"/var/lib/apt/lists/*
  # As in Debian's images: apt keeps neither the packages that it has installed nor an index of packages.
  printf '%s\n' 'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };' 'Dir::Cache::pkgcache "";' \
    'Dir::Cache::srcpkgcache "";' > "$work/$release/etc/apt/apt.conf.d/docker-clean"
  tar -C "$work/$release" --numeric-owner -c . | podman import --quiet - "$base"
  rm -rf "${work:?}/$release"
fi

# Within a container, or without all of root's capabilities, only isolation by chroot works.
buildah build --layers --isolation chroot --network host --pull-never --file "$source/docker/Dockerfile" \
  --ignorefile "$source/docker/Dockerfile.dockerignore" --build-arg "DEBIAN=$base" "${options[@]}" \
  --target "$target" --tag "mbirk:$target" "$source"
podman image inspect --format "mbirk:$target: {{.Size}} bytes, user {{.User}}" "mbirk:$target"

mkdir -p "$work/output"
chown 10001:10001 "$work/output"
# Limits below those of any host, because raising a limit needs a capability.
exec podman --runtime runc --cgroup-manager cgroupfs run --rm --network "${NETWORK:-none}" --read-only --tmpfs /tmp \
  --cap-drop all --security-opt no-new-privileges --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 \
  --volume "$work/output:/output" "mbirk:$target" "$@"
