#!/usr/bin/env bash
# LXD 5.0.2: a snapshot that is restored after a network card was added gives the container neither of the two ids of cloud-init
#
# Guess: a restored snapshot brings its volatile.cloud-init.instance-id back, as it brings the disk back on which cloud-init
#        has noted what it has done for that id.
# Seen:  it does only if neither cloud-init's keys nor the network cards differ from now. Otherwise the container gets a third
#        id, with which cloud-init does everything again at the next start, on a disk where it has done it. Restored once more,
#        when nothing differs, the snapshot brings its id back. A card counts as removed, too, when it is masked by a device of
#        type none; its address, its MAC and other keys user.* don't count.
. "$(dirname "$0")/lib/lxd.sh"

# is WHAT LETTER compares the id of the container, as a letter: the first that it has had is A.
declare -A letters=()
is() {
	now=$(lxc config get one volatile.cloud-init.instance-id)
	: "${letters[$now]:=$(printf '%b' "\\x$(printf %x $((65 + ${#letters[@]})))")}"
	expect "$1" "$2" "${letters[$now]}"
}

lxc init tiny one >/dev/null
lxc config set one cloud-init.user-data='#!/bin/sh'
is "with user data" A
lxc snapshot one before
lxc config set one user.other=1
lxc config device override one eth0 >/dev/null
lxc config device set one eth0 ipv4.address=10.99.1.77
lxc config device set one eth0 hwaddr=00:16:3e:11:22:33
is "other keys, a fixed address, another MAC" A
lxc restore one before
is "restored" A
lxc network create br1 ipv4.address=10.99.2.1/24 ipv4.nat=false ipv6.address=none >/dev/null
lxc config device add one eth1 nic network=br1 name=eth1 >/dev/null
is "a second card" B
lxc restore one before
is "restored, without it" C
lxc restore one before
is "restored again" A
lxc config device add one eth0 none >/dev/null
is "the first card masked" D
lxc config device remove one eth0 >/dev/null
is "and no more" E
finish
