#!/usr/bin/env bash
# LXD 5.0.2: two instances whose names differ in case only can be created, but only one of them can start
#
# Guess: either the second is refused, or both work.
# Seen:  both are created. On a managed bridge the second doesn't start: its name in DNS is taken, without regard to case,
#        even while the first is stopped.
. "$(dirname "$0")/lib/lxd.sh"

for name in one One; do
	expect "create $name" "Success" "$(call POST /1.0/instances "{\"name\":\"$name\",\"source\":{\"type\":\"image\",\"alias\":\"tiny\"}}")"
done
expect "start One" "Failure: Failed start validation for device \"eth0\": Instance DNS name \"one\" already used on network" \
	"$(call PUT /1.0/instances/One/state '{"action":"start","timeout":30}')"
call DELETE /1.0/instances/one >/dev/null
expect "start One alone" "Success" "$(call PUT /1.0/instances/One/state '{"action":"start","timeout":30}')"
finish
