#!/bin/sh
# An LXD of one's own for the tests of package lxd, on Debian 12 or newer, as root.
#
#   lxd.sh up     installs what is missing, starts LXD, makes an image of Debian 12; all that is
#                 there already is used again. It prints LXD_DIR, for the tests and for lxc.
#   lxd.sh down   removes all that but the installed packages.
#
# It takes 2 GB below JUJU_LXD_HOME, a bridge, and with the image some minutes.
set -eu

home=${JUJU_LXD_HOME:-/var/lib/juju-test-lxd}
bridge=${JUJU_LXD_BRIDGE:-jujutest0}
network=${JUJU_LXD_NETWORK:-10.177.11} # of the bridge, /24
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
release=bookworm

export LXD_DIR="$home/lxd" DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

say() { echo "lxd.sh: $*" >&2; }

answers() { [ -S "$LXD_DIR/unix.socket" ] && timeout 20 lxc query /1.0 >/dev/null 2>&1; }

packages() {
	missing=
	# LXD refuses to make a bridge where there is no firewall to set up.
	for p in lxd lxd-client debootstrap nftables iptables iproute2 dnsmasq-base squashfs-tools rsync xz-utils uidmap \
		attr acl busybox-static btrfs-progs; do
		dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q ' installed$' || missing="$missing $p"
	done
	[ -n "$missing" ] || return 0
	say "installing$missing"
	apt-get update -q >&2
	# The package's own LXD is not wanted: nothing is started after its installation.
	printf '#!/bin/sh\nexit 101\n' >"$home/policy-rc.d"
	chmod +x "$home/policy-rc.d"
	had=
	if [ -e /usr/sbin/policy-rc.d ]; then had=1; else cp "$home/policy-rc.d" /usr/sbin/policy-rc.d; fi
	failed=
	# shellcheck disable=SC2086 # they are words
	apt-get install -y -q --no-install-recommends $missing >&2 || failed=1
	[ -n "$had" ] || rm -f /usr/sbin/policy-rc.d
	[ -z "$failed" ]
}

start() {
	answers && return 0
	say "starting LXD in $LXD_DIR"
	mkdir -p "$LXD_DIR"
	setsid nohup lxd --group root --logfile "$home/lxd.log" >"$home/lxd.out" 2>&1 </dev/null 9>&- &
	echo $! >"$home/pid"
	timeout 120 lxd waitready --timeout 100
}

# The containers of a pool on btrfs are snapshots of the image; those of one in a directory are copies, of 400 MB each.
pool() {
	if grep -qw btrfs /proc/filesystems; then echo "btrfs, config: {size: 20GiB}"; else echo dir; fi
}

configure() {
	if ! lxc network show "$bridge" >/dev/null 2>&1; then
		lxd init --preseed >&2 <<-PRESEED
			networks:
			- name: $bridge
			  type: bridge
			  config: {ipv4.address: $network.1/24, ipv4.nat: "true", ipv6.address: none}
			storage_pools:
			- {name: default, driver: $(pool)}
			profiles:
			- name: default
			  devices:
			    root: {path: /, pool: default, type: disk}
			    eth0: {name: eth0, network: $bridge, type: nic}
		PRESEED
	fi
	# A Docker daemon has the host forward nothing but its own networks.
	if iptables -S FORWARD 2>/dev/null | grep -q '^-P FORWARD DROP'; then
		for way in -i -o; do
			iptables -C FORWARD "$way" "$bridge" -j ACCEPT 2>/dev/null || iptables -I FORWARD "$way" "$bridge" -j ACCEPT
		done
	fi
}

# The roots of all containers are one user on the host, who has 128 instances of inotify unless more are allowed. A
# container's systemd takes eight, and one that gets none does not start its services.
instances=/proc/sys/fs/inotify/max_user_instances
allow() {
	had=$(cat "$instances")
	[ "$had" -lt 1024 ] || return 0
	say "allowing 1024 instances of inotify instead of $had"
	[ -e "$home/instances" ] || echo "$had" >"$home/instances"
	echo 1024 >"$instances" || say "cannot: with more than a dozen containers, some won't start"
}

