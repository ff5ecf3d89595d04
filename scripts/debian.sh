# shellcheck shell=sh
# Sourced by the scripts that install Debian packages. They define a function `fail`, which prints a sentence and exits.

# Sets $as_root: the prefix of commands that need root. $1: the message if root is not available.
find_root() {
  as_root=''
  [ "$(id -u)" -ne 0 ] || return 0
  command -v sudo >/dev/null 2>&1 || fail "$1"
  as_root='sudo'
  # No terminal to type a password.
  [ -t 0 ] || as_root='sudo -n'
}

apt() {
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

# Sets `chosen` to the first of these packages that the machine's own sources offer. A Compose before v2 does not count.
choose() {
  for chosen in "$@"; do
    case $chosen:$(LC_ALL=C apt-cache policy "$chosen" | sed -n 's/^  Candidate: //p') in
      *: | *:"(none)" | docker-compose:1.*) ;;
      *) return 0 ;;
    esac
  done
  chosen=''
}

# Prints the mirrors of this machine's own sources for use elsewhere, one per line: ORIGIN COMPONENT CODENAME ADDRESS.
# Of a mirror list in a file, as in Debian's cloud images, it prints the first; it skips discs and local folders.
debian_mirrors() {
  # shellcheck disable=SC2016 # apt's own variables
  apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    while read -r origin component codename address; do
      case $address in
        mirror+file:/*)
          list=${address#mirror+file:}
          address=$(awk '/^https?:/ { print $1; exit }' "${list%/}")
          ;;
      esac
      case $address in
        http://* | https://*) echo "$origin $component $codename $address" ;;
      esac
    done
}

# fetch_newer FOLDER PACKAGE…: downloads the packages from a newer release of Debian, from this machine's mirror and
# with separate lists. The machine's sources and lists do not change. For packages whose dependencies the older release
# fulfils.
fetch_newer() {
  folder=$1
  shift
  newer=trixie
  # shellcheck disable=SC2016 # apt's own variables
  mirror=$(apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian" && $2 !~ /-/ { print $3; exit }')
  [ -n "$mirror" ] || fail "this machine's sources have no $*: install by its own means what Debian's $newer calls so"
  mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $newer main" >"$folder/sources.list"
  cat >"$folder/apt.conf" <<CONF
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State::lists "$folder/lists";
Dir::Cache "$folder/cache";
APT::Sandbox::User "$(id -un)";
CONF
  # From that release, even if another version is installed.
  # shellcheck disable=SC2046 # a list of words
  (cd "$folder" && export APT_CONFIG="$folder/apt.conf" &&
    apt-get -qq -o Acquire::Retries=3 update &&
    apt-get -qq -o Acquire::Retries=3 download $(printf "%s/$newer " "$@")) ||
    fail "$* could not be had from Debian's $newer at $mirror"
}
