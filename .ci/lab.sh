# shellcheck shell=bash
# Sourced by .ci/run: runs a real cluster of two nodes on this machine while its tests run. See the lab's README.

LAB=../shared/k8s-lab
export R=${R:-$HOME/.cache/k8s-lab}
LAB_IMAGE=ttyhq:dev
BUILD_LOG=$R/build.log
builder=''
is_up=''

has_lab() { [ -d "$LAB" ]; }

# The lab's Kubernetes is compiled once for all runs on this machine, in parallel with `npm ci`.
begin_lab() {
  lab_packages || return
  if [ -x "$R/bin/pause" ]; then return 0; fi
  mkdir -p "$R"
  echo "lab: building Kubernetes, log in $BUILD_LOG"
  setsid "$LAB/build.sh" >"$BUILD_LOG" 2>&1 &
  builder=$!
}

lab_packages() {
  local missing=() need
  for need in containerd:containerd runc:runc iptables:iptables nft:nftables openssl:openssl ip:iproute2 gcc:gcc \
    dpkg-source:dpkg-dev; do
    PATH=$PATH:/usr/sbin:/sbin command -v "${need%%:*}" >/dev/null || missing+=("${need#*:}")
  done
  [ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
  [ "${#missing[@]}" -gt 0 ] || return 0
  echo "lab: installing ${missing[*]}"
  # An outdated package list may still work.
  DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 update || true
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"
}

# The last line is the sum of the tests.
test_on_lab() {
  KUBECONFIG=$R/run/conf/admin.kubeconfig TTYHQ_IMAGE=$LAB_IMAGE TTYHQ_TEST_NODE=$(realpath "$LAB/node2.sh") \
    node_modules/.bin/node scripts/test.ts kubernetes
}

await_lab() {
  if [ -n "$builder" ] && ! wait "$builder"; then
    tail -n 30 "$BUILD_LOG"
    echo "lab: Kubernetes could not be built"
    return 1
  fi
  builder=''
}

up_lab() {
  # There this image also runs the Redis of two HQs.
  IMAGE=$LAB_IMAGE sh docker/build.sh --quiet --build-arg PACKAGES=redis-server || return
  # Left over from a killed run.
  "$LAB/down.sh" -x || return
  is_up=yes
  IMAGES=$LAB_IMAGE "$LAB/up.sh"
}

stop_lab() {
  # Runs in a process group of its own.
  if [ -n "$builder" ]; then kill -- "-$builder" 2>/dev/null; fi
  if [ -n "$is_up" ]; then
    "$LAB/node2.sh" down
    "$LAB/down.sh" -x
  fi
  builder=''
  is_up=''
}
