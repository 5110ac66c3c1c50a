#!/usr/bin/env bash
# LXD 5.0.2: two disks can be mounted at one path, if it is spelled differently, and the later one hides the other
#
# Guess: paths are cleaned before they are compared and used: /data/ is refused beside /data, /x/../y is /y, and a relative path
#        is refused. A directory stays when what was mounted on it is gone.
# Seen:  /data is refused beside /data, but /data/ is accepted, and mounted over it; after a restart too, until it is removed.
#        /x/../y makes an empty directory /x as well. A relative path is one below /. With its last disk the directory goes.
. "$(dirname "$0")/lib/lxd.sh"

volumes=/1.0/storage-pools/default/volumes/custom
attach() { call PATCH /1.0/instances/one "{\"devices\":{\"$1\":{\"type\":\"disk\",\"pool\":\"default\",\"source\":\"$1\",\"path\":\"$2\"}}}"; }
inside() { lxc exec one -- busybox "$@" 2>&1 || true; }

call POST /1.0/instances '{"name":"one","source":{"type":"image","alias":"tiny"}}' >/dev/null
expect "start" "Success" "$(call PUT /1.0/instances/one/state '{"action":"start","timeout":30}')"
for v in first second third fourth; do
	call POST $volumes "{\"name\":\"$v\"}" >/dev/null
done
expect "first at /data" "{}" "$(attach first /data)"
inside touch /data/of-first
expect "second at /data" 'More than one disk device uses the same path "/data"' "$(attach second /data | grep -o 'More than one.*')"
expect "second at /data/" "{}" "$(attach second /data/)"
inside touch /data/of-second
expect "what is there" "of-second" "$(inside ls /data)"
expect "restart" "Success" "$(call PUT /1.0/instances/one/state '{"action":"restart","force":true,"timeout":30}')"
expect "what is there then" "of-second" "$(inside ls /data)"
expect "third at rel/there" "{}" "$(attach third rel/there)"
expect "where it is" "1" "$(inside grep -c ' /rel/there ' /proc/mounts)"
expect "fourth at /x/../y" "{}" "$(attach fourth /x/../y)"
expect "where it is" "1" "$(inside grep -c ' /y ' /proc/mounts)"
expect "/x" "/x" "$(inside ls -d /x)"
lxc config device remove one second >/dev/null
expect "without the second" "of-first" "$(inside ls /data)"
lxc config device remove one first >/dev/null
expect "without either" "ls: /data: No such file or directory" "$(inside ls /data)"
finish
