#!/bin/sh
# A cluster of two LXDs for the tests of package lxd, where lxd.sh has set up one LXD.
#
#   cluster.sh up     makes two network namespaces with an LXD each, and joins them. It prints LXD_DIR, for
#                     the tests and for lxc.
#   cluster.sh run    runs a command in the namespace of the member one, where all containers can be reached.
#   cluster.sh down   removes all that.
#
# The members one and two have the containers on one network, as members with a switch between them
# would. The data is below JUJU_LXD_HOME/cluster.
set -eu

home=${JUJU_LXD_HOME:-/var/lib/juju-test-lxd}/cluster
name=${JUJU_CLUSTER:-jujucl} # begins the names of namespaces, links and bridges
network=${JUJU_CLUSTER_NETWORK:-10.177.12} # of the members, /24
containers=${JUJU_CLUSTER_CONTAINERS:-10.177.13} # of the containers, /24
release=bookworm

export LC_ALL=C.UTF-8

say() { echo "cluster.sh: $*" >&2; }

# serve runs the LXD of a member. It needs the /sys of its namespace, with the host's control groups.
serve() {
	mkdir -p "$home/cgroup$1" "$home/$1"
	mount --make-rprivate /
	mount --rbind /sys/fs/cgroup "$home/cgroup$1"
	mount -t sysfs sysfs /sys
	mount --rbind "$home/cgroup$1" /sys/fs/cgroup
	LXD_DIR=$home/$1 exec lxd --group root --logfile "$home/lxd$1.log"
}

# member makes the namespace of a member, with one link to the other members and one for containers.
member() {
	ip netns add "$name$1"
	for way in m c; do
		ip link add "$name$way$1" type veth peer name "eth$way" netns "$name$1"
		ip link set "$name$way$1" master "$name$way" up
		ip -n "$name$1" link set "eth$way" up
	done
	ip -n "$name$1" link set lo up
	ip -n "$name$1" addr add "$network.1$1/24" dev ethm
	ip -n "$name$1" route add default via "$network.1"
	ip netns exec "$name$1" sysctl -qw net.ipv4.ip_forward=1
	setsid nohup nsenter --net="/run/netns/$name$1" unshare -m --propagation private "$0" serve "$1" \
		>"$home/out$1" 2>&1 </dev/null 9>&- &
	echo $! >"$home/pid$1"
	LXD_DIR=$home/$1 timeout 60 lxd waitready --timeout 60
}

lxc1() { LXD_DIR=$home/1 lxc "$@"; }

join() {
	LXD_DIR=$home/1 lxd init --preseed >&2 <<-PRESEED
		config: {core.https_address: "$network.11:8443"}
		storage_pools:
		- name: default
		  driver: dir
		networks:
		- name: ${name}br
		  type: bridge
		  config: {ipv4.address: $containers.1/24, ipv4.nat: "true", ipv6.address: none, bridge.external_interfaces: ethc}
		profiles:
		- name: default
		  devices:
		    root: {path: /, pool: default, type: disk}
		    eth0: {name: eth0, network: ${name}br, type: nic}
		cluster: {enabled: true, server_name: one}
	PRESEED
	lxc1 config set cluster.offline_threshold 11
	token=$(lxc1 cluster add two -q | tail -n 1)
	LXD_DIR=$home/2 lxd init --preseed >&2 <<-PRESEED
		config: {core.https_address: "$network.12:8443"}
		cluster:
		  enabled: true
		  server_name: two
		  server_address: $network.12:8443
		  cluster_token: $token
		  member_config:
		  - {entity: network, name: ${name}br, key: bridge.external_interfaces, value: ethc}
	PRESEED
}

up() {
	mkdir -p "$home"
	exec 9>"$home/lock" # of two at once, one waits
	flock -w 600 9
	if ! LXD_DIR=$home/2 timeout 20 lxc query /1.0 >/dev/null 2>&1; then
		say "starting two LXDs in $home"
		for way in m c; do
			ip link add "$name$way" type bridge
			ip link set "$name$way" up
		done
		ip addr add "$network.1/24" dev "${name}m"
		iptables -t nat -A POSTROUTING -s "$network.0/24" ! -d "$network.0/24" -j MASQUERADE
		member 1
		member 2
		join
	fi
	if ! lxc1 image info "juju/$release" >/dev/null 2>&1; then
		lxc image export -q "juju/$release" "$home/image" >&2
		lxc1 image import -q "$home"/image* --alias "juju/$release" >&2
		rm "$home"/image*
	fi
	echo "LXD_DIR=$home/1"
}

down() {
	if LXD_DIR=$home/1 timeout 20 lxc query /1.0 >/dev/null 2>&1; then
		for project in $(lxc1 project list -f csv | cut -d, -f1 | sed 's/ (current)//'); do
			for i in $(lxc1 list --project "$project" -f csv -c n); do
				lxc1 delete --project "$project" -f "$i" || true
			done
		done
	fi
	for n in 1 2; do
		LXD_DIR=$home/$n timeout 60 lxd shutdown --timeout 20 >/dev/null 2>&1 || true
		# What is left of its processes, such as the DHCP server, is in its namespace alone.
		ip netns pids "$name$n" 2>/dev/null | xargs -r kill -KILL || true
		ip netns delete "$name$n" 2>/dev/null || true
	done
	# The kernel may keep a namespace, and with it the links, for what LXD has mounted.
	for link in m1 c1 m2 c2 m c; do
		ip link delete "$name$link" 2>/dev/null || true
	done
	iptables -t nat -D POSTROUTING -s "$network.0/24" ! -d "$network.0/24" -j MASQUERADE 2>/dev/null || true
	awk '{ print $2 }' /proc/self/mounts | grep "^$home/" | sort -r | while read -r at; do
		umount -l "$at"
	done
	rm -rf --one-file-system "$home"
}

[ "$(id -u)" = 0 ] || { say "this needs root"; exit 1; }
case ${1-} in
up | down) "$1" ;;
run)
	shift
	export LXD_DIR="$home/1" JUJU_LXD_MEMBER="two:$(cat "$home/pid2")"
	exec nsenter --net="/run/netns/${name}1" "$@"
	;;
serve) serve "$2" ;;
*) say "usage: cluster.sh up|run COMMAND...|down"; exit 2 ;;
esac
