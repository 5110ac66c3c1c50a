#!/bin/sh
# demo.sh up     bootstraps a controller in this clone's .demo, deploys the two example
#                charms, relates them, and shows that they work; it skips completed steps
# demo.sh down   stops everything and removes .demo
#
# `make demo` and `make demo-down` build the binaries and call it.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
juju=$root/bin/juju
charms=$root/doc/examples/charms
JUJU_DATA=$root/.demo
JUJU_MODEL=demo:default
export JUJU_DATA JUJU_MODEL

# The user may have selected another controller.
unset JUJU_CONTROLLER

fail() {
	echo "$*" >&2
	exit 1
}

# deployed SERVICE: whether the service exists.
deployed() { "$juju" get "$1" >/dev/null 2>&1; }

# address UNIT: prints the HOST:PORT at which the unit serves.
address() {
	"$juju" status --format oneline "$1" |
		sed -n "s|^- $1: \([0-9.]*\) .* \([0-9]*\)/tcp\$|\1:\2|p"
}

# page HOST:PORT: prints the page served there, using whichever tool is installed.
page() {
	if command -v bash >/dev/null; then
		bash -c 'exec 3<>"/dev/tcp/${1%:*}/${1#*:}" && printf "GET / HTTP/1.0\r\n\r\n" >&3 && cat <&3' page "$1"
	elif command -v curl >/dev/null; then
		curl -s "http://$1/"
	elif command -v wget >/dev/null; then
		wget -qO- "http://$1/"
	fi
}

# visit HOST:PORT: opens the page and prints the number of the visit.
visit() {
	count=$(page "$1" | sed -n 's|.*id="visits">\([0-9]*\)<.*|\1|p')
	if [ -n "$count" ]; then
		echo "Opened http://$1/: visit number $count."
	else
		echo "Open http://$1/ to be counted."
	fi
}

up() {
	for program in juju jujud machine-agent unit-agent hook-tool; do
		[ -x "$root/bin/$program" ] || fail "bin/$program is not built: make demo builds it and then calls this"
	done
	if [ ! -e "$JUJU_DATA/controllers.yaml" ]; then
		"$juju" bootstrap local demo ||
			fail "The demo did not begin. If something is in its way: make demo-down"
	elif deployed store && deployed web; then
		echo "The demo is up already; here it is again."
	fi
	deployed store || "$juju" deploy "$charms/keyvalue" store
	deployed web || "$juju" deploy "$charms/webpage" web
	"$juju" status --relations | grep -q '^store:db  *web:store ' || "$juju" add-relation web store
	"$juju" wait-for store web --timeout 3m ||
		fail "The demo did not come up. Look at it: JUJU_DATA=$JUJU_DATA $juju status; end it: make demo-down"
	"$juju" status
	web=$(address web/0)
	echo
	visit "$web"
	visit "$web"
	cat <<-END

		The page:  http://$web/
		Reload it and the count goes up; another service stores it.

		To look further:
		    export JUJU_DATA=$JUJU_DATA PATH=$root/bin:\$PATH
		    juju status
		    juju debug-log --no-tail
		    juju set web title="Good morning"
		    juju add-unit web
		    juju help
		It runs until you end it:
		    make demo-down

	END
	"$juju" dashboard
}

# isKnown: whether there is a (partial) demo to take down.
isKnown() {
	grep -qs '^ *demo:' "$JUJU_DATA/controllers.yaml" ||
		ls -A "$JUJU_DATA/local/demo" 2>/dev/null | grep -qvx released
}

down() {
	if ! isKnown; then
		echo "The demo is not up: there is nothing to take down."
		return
	fi
	[ -x "$juju" ] || fail "bin/juju is not built: make build"
	"$juju" destroy-environment demo -y
	# This also removes the directory, unless it contains other files.
	[ ! -e "$JUJU_DATA" ] || echo "Left, because it is not the demo's: $(ls -d "$JUJU_DATA"/*)"
}

case ${1-} in
up) up ;;
down) down ;;
*) fail "usage: $0 up|down" ;;
esac
