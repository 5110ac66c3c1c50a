
# Installs the agent binaries in $tools from an archive with the hash $sha256 at one of $urls.
# If $ca_cert is not empty, it must have signed the servers' certificates.
set -eu
umask 022
attempts=${attempts:-30}
pause=${pause:-10} # seconds

say() { echo "juju: $*" >&2; }

# get URL FILE downloads with the first available program.
get() {
	if command -v curl >/dev/null; then
		curl -fsS --connect-timeout 20 --max-time 600 ${ca:+--cacert "$ca"} -o "$2" "$1"
	elif command -v python3 >/dev/null; then
		timeout 600 python3 - "$1" "$2" "$ca" <<'PYTHON'
import shutil, ssl, sys, urllib.request
url, to, ca = sys.argv[1:]
context = ssl.create_default_context(cafile=ca or None)
try:
    with urllib.request.urlopen(url, timeout=30, context=context) as source, open(to, "wb") as file:
        shutil.copyfileobj(source, file)
except OSError as err:
    sys.exit(str(err))
PYTHON
	elif command -v wget >/dev/null; then
		# An empty CA directory keeps it from trusting the system's CAs too.
		timeout 600 wget -nv --tries=1 --timeout=30 \
			${ca:+--ca-certificate="$ca"} ${ca:+--ca-directory="$draft/none"} -O "$2" "$1" 2>&1 >/dev/null
	else
		say "there is neither curl nor python3 nor wget"
		return 1
	fi
}

# fetch FILE downloads the archive, with retries.
fetch() {
	n=0
	while :; do
		for url in $urls; do
			if ! get "$url" "$1"; then
				say "cannot download $url"
			elif echo "$sha256  $1" | sha256sum -c - >/dev/null 2>&1; then
				return 0
			else
				say "$url does not have the SHA-256 $sha256"
			fi
		done
		n=$((n + 1))
		if [ "$n" -ge "$attempts" ]; then
			say "cannot download the agent binaries: gave up after $n attempts"
			return 1
		fi
		sleep "$pause"
	done
}

if [ ! -x "$tools/machine-agent" ]; then
	mkdir -p "${tools%/*}"
	draft=$(mktemp -d "$tools.XXXXXX")
	trap 'rm -rf "$draft"' EXIT
	mkdir -m 0755 "$draft/bin" "$draft/none"
	ca=
	if [ -n "$ca_cert" ]; then
		ca=$draft/ca.pem
		printf '%s\n' "$ca_cert" >"$ca"
	fi
	fetch "$draft/archive"
	tar -xz --no-same-owner -C "$draft/bin" -f "$draft/archive"
	if [ ! -x "$draft/bin/machine-agent" ]; then
		say "the archive holds no machine-agent"
		exit 1
	fi
	sync
	rm -rf "$tools"
	mv "$draft/bin" "$tools"
fi
