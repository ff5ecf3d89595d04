#!/bin/sh
# Builds the base image of docker/Dockerfile without an image registry: Debian bookworm by debootstrap, Node with its headers
# and npm from the npm registry, with the layout of the official image of the same name. If an image of that name exists it
# does nothing. ARCH, such as arm64, builds it for another architecture, whose programs an emulator runs (Debian's
# qemu-user-static). Usage: docker/base/build.sh [NAME]
set -eu

NAME=${1:-node:24-bookworm-slim}
SUITE=bookworm
NPM=npm@11
ARCH=${ARCH:-$(dpkg --print-architecture)}
root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=scripts/debian.sh
. "$root/scripts/debian.sh"

main() {
  ! docker image inspect "$NAME" >/dev/null 2>&1 || exit 0
  docker version >/dev/null 2>&1 || fail "no engine answers: run docker/ensure-engine.sh"
  command -v npm >/dev/null 2>&1 || fail "npm is missing: it fetches Node"
  find_root "a tree of Debian can be made by root alone, and there is no sudo: run docker/base/build.sh as root"
  command -v debootstrap >/dev/null 2>&1 || install_debootstrap ||
    fail "debootstrap is missing and could not be installed"

  started=$(date +%s)
  work=$(mktemp -d)
  tree=$work/tree
  trap '$as_root rm -rf --one-file-system "$work"' EXIT
  # Otherwise dash would leave it there when a signal ends it.
  trap 'exit 143' HUP INT TERM
  make_debian
  add_node
  import
  say "made $NAME in $(($(date +%s) - started)) s"
}

# A fresh machine has no package list yet; an outdated one may still work.
install_debootstrap() {
  apt update || say "the list of packages could not be refreshed"
  apt install --no-install-recommends debootstrap
}

make_debian() {
  mirror=$(debian_mirror)
  say "debootstrap of Debian $SUITE"
  $as_root debootstrap --variant=minbase --arch="$ARCH" "$SUITE" "$tree" "$mirror" >"$work/log" 2>&1 ||
    fail "debootstrap failed: $(tail -n 5 "$work/log")"
  # From here on the tree equals the official slim image: Debian's own mirror addresses, and no documents but the
  # licences, now and when packages are added.
  printf 'deb http://deb.debian.org/debian %s main\n' "$SUITE" "$SUITE-updates" | write etc/apt/sources.list
  printf 'deb http://deb.debian.org/debian-security %s-security main\n' "$SUITE" | write etc/apt/sources.list.d/security.list
  write etc/dpkg/dpkg.cfg.d/docker <<'CONF'
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
CONF
  # Prevents services from starting while packages are installed.
  printf '#!/bin/sh\nexit 101\n' | write usr/sbin/policy-rc.d
  $as_root chmod 755 "$tree/usr/sbin/policy-rc.d"
  $as_root find "$tree/usr/share/doc" -depth -type f ! -name copyright -delete
  # shellcheck disable=SC2016 # the inner shell's variables
  $as_root sh -c 'cd "$1" && rm -rf usr/share/info/* usr/share/locale/* usr/share/man/* var/cache/apt/*.bin \
    var/cache/apt/archives/*.deb var/cache/debconf/*-old var/lib/apt/lists/* var/lib/dpkg/*-old var/log/* \
    etc/hostname etc/resolv.conf' sh "$tree"
}

add_node() {
  version=$(sed -n 's/^ *"node": "\([0-9.]*\)",*$/\1/p' "$root/package.json")
  case $ARCH in
    amd64) arch=x64 openssl=linux-x86_64 ;;
    arm64) arch=arm64 openssl=linux-aarch64 ;;
    *) fail "no package of Node for $ARCH" ;;
  esac
  say "Node $version and npm"
  unpack "node-linux-$arch@$version" "$work/node"
  unpack "$NPM" "$work/npm"
  find "$work/node/include/node/openssl/archs" -mindepth 1 -maxdepth 1 ! -name "$openssl" -exec rm -rf {} +
  local=$tree/usr/local
  $as_root mkdir -p "$local/lib/node_modules"
  $as_root cp -r "$work/node/bin" "$work/node/include" "$work/node/LICENSE" "$local/"
  $as_root cp -r "$work/npm" "$local/lib/node_modules/npm"
  $as_root ln -s ../lib/node_modules/npm/bin/npm-cli.js "$local/bin/npm"
  $as_root ln -s ../lib/node_modules/npm/bin/npx-cli.js "$local/bin/npx"
  $as_root chown -R 0:0 "$local"
}

# unpack PACKAGE FOLDER: uses the site's npm configuration.
unpack() {
  mkdir "$2"
  (cd "$work" && npm pack --silent "$1" >"$work/packed") || fail "$1 could not be had from the npm registry"
  tar -xzf "$work/$(tail -n 1 "$work/packed")" -C "$2" --strip-components=1
}

# `docker import` of older engines gives the image this machine's architecture.
import() {
  mkdir "$work/image"
  $as_root tar -C "$tree" --one-file-system --numeric-owner -c . >"$work/image/tree.tar"
  cat >"$work/image/Dockerfile" <<DOCKERFILE
FROM scratch
ADD tree.tar /
ENV NODE_VERSION=$version PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["node"]
DOCKERFILE
  docker buildx build --builder default --load --quiet --platform "linux/$ARCH" --tag "$NAME" "$work/image" >/dev/null
}

# The mirror of this machine, if it runs Debian.
debian_mirror() {
  mirror=$(debian_mirrors | awk '$1 == "Debian" && $3 !~ /-/ { print $4; exit }')
  echo "${mirror:-http://deb.debian.org/debian}"
}

# shellcheck disable=SC2016 # the inner shell's variables
write() { $as_root sh -c 'cat >"$1"' sh "$tree/$1"; }

say() { echo "base image: $1"; }

fail() {
  echo "base image: $1" >&2
  exit 1
}

main
