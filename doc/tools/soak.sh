#!/bin/sh
# One of the proofs at full size. Every test runs in exactly one of them.
#
#   soak.sh PART      GO, and the variables that a part names, come from the Makefile
set -eu
part=$1

sim='TestStateMatchesTheReferenceModel|TestSimulationFindsPlantedFaults'
sim="$sim|TestConcurrentSimulation|TestLeadersNeverOverlap|TestLeadingControllersNeverOverlap"
crash='TestKilledProcess|TestCutConnection|TestKillDuringAddModel|TestKillDuringModelRemoval'
matrix='TestDestructionMatrix'
faults='TestPlantedFaultsAreFound'
fall='TestControllersFall'

# soak ARGUMENT… runs tests at full size.
soak() { JUJU_VERIFY=1 JUJU_SOAK=1 $GO test -vet=off -timeout 6h -v "$@"; }
packages() { $GO list ./... | grep "$@"; }

# The lists of packages are words.
# shellcheck disable=SC2046
case $part in
sim) soak -run "^($sim)" $(packages /state | grep -v /state/mongo) ;;
crash) soak -run "^($crash)" $(packages /state | grep -v /state/mongo) ;;
races) soak -skip "^($sim|$crash)" $(packages /state | grep -v /state/mongo) ;;
matrix) soak -run "^($matrix)" ./agent/controller ;;
store)
	soak $(packages /state/mongo)
	for store in adapter standalone; do
		JUJU_VERIFY=1 JUJU_TEST_STORE=$store $GO test -vet=off -short -timeout 1h ./state ./state/controller
	done
	;;
controllers)
	# SEED repeats a course of events, and TIME makes it longer.
	export JUJU_TIME="${TIME:-10m}" JUJU_SEED="${SEED:-}"
	soak -run "^($fall)\$" ./cmd/juju
	;;
system) soak -skip "^($matrix|$faults|$fall)" $(packages -v /state) ;;
faults)
	# A test that finds a fault mostly waits for what does not come, so several are planted at a time.
	soak -parallel $((3 * $(nproc))) -run "^($faults)" ./doc
	;;
fuzz)
	# Go makes each input smaller that reaches new code, for up to a minute, which would take most of the time.
	log=$(mktemp) && trap 'rm -f "$log"' EXIT
	# Go before 1.27 may take the end of the time for a failure, of which it keeps no input (golang/go#75804).
	fuzz() {
		$GO test -vet=off -run '^$' -fuzz "^$2\$" -fuzztime "${FUZZTIME:-10m}" -fuzzminimizetime 100x -timeout 0 "$1" </dev/null >"$log" 2>&1 ||
			{ grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; } || { cat "$log" && return 1; }
		cat "$log"
	}
	grep -rE '^func Fuzz' --include='*_test.go' . | sed -E 's,^([^:]*)/[^/:]*:func (Fuzz[A-Za-z]*).*,\1 \2,' | sort |
		while read -r dir name; do fuzz "$dir" "$name"; done
	;;
*)
	echo "soak.sh: there is no proof $part" >&2
	exit 2
	;;
esac
