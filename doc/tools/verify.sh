#!/bin/sh
# One part of make verify: what it needs is looked for, or downloaded, then its tests run and doc/verified.md gets its row. A
# part that lacks something is skipped, and says so.
#
#   verify.sh PART      RUN, FULL, PACKAGES, STORIES and the variables that a part names come from the Makefile
set -eu
part=$1

skip() { echo "make verify-$part: skipped: $*" >&2; exit 0; }
has() { command -v "$1" >/dev/null || skip "there is no $1"; }

# tests PACKAGES ARGUMENT… runs tests as a part, whose name may have an end: tests -NAME PACKAGES ARGUMENT…
tests() {
	name=$part
	case $1 in -*) name=$part$1 && shift ;; esac
	packages=$1 && shift
	# shellcheck disable=SC2086 # they are words
	JUJU_VERIFY=1 $RUN -part "verify-$name" -packages "$packages" -- $FULL "$@"
}

# folder NAME WHAT sets dir to the directory that a variable names.
folder() {
	eval "dir=\${$1:-}"
	[ -n "$dir" ] || skip "$1=DIR does not say where $2 is"
	dir=$(cd "$dir" && pwd)
}

# modules MODULE… sets dir to a directory, which is removed in the end, where npm has installed them.
modules() {
	has node && has npm
	dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
	timeout 300 npm install --silent --no-audit --no-fund --prefix "$dir" "$@" || skip "npm cannot install $*"
}

# pictures makes the path of a directory for pictures absolute.
pictures() {
	[ -z "${PICTURES:-}" ] || { mkdir -p "$PICTURES" && PICTURES=$(cd "$PICTURES" && pwd) && export PICTURES; }
}

case $part in
race)
	command -v "${CC:-cc}" >/dev/null || command -v gcc >/dev/null || {
		echo "make verify-race: the race detector needs a C compiler; install gcc, or set CC" >&2
		exit 1
	}
	# A program built with the race detector otherwise sleeps for a second before it exits.
	export CGO_ENABLED=1 GORACE=atexit_sleep_ms=0 JUJU_SMOKED=1
	tests "${PACKAGES?}" -race -short
	;;
full)
	# shellcheck disable=SC2086
	JUJU_VERIFY=1 $RUN -part verify-full -calls testing.Short,verify.Only -- $FULL -skip "^($STORIES)\$"
	;;
stories) tests ./cmd/juju -run "^($STORIES)\$" ;;
charms)
	folder CHARM_LIBRARIES "a directory with ops and charmhelpers"
	for library in ops charmhelpers; do [ -d "$dir/$library" ] || skip "CHARM_LIBRARIES has no $library"; done
	PATH=/usr/local/bin:/usr/bin:/bin python3 -c 'import yaml' 2>/dev/null || skip "the system has no python3 with the module yaml"
	export CHARM_LIBRARIES="$dir"
	tests ./cmd/juju -count=1 -run '^TestCharmLibraries$'
	;;
jujulib)
	modules @canonical/jujulib@9.1
	export JUJULIB="$dir"
	tests ./apiserver -count=1 -run '^TestOfficialJavaScriptClient$'
	;;
jubilant)
	folder JUBILANT github.com/canonical/jubilant
	/usr/bin/python3 -c 'import pytest, cryptography, yaml' 2>/dev/null || skip "the system's python3 has no pytest, cryptography or" \
		"yaml: apt-get install python3-pytest python3-cryptography python3-yaml"
	export JUBILANT="$dir"
	tests ./cmd/juju -count=1 -run '^TestJubilant(sOwnTests)?$'
	;;
libjuju)
	folder LIBJUJU github.com/juju/python-libjuju
	export LIBJUJU="$dir"
	tests ./cmd/juju -count=1 -run '^TestLibjuju$'
	;;
dashboard)
	folder DASHBOARD "a build of github.com/canonical/juju-dashboard"
	[ -f "$dir/index.html" ] || skip "DASHBOARD has no index.html: it is the directory build of github.com/canonical/juju-dashboard"
	export DASHBOARD="$dir"
	pictures
	modules playwright-core@1.65
	export PLAYWRIGHT="$dir"
	tests ./cmd/juju -count=1 -run '^TestDashboard$'
	;;
pages)
	has chromium && has npm
	dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
	cp apiserver/dashboard/package.json apiserver/dashboard/package-lock.json "$dir"
	timeout 300 npm ci --silent --no-audit --no-fund --prefix "$dir" || skip "npm cannot install the libraries of package-lock.json"
	pictures
	export LIBRARIES="$dir/node_modules" BIN="$PWD/bin"
	tests ./apiserver/dashboard -count=1 -run 'Browser$|DashboardOfAController|Libraries'
	;;
mongosh)
	# The version is the one whose output the test knows. It stays in .tmp, because it is large.
	has node && has npm
	dir=$PWD/.tmp/mongosh-2.12.0
	[ -x "$dir/node_modules/.bin/mongosh" ] || timeout 600 npm install --silent --no-audit --no-fund --prefix "$dir" mongosh@2.12.0 || {
		rm -rf "$dir"
		skip "npm cannot install mongosh"
	}
	export MONGOSH="$dir/node_modules/.bin/mongosh"
	tests ./state/mongo/conformancetest -count=1 -run '^TestMongosh$'
	;;
traces)
	# The collector's parts are modules of two versions. It stays in .tmp, because it is large and takes minutes to compile.
	version=0.165.0
	dir=$PWD/.tmp/otelcol-$version
	collector=go.opentelemetry.io/collector
	contrib=github.com/open-telemetry/opentelemetry-collector-contrib
	build() {
		mkdir -p "$dir" && cp cmd/juju/testdata/otelcol/main.go "$dir" && cd "$dir" && rm -f go.mod go.sum && export GOFLAGS=-mod=mod &&
			$GO mod init otelcol && $GO get "$collector/otelcol@v$version" "$collector/receiver/otlpreceiver@v$version" \
			"$contrib/exporter/fileexporter@v$version" "$collector/confmap/provider/fileprovider@v1.71.0" && $GO build -o otelcol .
	}
	[ -x "$dir/otelcol" ] || (build) >/dev/null 2>&1 || skip "the collector can't be built in $dir"
	export OTELCOL="$dir/otelcol"
	tests ./cmd/juju -count=1 -run '^TestTracesInACollector$'
	;;
lxd)
	# LXD's socket may be named in JUJU_LXD; otherwise one is set up, or used again.
	[ -n "${JUJU_LXD:-}" ] || { set=$(provider/lxd/testdata/lxd.sh up) && export "${set?}"; }
	export JUJU_NEED_LXD=1
	tests -cloud ./provider/lxd -count=1
	tests -kills ./agent/controller -count=1 -run 'CallsOnLXD$'
	tests -stories ./cmd/juju -count=1 -run '^TestOnLXD$'
	;;
lxd-cluster)
	cluster=provider/lxd/testdata/cluster.sh
	provider/lxd/testdata/lxd.sh up >/dev/null
	trap '$cluster down' EXIT
	$cluster up >/dev/null
	export JUJU_NEED_LXD=1
	RUN="$cluster run $RUN"
	tests ./provider/lxd -count=1 -run '^TestConformance$|OfTheCluster'
	;;
*)
	echo "verify.sh: there is no part $part" >&2
	exit 2
	;;
esac
