# What every script uses: how it compares, what it skips, and where it installs things.

set -euo pipefail
failed=0

# expect WHAT SEEN GOT prints what has happened, and remembers it if it is not what was seen before.
expect() {
	if [ "$2" = "$3" ]; then
		printf '%s: %s\n' "$1" "$3"
	else
		printf '%s: has changed\n  before: %s\n  now:    %s\n' "$1" "$2" "$3"
		failed=1
	fi
}

# finish ends the script: with 1 if something has changed.
finish() { exit "$failed"; }

# skip WHY ends the script with 77: it can't run here.
skip() { echo "skipped: $1"; exit 77; }

# needs PROGRAM… skips the script where one of these isn't installed.
needs() { for p; do command -v "$p" >/dev/null || skip "there is no $p"; done; }

# debian NAME=VERSION… unpacks packages of Debian, without installing them, below $tmp/root.
debian() {
	needs apt-get dpkg
	mkdir -p "$tmp/packages" "$tmp/root"
	(cd "$tmp/packages" && apt-get download -q "$@") >"$tmp/apt" 2>&1 ||
		skip "Debian's packages can't be had: $(tail -n 1 "$tmp/apt")"
	for p in "$tmp"/packages/*.deb; do dpkg -x "$p" "$tmp/root"; done
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
