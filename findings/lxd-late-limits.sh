#!/usr/bin/env bash
# LXD 5.0.2: limits that no container can start with are accepted, and only a log tells which it was
#
# Guess: a limit that can't be set is refused with the configuration, as 0 bytes of memory are; at least the failed start says
#        which one it is; and the instance can be mended and started at once.
# Seen:  the limits below are accepted. The start fails with "forkstart … exit status 1" and nothing about the limit, which stands
#        in the instance's lxc.log alone. Others that look as wrong are not: a processor's share of 0% or 150%, -1 processes.
. "$(dirname "$0")/lib/lxd.sh"

n=0
# limit KEY VALUE START makes a container with a limit, and starts it.
limit() {
	n=$((n + 1))
	expect "$1=$2" "Success" "$(call POST /1.0/instances "{\"name\":\"c$n\",\"source\":{\"type\":\"image\",\"alias\":\"tiny\"},\"config\":{\"$1\":\"$2\"}}")"
	expect "its start" "$3" "$(call PUT /1.0/instances/c$n/state '{"action":"start","timeout":30}' | sed 's/Failed to run: .*lxc.conf/forkstart/')"
	lxc stop -f c$n >/dev/null 2>&1 || true
}
late="Failure: forkstart: exit status 1"
limit limits.processes 0 "$late"
limit limits.kernel.nofile 10 "$late"
limit limits.kernel.nothing 5 "$late"
limit limits.memory 1kB "$late"
limit linux.sysctl.net.ipv4.ip_forward maybe "$late"
limit limits.kernel.nofile many "Failure: Load go-lxc struct: Failed to set LXC config: lxc.prlimit.nofile=many"
limit limits.processes -1 Success
limit limits.cpu.allowance 0% Success
limit limits.cpu.allowance 150% Success
expect "0 bytes are refused" "500 Invalid config: Memory limit can't be 0" "$(call PATCH /1.0/instances/c1 '{"config":{"limits.memory":"0"}}')"
expect "where the cause stands" "Unknown resource nothing" "$(grep -ho 'Unknown resource nothing' /srv/lxd/logs/c3/lxc.log | head -n 1)"
finish
