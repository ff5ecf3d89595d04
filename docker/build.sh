#!/bin/sh
# Builds the image ttyhq:dev (IMAGE names another one) with this machine's npm and apt configuration: registries, mirrors,
# proxies and certificate authorities go into the build as secrets, and do not enter the image.
# The image contains its bill of materials; SBOM=FILE writes a copy.
# ARCH=arm64 builds the image for that architecture; an emulator (Debian's qemu-user-static) runs the install scripts of its packages.
# Usage: docker/build.sh [option of `docker build`]…, such as --build-arg PACKAGES="python3 vim"
set -eu

IMAGE=${IMAGE:-ttyhq:dev}
NODE_IMAGE=${NODE_IMAGE:-node:24-bookworm-slim}
PULL_SECONDS=300
WAIT_SECONDS=1800
# BuildKit refuses larger secrets.
MAX_SECRET_BYTES=500000
SYSTEM_CA=/etc/ssl/certs/ca-certificates.crt

main() {
  cd "$(dirname "$0")/.."
  # shellcheck source=scripts/debian.sh
  . scripts/debian.sh
  docker version >/dev/null 2>&1 || fail "no engine answers: run docker/ensure-engine.sh"
  # A second build waits for the first, and then finds most of it cached.
  exec 9<docker/Dockerfile
  flock -w "$WAIT_SECONDS" 9 || fail "another build here has not ended in $WAIT_SECONDS s"
  ensure_base "$NODE_IMAGE"
  set -- --build-arg "BUILD_IMAGE=$NODE_IMAGE" "$@"
  case ${ARCH:-} in
    '') ;;
    arm64)
      NODE_IMAGE=arm64v8/$NODE_IMAGE
      ensure_base "$NODE_IMAGE" arm64
      set -- --platform linux/arm64 --build-arg "CROSS_PACKAGES=g++-aarch64-linux-gnu libpam0g-dev:arm64" "$@"
      ;;
    *) fail "ARCH is $ARCH: only arm64 is built on another machine" ;;
  esac
  secrets=$(mktemp -d)
  trap 'rm -rf "$secrets"' EXIT
  # Otherwise dash would leave it there when a signal ends it.
  trap 'exit 143' HUP INT TERM
  write_npm_secrets
  write_apt_secrets

  for secret in "$secrets"/*; do
    [ ! -s "$secret" ] || set -- --secret "id=${secret##*/},src=$secret" "$@"
  done
  # Builders know these variables by name and keep them out of the image.
  for proxy in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    case $(printenv "$proxy" || true) in
      '') ;;
      *://localhost* | *://127.*) set -- --network host --build-arg "$proxy" "$@" ;;
      *) set -- --build-arg "$proxy" "$@" ;;
    esac
  done
  # The engine's own builder: other builders cannot use locally built images.
  docker buildx build --builder default --load --file docker/Dockerfile --tag "$IMAGE" \
    --build-arg "NODE_IMAGE=$NODE_IMAGE" --build-arg "VERSION=$(version)" --build-arg "REVISION=$(revision)" "$@" .
  [ -z "${SBOM:-}" ] || docker run --rm --network none --entrypoint cat "$IMAGE" /opt/ttyhq/sbom.cdx.json >"$SBOM"
}

# ensure_base NAME [ARCHITECTURE], which is otherwise this machine's, whatever the image is built for.
ensure_base() {
  ! docker image inspect "$1" >/dev/null 2>&1 || return 0
  ! timeout "$PULL_SECONDS" docker pull --quiet "$1" 2>/dev/null || return 0
  echo "no registry has $1 for this machine; making it here"
  ARCH=${2:-} docker/base/build.sh "$1"
}

# Selects the npm settings for registries, proxies and credentials. The others concern only this machine.
write_npm_secrets() {
  command -v npm >/dev/null 2>&1 || return 0
  settings=$(npm config get globalconfig userconfig cafile 2>/dev/null)
  for file in "$(setting globalconfig)" "$(setting userconfig)" .npmrc; do
    [ ! -r "$file" ] || grep -E '^[[:space:]]*((@[^:]+:)?registry|(https-|no)?proxy|strict-ssl|//[^=]+)[[:space:]]*=' "$file" || true
  done >"$secrets/npmrc"
  # shellcheck disable=SC2154 # a variable that npm reads
  [ -z "${npm_config_registry:-}" ] || echo "registry=$npm_config_registry" >>"$secrets/npmrc"

  ca=$(setting cafile)
  [ -r "$ca" ] || ca=${NODE_EXTRA_CA_CERTS:-}
  [ -r "$ca" ] || return 0
  [ "$(wc -c <"$ca")" -le "$MAX_SECRET_BYTES" ] ||
    fail "$ca has more than $MAX_SECRET_BYTES bytes: let npm's cafile name a file with the site's own authorities"
  cp "$ca" "$secrets/ca"
}

setting() { echo "$settings" | sed -n "s/^$1=//p"; }

# This machine's mirrors have the image's release only if the machine runs that release itself.
write_apt_secrets() {
  command -v apt-get >/dev/null 2>&1 || return 0
  debian_mirrors |
    awk '$1 == "Debian" && $2 == "main" && $3 ~ /^bookworm/ { print "deb", $4, $3, "main" }' >"$secrets/apt_sources"
  # The image has no certificate authorities until their package is installed.
  if grep -q '^deb https:' "$secrets/apt_sources" && [ ! -e "$secrets/ca" ] && [ -r "$SYSTEM_CA" ] &&
    [ "$(wc -c <"$SYSTEM_CA")" -le "$MAX_SECRET_BYTES" ]; then
    cp "$SYSTEM_CA" "$secrets/ca"
  fi
  apt-config dump Acquire | grep -E '^Acquire::https?::(.*::)?Proxy ' >"$secrets/apt_conf" || true
  [ ! -e "$secrets/ca" ] || echo 'Acquire::https::CaInfo "/run/secrets/ca";' >>"$secrets/apt_conf"
}

version() { sed -n 's/^  "version": "\(.*\)",$/\1/p' package.json; }

revision() { git rev-parse HEAD 2>/dev/null || true; }

fail() {
  echo "docker/build.sh: $1" >&2
  exit 1
}

main "$@"
