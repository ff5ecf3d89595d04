#!/bin/sh
# Installs a Docker engine with Compose v2 and buildx on a Debian machine if none answers, and starts it if no init
# system does. If all of that answers it does nothing, and needs neither root nor a network.
set -eu
# shellcheck source=scripts/debian.sh
. "$(dirname "$0")/../scripts/debian.sh"

LOG=/var/log/ttyhq-dockerd.log
ANSWER_SECONDS=10
START_SECONDS=60

main() {
  ! is_complete || exit 0
  case ${DOCKER_HOST:-unix:///var/run/docker.sock} in
    unix:///var/run/docker.sock | unix:///run/docker.sock) ;;
    *) engine_answers || fail "nothing answers at DOCKER_HOST=$DOCKER_HOST: start that, or unset DOCKER_HOST" ;;
  esac
  check_permission
  wrong='Compose v2 or buildx is missing'
  engine_answers || wrong='no engine answers'
  find_root "$wrong, and this is neither root nor has it sudo: run docker/ensure-engine.sh as root"
  # A second run waits for the first, and then finds nothing to do.
  exec 9<"$0"
  flock -w 900 9 || fail "another run of this script has not ended in 15 minutes"
  install_missing
  engine_answers || start_engine
  check_permission
  is_complete || fail "still not complete; see docker version, docker compose version, docker buildx version"
}

is_complete() { has_compose && has_buildx && engine_answers; }

engine_answers() { timeout "$ANSWER_SECONDS" docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

check_permission() {
  case $(LC_ALL=C timeout "$ANSWER_SECONDS" docker version 2>&1 || true) in
    *"permission denied"*) fail "an engine runs, but its socket is not open to $(id -un): join the group docker" ;;
  esac
}

has_compose() {
  case $(docker compose version --short 2>/dev/null || true) in
    [2-9]* | [1-9][0-9]* | v[2-9]*) ;;
    *) false ;;
  esac
}

has_buildx() { docker buildx version >/dev/null 2>&1; }

install_missing() {
  wanted=''
  engine_answers || command -v dockerd >/dev/null 2>&1 || wanted="$wanted docker.io"
  command -v docker >/dev/null 2>&1 || wanted="$wanted docker-cli"
  has_compose || wanted="$wanted docker-compose"
  has_buildx || wanted="$wanted docker-buildx"
  [ -n "$wanted" ] || return 0
  command -v apt-get >/dev/null 2>&1 ||
    fail "this machine has no apt-get; install by its own means: Docker's engine, Compose v2 and buildx"

  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  # Otherwise dash would leave it there when a signal ends it.
  trap 'exit 143' HUP INT TERM
  # An outdated package list may still work, so only the installation decides.
  apt update || say "the list of packages could not be refreshed"
  offered=''
  not_offered=''
  for want in $wanted; do
    case $want in
      docker-compose) choose docker-compose-plugin docker-compose-v2 docker-compose ;;
      docker-buildx) choose docker-buildx-plugin docker-buildx ;;
      # Older releases have the client in the engine's package.
      docker-cli) choose docker-cli docker.io ;;
      *) choose "$want" ;;
    esac
    if [ -n "$chosen" ]; then offered="$offered $chosen"; else not_offered="$not_offered $want"; fi
  done
  say "installing$offered$not_offered"
  # Compose v2 and buildx need only libc 2.34.
  # shellcheck disable=SC2086 # a list of words
  [ -z "$not_offered" ] || fetch_newer "$work" $not_offered
  # shellcheck disable=SC2046,SC2086 # lists of words
  apt install --no-install-recommends -o APT::Keep-Downloaded-Packages=false \
    $offered $(find "$work" -name '*.deb') || fail "apt-get could not install$offered$not_offered"
}

start_engine() {
  if [ -d /run/systemd/system ]; then
    $as_root systemctl start docker || fail "systemd could not start docker: see journalctl -u docker"
    wait_for_engine || fail "docker was started but does not answer: see journalctl -u docker"
    return
  fi
  # The package may have started the engine that it has just installed.
  if pidof dockerd >/dev/null && wait_for_engine; then return; fi
  start_dockerd || fail "the engine does not start; the end of $LOG:
$($as_root tail -n 8 "$LOG" 2>/dev/null)"
}

# Starts the engine so that it outlives this script, its terminal and its session. Fails if no engine answers within
# START_SECONDS. The engine selects the best storage driver for its data directory.
start_dockerd() {
  say "starting dockerd, which logs to $LOG"
  forget_dead_pid /var/run/docker.pid dockerd
  forget_dead_pid /var/run/docker/containerd/containerd.pid containerd
  # Closes the lock and other inherited descriptors, so that a pipe that reads this script's output ends with the
  # script.
  # shellcheck disable=SC2016 # the inner shell's variables
  $as_root sh -c 'cd /; log=$1; shift; exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec setsid dockerd "$@" </dev/null >"$log" 2>&1 &' \
    sh "$LOG" "--mtu=$(uplink_mtu)"
  wait_for_engine
}

# A pid file survives a power loss, and its number may belong to another process.
forget_dead_pid() {
  pid=$(cat "$1" 2>/dev/null) || return 0
  [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$2" ] || $as_root rm -f "$1"
}

# The MTU of the outgoing interface: containers that send larger packets would get no answers.
uplink_mtu() {
  device=$(awk '$2 == "00000000" { print $1; exit }' /proc/net/route)
  cat "/sys/class/net/$device/mtu" 2>/dev/null || echo 1500
}

wait_for_engine() {
  deadline=$(($(date +%s) + START_SECONDS))
  # Waits briefly for the file to appear.
  sleep 0.5
  # As root, because the caller may not have access to the engine.
  until $as_root timeout "$ANSWER_SECONDS" docker version >/dev/null 2>&1; do
    pidof dockerd >/dev/null || return 1
    [ "$(date +%s)" -lt "$deadline" ] || return 1
    sleep 0.2
  done
}

say() { echo "ensure-engine: $1"; }

fail() {
  echo "ensure-engine: $1" >&2
  exit 1
}

main
