#!/usr/bin/env bash
# LXD 5.0.2: a pool "dir" takes sizes of volumes and disks without a word, and nothing holds anything to them
#
# Guess: on a filesystem without project quotas a volume with a size is refused, or at least its growth fails when it is full;
#        the size can't be changed either, and the state of the volume says how much of it is used.
# Seen:  a volume of 1 MiB, a change of it to 2 MiB and a root disk of 1 MiB are accepted, and 8 MiB fit into each. The volume says
#        that its size is 1 MiB; only the answer 500 to the question for its use tells that nothing is counted.
. "$(dirname "$0")/lib/lxd.sh"

volumes=/1.0/storage-pools/default/volumes/custom
expect "driver" "dir" "$(call GET /1.0/storage-pools/default | jq -r .driver)"
expect "a volume of 1 MiB" "{}" "$(call POST $volumes '{"name":"small","config":{"size":"1MiB"}}')"
call POST /1.0/instances '{"name":"one","source":{"type":"image","alias":"tiny"},"devices":{"root":{"type":"disk","path":"/","pool":"default","size":"1MiB"}}}'
expect "start" "Success" "$(call PUT /1.0/instances/one/state '{"action":"start","timeout":30}')"
expect "attach" "{}" "$(call PATCH /1.0/instances/one '{"devices":{"a":{"type":"disk","pool":"default","source":"small","path":"/data"}}}')"
for file in /data/f /f; do
	expect "8 MiB in $file" "0" "$(lxc exec one -- busybox dd if=/dev/zero of=$file bs=1M count=8 >/dev/null 2>&1; echo $?)"
	expect "size of $file" "8388608" "$(lxc exec one -- busybox stat -c %s $file)"
done
expect "its size, as it says" "1MiB" "$(call GET $volumes/small | jq -r .config.size)"
expect "its use" "500 Not supported" "$(call GET $volumes/small/state)"
expect "another size" "{}" "$(call PUT $volumes/small '{"config":{"size":"2MiB"}}')"
expect "more than the 2 MiB" "8388608" "$(lxc exec one -- busybox stat -c %s /data/f)"
finish
