#!/usr/bin/env bash
# cloud-init 22.4.2: network configuration v2 that netplan takes is refused, or changed without a word, for ifupdown and networkd
#
# Guess: "to: default" is a default route for every renderer; a match by name with a pattern is kept for networkd; the metric
#        of a route and accept-ra: false are kept; nameservers of an interface are that interface's.
# Seen:  "to: default" is passed to netplan, and is an error for ifupdown and networkd, which want 0.0.0.0/0. A match of
#        "en*" becomes the interface's key in both: Name=first matches nothing. The metric of a route and accept-ra: false are
#        dropped in both. For ifupdown the nameservers are also on lo, and their map is written into the file as Python shows it.
. "$(dirname "$0")/lib/expect.sh"
[ -x /usr/bin/python3 ] || skip "there is no /usr/bin/python3"
grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || skip "this is not Debian 12, whose python3 the packages want"

debian cloud-init=22.4.2-1+deb12u4 python3-jinja2 python3-markupsafe python3-oauthlib python3-jsonpatch python3-json-pointer \
	python3-configobj python3-jsonschema python3-requests python3-six python3-attr python3-pyrsistent python3-yaml \
	python3-urllib3 python3-chardet python3-charset-normalizer python3-idna python3-certifi
export PYTHONPATH=$tmp/root/usr/lib/python3/dist-packages

# convert RENDERER FILE prints what cloud-init writes for Debian, or the last line of its error.
convert() {
	rm -rf "$tmp/out"
	if /usr/bin/python3 -c 'import sys; from cloudinit.cmd.main import main; sys.argv[0] = "cloud-init"; sys.exit(main())' \
		devel net-convert -p "$2" -k yaml -d "$tmp/out" -D debian -O "$1" >"$tmp/said" 2>&1; then
		find "$tmp/out" -type f -exec cat {} +
	else
		tail -n 1 "$tmp/said"
	fi
}
# lines PATTERN prints the matching lines of what it reads, in one line.
lines() { grep -E "$1" | sed 's/^ *//' | paste -s -d ';' || true; }

cat >"$tmp/default.yaml" <<'YAML'
version: 2
ethernets:
  eth0:
    addresses: [10.1.2.3/24]
    routes: [{to: default, via: 10.1.2.1}]
YAML
expect "default route, netplan" "to: default" "$(convert netplan "$tmp/default.yaml" | grep -oE 'to: .*')"
for renderer in eni networkd; do
	expect "default route, $renderer" "ValueError: Address default is not a valid ip address" "$(convert $renderer "$tmp/default.yaml")"
done

cat >"$tmp/two.yaml" <<'YAML'
version: 2
ethernets:
  first:
    match: {name: "en*"}
    dhcp4: true
  second:
    match: {macaddress: "00:16:3e:aa:bb:cc"}
    set-name: data0
    addresses: [10.1.2.3/24, "fd00::3/64"]
    accept-ra: false
    routes: [{to: 10.9.0.0/16, via: 10.1.2.9, metric: 50}]
    nameservers: {addresses: [10.1.2.53]}
YAML
expect "match, networkd" "Name=first;Name=data0" "$(convert networkd "$tmp/two.yaml" | lines '^Name=' | tr ';' '\n' | sort -r | paste -s -d ';')"
expect "match, ifupdown" "auto lo;auto data0;auto first" "$(convert eni "$tmp/two.yaml" | lines '^auto')"
expect "metric and accept-ra, networkd" "" "$(convert networkd "$tmp/two.yaml" | lines 'Metric|AcceptRA')"
expect "metric and accept-ra, ifupdown" "" "$(convert eni "$tmp/two.yaml" | lines 'metric|accept_ra')"
expect "nameservers, ifupdown" \
	"dns-nameservers 10.1.2.53;dns-nameservers 10.1.2.53;dns {'nameservers': ['10.1.2.53'], 'search': []}" \
	"$(convert eni "$tmp/two.yaml" | lines ' dns')"
finish
