# What the scripts share. To be sourced: `source "$(dirname "$0")/lib.sh"`. Moves to the root of the repository.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Ends the script with a message on stderr.
die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# Whether this is the project's CI, where what a person's machine may skip has to run.
in_ci() { [[ ${CI:-} == true ]]; }

# Prints the comment at the head of the script that is running: its help.
usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$0"; }

# configure PRESET: makes or refreshes build/PRESET; says nothing unless it fails.
configure() {
  local log
  log=$(mktemp)
  if ! cmake --preset "$1" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    die "configuring the preset '$1' failed"
  fi
  rm -f "$log"
}

# Builds the real etcd that the differential test compares with, where Go is there to build it. Elsewhere the
# test takes Debian's etcd (apt-get install etcd-server), or says that it has none.
prepare_oracle() {
  command -v go >/dev/null || return 0
  tests/clients/go/build-etcd && return
  in_ci && die "the etcd to compare with could not be built"
  echo "${0##*/}: the etcd to compare with could not be built; going on without it" >&2
}

# tracked PATTERN...: the repository's files that match and exist, new ones included, one a line.
tracked() {
  local file
  git ls-files --cached --others --exclude-standard -- "$@" | sort -u | while read -r file; do
    [[ ! -f $file ]] || echo "$file"
  done
}
