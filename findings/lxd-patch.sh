#!/usr/bin/env bash
# LXD 5.0.2: PATCH empties the rules of an ACL, and most descriptions, when the request does not name them
#
# Guess: PATCH changes the fields that the request names, and keeps the others, as it does with single keys of "config".
# Seen:  single keys of "config" and single devices are kept. But the description of an instance and of a volume becomes
#        empty, and a network ACL loses its description and all of its rules; a profile keeps its description. A key of
#        "config" that is null in the request is removed, although the type of the field is a string.
# So:    to change one field, GET the object, change it, and PUT it back with If-Match.
. "$(dirname "$0")/lib/lxd.sh"

call POST /1.0/instances '{"name":"one","source":{"type":"none"},"config":{"user.a":"1","user.b":"2"},"description":"words"}' >/dev/null
call PATCH /1.0/instances/one '{"config":{"user.a":null,"user.c":"3"}}' >/dev/null
expect "instance: keys" '{"user.b":"2","user.c":"3"}' \
	"$(call GET /1.0/instances/one | jq -c '.config | with_entries(select(.key | startswith("user.")))')"
expect "instance: description" '""' "$(call GET /1.0/instances/one | jq -c .description)"

call POST /1.0/storage-pools/default/volumes/custom '{"name":"vol","config":{"user.a":"1"},"description":"words"}' >/dev/null
call PATCH /1.0/storage-pools/default/volumes/custom/vol '{"config":{"user.b":"2"}}' >/dev/null
expect "volume" '["",{"user.a":"1","user.b":"2"}]' \
	"$(call GET /1.0/storage-pools/default/volumes/custom/vol | jq -c '[.description, .config]')"

call POST /1.0/profiles '{"name":"prof","config":{"user.a":"1"},"description":"words"}' >/dev/null
call PATCH /1.0/profiles/prof '{"config":{"user.b":"2"}}' >/dev/null
expect "profile" '["words",{"user.a":"1","user.b":"2"}]' "$(call GET /1.0/profiles/prof | jq -c '[.description, .config]')"

call POST /1.0/network-acls '{"name":"acl","description":"words","ingress":[{"action":"allow","state":"enabled"}],
	"egress":[{"action":"drop","state":"enabled"}]}' >/dev/null
expect "acl before" '["words",1,1]' "$(call GET /1.0/network-acls/acl | jq -c '[.description, (.ingress|length), (.egress|length)]')"
call PATCH /1.0/network-acls/acl '{"config":{"user.a":"1"}}' >/dev/null
expect "acl after" '["",0,0]' "$(call GET /1.0/network-acls/acl | jq -c '[.description, (.ingress|length), (.egress|length)]')"

finish
