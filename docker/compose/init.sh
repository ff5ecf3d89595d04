#!/bin/sh
# Creates what compose.yaml needs: the image of this checkout and missing secrets. These are the password of the HQ, the
# remotes' join token and, for the profile `tls`, a private authority and the certificates of an HQ and its remotes.
# Existing secrets stay, so it may run before every start; after a pull it builds the new image.
# Usage: docker/compose/init.sh [PROJECT]; TTYHQ_SECRETS names another folder, TTYHQ_IMAGE another image, as in compose.yaml.
set -eu
umask 077

here=$(cd "$(dirname "$0")" && pwd)
project=${1:-${COMPOSE_PROJECT_NAME:-ttyhq}}
secrets=${TTYHQ_SECRETS:-$here/secrets}
image=${TTYHQ_IMAGE:-ttyhq:dev}
DAYS=825
RENEWAL_SECONDS=2592000

main() {
  mkdir -p "$secrets"
  cd "$secrets"
  [ -s hq-password ] || head -c 24 /dev/urandom | base64 | tr '+/' '-_' | keep hq-password
  [ -s join-token ] || head -c 36 /dev/urandom | base64 | tr '+/' '-_' | keep join-token
  if command -v openssl >/dev/null 2>&1; then
    make_authority
    make_certificate hq hq-tls "DNS:hq-tls,DNS:localhost,IP:127.0.0.1"
    # Containers use the name of their network as domain.
    make_certificate remote "any.$project.internal" "DNS:*.$project.internal"
  else
    echo "no openssl: made no certificates for the profile tls" >&2
  fi
  # An image of another name may belong to somebody else. Without changes since the last build this takes seconds.
  [ -n "${TTYHQ_IMAGE:-}" ] && docker image inspect "$image" >/dev/null 2>&1 || IMAGE=$image "$here/../build.sh"
}

make_authority() {
  [ ! -s ca.crt ] || return 0
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 3650 -subj "/CN=ttyhq on $(uname -n)" \
    -addext 'keyUsage=critical,keyCertSign,cRLSign' -keyout ca.key -out new.crt 2>new.log || fail "$(cat new.log)"
  keep ca.crt <new.crt
  rm new.crt new.log
}

# make_certificate FILE HOST NAMES: skips a certificate for that host that is valid for another month.
make_certificate() {
  if [ -s "$1.key" ] && openssl x509 -in "$1.crt" -noout -checkend "$RENEWAL_SECONDS" >/dev/null 2>&1 &&
    openssl verify -CAfile ca.crt -verify_hostname "$2" "$1.crt" >/dev/null 2>&1; then
    return 0
  fi
  [ -s ca.key ] || fail "ca.crt exists without ca.key, which signs $1.crt: add ca.key, or add $1.crt and $1.key from the owner of ca.crt"
  printf 'basicConstraints=critical,CA:false\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=serverAuth\nsubjectAltName=%s\n' \
    "$3" >new.ext
  {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "/CN=ttyhq $1" -keyout new.key -out new.csr &&
      openssl x509 -req -in new.csr -CA ca.crt -CAkey ca.key -set_serial "0x$(openssl rand -hex 16)" -days "$DAYS" \
        -extfile new.ext -out new.crt
  } 2>new.log || fail "$(cat new.log)"
  keep "$1.key" <new.key
  keep "$1.crt" <new.crt
  rm new.ext new.key new.csr new.crt new.log
}

# The containers run as another user than the owner of this file. Other users cannot enter this folder.
keep() {
  cat >"$1"
  chmod 0644 "$1"
}

fail() {
  echo "docker/compose/init.sh: $1" >&2
  exit 1
}

main
