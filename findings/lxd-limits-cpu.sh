#!/usr/bin/env bash
# LXD 5.0.2: limits.cpu=0 means all processors, and a pin to a processor that isn't there keeps the pin before
#
# Guess: "0" is refused or stops the start; a pin to a processor that the host lacks is refused.
# Seen:  both are accepted. With "0" the container has all processors of the host, as with a number beyond them. A running
#        container that is pinned to a processor that isn't there stays on the processors that it had until then, while
#        its configuration says otherwise (seen with control groups v1 only).
. "$(dirname "$0")/lib/lxd.sh"

all=$(nproc)
[ "$all" -ge 2 ] || skip "the host has one processor"
call POST /1.0/instances '{"name":"one","source":{"type":"image","alias":"tiny"},"config":{"limits.cpu":"0"}}' >/dev/null
expect "start with 0" "Success" "$(call PUT /1.0/instances/one/state '{"action":"start","timeout":30}')"
expect "0: all processors" "$all" "$(lxc exec one -- nproc)"
expect "set to 1" "{}" "$(call PATCH /1.0/instances/one '{"config":{"limits.cpu":"1"}}')"
expect "1" "1" "$(lxc exec one -- nproc)"
expect "set to far more than there are" "{}" "$(call PATCH /1.0/instances/one '{"config":{"limits.cpu":"9999"}}')"
expect "9999: all processors" "$all" "$(lxc exec one -- nproc)"
expect "pinned to the first" "{}" "$(call PATCH /1.0/instances/one '{"config":{"limits.cpu":"0-0"}}')"
expect "0-0" "1" "$(lxc exec one -- nproc)"
if [ ! -d /sys/fs/cgroup/cpuset ]; then finish; fi
expect "pinned to one that isn't there" "{}" "$(call PATCH /1.0/instances/one '{"config":{"limits.cpu":"9999-9999"}}')"
expect "9999-9999: as before" "1" "$(lxc exec one -- nproc)"
expect "what its configuration says" "9999-9999" "$(lxc config get one limits.cpu)"
finish
