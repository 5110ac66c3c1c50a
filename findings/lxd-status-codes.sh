#!/usr/bin/env bash
# LXD 5.0.2: most requests that can never succeed are answered with 500, and alike ones with 400 or 404
#
# Guess: a wrong request is 400, what is in use 400 or 409, what isn't there 404; 500 means that LXD itself failed.
# Seen:  a wrong value, an unknown key or device, a profile that isn't there and a profile in use are all 500; a JSON type
#        that is wrong and an instance that runs are 400, an image alias that isn't there is 404, a volume of the same name
#        409. A volume in use is 400 if it is to be deleted and 500 if it is to be renamed while an instance runs.
# So:    whether it is worth trying again can't be told from the status: the text has to be looked at.
. "$(dirname "$0")/lib/lxd.sh"

code() { local answer; answer=$(call "$@"); echo "${answer%% *}"; }

call POST /1.0/instances '{"name":"one","source":{"type":"image","alias":"tiny"}}' >/dev/null
call POST /1.0/storage-pools/default/volumes/custom '{"name":"vol","config":{}}' >/dev/null
call PATCH /1.0/instances/one '{"devices":{"v":{"type":"disk","path":"/v","source":"vol","pool":"default"}}}' >/dev/null
call POST /1.0/profiles '{"name":"prof"}' >/dev/null
call PATCH /1.0/instances/one '{"profiles":["default","prof"]}' >/dev/null
expect "started" "Success" "$(call PUT /1.0/instances/one/state '{"action":"start","timeout":30}')"

expect "a wrong value" 500 "$(code PATCH /1.0/instances/one '{"config":{"limits.memory":"512M"}}')"
expect "an unknown key" 500 "$(code PATCH /1.0/instances/one '{"config":{"cloud-init.words":"1"}}')"
expect "an unknown option of a device" 500 "$(code PATCH /1.0/instances/one '{"devices":{"n":{"type":"none","words":"1"}}}')"
expect "an unknown profile" 500 "$(code POST /1.0/instances '{"name":"two","profiles":["words"],"source":{"type":"none"}}')"
expect "a profile in use" 500 "$(code DELETE /1.0/profiles/prof)"
expect "an unknown image" 404 "$(code POST /1.0/instances '{"name":"two","source":{"type":"image","alias":"words"}}')"
expect "a number for a string" 400 "$(code PATCH /1.0/instances/one '{"config":{"user.a":1}}')"
expect "an instance that runs is deleted" 400 "$(code DELETE /1.0/instances/one)"
expect "a volume's name twice" 409 "$(code POST /1.0/storage-pools/default/volumes/custom '{"name":"vol","config":{}}')"
expect "a volume in use is deleted" 400 "$(code DELETE /1.0/storage-pools/default/volumes/custom/vol)"
expect "a volume in use is renamed" 500 "$(code POST /1.0/storage-pools/default/volumes/custom/vol '{"name":"vol2"}')"
finish