# unmount unmounts all that is mounted below a directory; the innermost comes last in the table.
unmount() {
	awk '{ print $2 }' /proc/self/mounts | grep "^$1/" | sort -r | while read -r at; do
		umount -l "$at"
	done
}

# Debootstrap does not configure cloud-init, so that is installed from inside.
image() {
	! lxc image info "juju/$release" >/dev/null 2>&1 || return 0
	say "making an image of Debian $release, which takes some minutes"
	work=$home/image
	root=$work/rootfs
	unmount "$work" # an interrupted debootstrap leaves /proc there
	rm -rf --one-file-system "$work"
	mkdir -p "$work"
	include=systemd-sysv,dbus,udev,ifupdown,isc-dhcp-client,netbase,iproute2
	include=$include,openssh-server,python3-minimal,ca-certificates,sudo
	debootstrap --variant=minbase --include="$include" "$release" "$root" "$mirror" >"$work/log" 2>&1 ||
		{ tail -n 20 "$work/log" >&2; exit 1; }
	cp /etc/resolv.conf "$root/etc/resolv.conf"
	{ chroot "$root" apt-get update && chroot "$root" apt-get install -y --no-install-recommends cloud-init; } \
		>"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
	echo 'datasource_list: [LXD, NoCloud]' >"$root/etc/cloud/cloud.cfg.d/90_dpkg.cfg"
	for s in cloud-init-local cloud-init cloud-config cloud-final; do
		chroot "$root" systemctl enable "$s" >/dev/null 2>&1 || true
	done
	printf 'auto lo\niface lo inet loopback\nauto eth0\niface eth0 inet dhcp\n' >"$root/etc/network/interfaces"
	rm -f "$root/etc/resolv.conf" "$root"/var/cache/apt/archives/*.deb "$root"/etc/ssh/ssh_host_*
	: >"$root/etc/machine-id"
	cat >"$work/metadata.yaml" <<-METADATA
		architecture: $(uname -m)
		creation_date: $(date +%s)
		properties: {os: debian, release: $release, description: "Debian 12 for juju's tests"}
	METADATA
	tar -C "$work" -cf "$work/image.tar" --numeric-owner --xattrs metadata.yaml rootfs
	lxc image import "$work/image.tar" --alias "juju/$release" >&2
	rm -rf "$work"
}

up() {
	mkdir -p "$home"
	exec 9>"$home/lock" # of two at once, one waits
	flock -w 1200 9
	packages
	allow
	start
	configure
	image
	echo "LXD_DIR=$LXD_DIR"
}

down() {
	if answers; then
		for project in $(lxc project list -f csv | cut -d, -f1 | sed 's/ (current)//'); do
			for i in $(lxc list --project "$project" -f csv -c n); do
				lxc delete --project "$project" -f "$i"
			done
		done
		lxc profile device remove default eth0 >/dev/null 2>&1 || true
		lxc network delete "$bridge" >/dev/null 2>&1 || true
		lxd shutdown --timeout 60 || true
	fi
	if [ -f "$home/pid" ] && tr '\0' ' ' <"/proc/$(cat "$home/pid")/cmdline" 2>/dev/null | grep -q "$home/lxd.log"; then
		kill "$(cat "$home/pid")"
	fi
	for way in -i -o; do
		iptables -D FORWARD "$way" "$bridge" -j ACCEPT 2>/dev/null || true
	done
	ip link delete "$bridge" 2>/dev/null || true
	[ ! -e "$home/instances" ] || cat "$home/instances" >"$instances" || true
	unmount "$home"
	rm -rf --one-file-system "$home"
}

[ "$(id -u)" = 0 ] || { say "this needs root"; exit 1; }
case ${1-} in
up | down) "$1" ;;
*) say "usage: lxd.sh up|down"; exit 2 ;;
esac
