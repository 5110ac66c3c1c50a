#!/usr/bin/env bash
# LXD 5.0.2: an instance with two cards in one managed network can be made, but not started, unless the network has no DNS
#
# Guess: two cards in one managed network are accepted, whenever they are added, if their names differ.
# Seen:  an instance can be made with them. It can't be started, and one that has a card can't be given another, because its own DNS
#        name is "already used on network"; that the other card names the bridge instead of the network makes no difference. With
#        dns.mode none both are possible, with three cards too.
. "$(dirname "$0")/lib/lxd.sh"

card() { printf '"%s":{"type":"nic",%s,"name":"%s"}' "$1" "$2" "$1"; }
net='"network":"br0"' bridge='"nictype":"bridged","parent":"br0"'
new() { call POST /1.0/instances "{\"name\":\"$1\",\"profiles\":[],\"source\":{\"type\":\"image\",\"alias\":\"tiny\"},
	\"devices\":{\"root\":{\"type\":\"disk\",\"path\":\"/\",\"pool\":\"default\"},$2}}"; }
add() { call PATCH "/1.0/instances/$1" "{\"devices\":{$2}}"; }

expect "made with two" "Success" "$(new both "$(card eth0 "$net"),$(card eth1 "$net")")"
expect "their start" 'Failure: Failed start validation for device "eth0": Instance DNS name "both" already used on network' \
	"$(call PUT /1.0/instances/both/state '{"action":"start","timeout":30}')"
expect "made with one" "Success" "$(new one "$(card eth0 "$net")")"
expect "a second one, by its network" '409 Failed add validation for device "eth1": Instance DNS name "one" already used on network' \
	"$(add one "$(card eth1 "$net")")"
expect "a second one, by its bridge" '409 Failed add validation for device "eth1": Instance DNS name "one" already used on network' \
	"$(add one "$(card eth1 "$bridge")")"
expect "no DNS" "{}" "$(call PATCH /1.0/networks/br0 '{"config":{"dns.mode":"none"}}')"
expect "a second one" "{}" "$(add one "$(card eth1 "$net")")"
expect "a third one" "{}" "$(add both "$(card eth2 "$net")")"
expect "the start" "Success" "$(call PUT /1.0/instances/both/state '{"action":"start","timeout":30}')"
expect "cards" "eth0 eth1 eth2" "$(lxc exec both -- busybox ls /sys/class/net | grep eth | tr '\n' ' ' | sed 's/ $//')"
finish
