# An LXD of Debian 12 in namespaces of its own, for the scripts about LXD: it shares no process, network or file with the
# host, except that it reads the host's programs. What is installed and written goes to a temporary directory.
#
# The script that reads this file is run again in there, with the LXD started: a storage pool "default", a bridge "br0", a
# tiny image "tiny", and the functions below.

lxd_version=5.0.2-5+deb12u6

case ${lxd_stage:-outside} in
outside)
	. "$(dirname "$0")/lib/expect.sh"
	needs unshare apt-get chroot pivot_root
	[ "$(id -u)" = 0 ] || skip "LXD needs root"
	grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || skip "this is not Debian 12"
	script=$(realpath "$0")
	rc=0
	lxd_stage=install tmp=$tmp script=$script unshare -m bash "$(dirname "$script")/lib/lxd.sh" || rc=$?
	exit "$rc"
	;;
install)
	# The root is the host's, and what is written to it goes to $tmp. The host's network is needed until all is installed.
	set -eu
	root=$tmp/new
	mkdir -p "$tmp/upper" "$tmp/work" "$root"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$tmp/upper,workdir=$tmp/work" "$root" 2>/dev/null ||
		{ echo "skipped: overlay filesystems can't be mounted"; exit 77; }
	mount --rbind /dev "$root/dev"
	mount -t proc proc "$root/proc"
	mount -t tmpfs tmpfs "$root/run"
	mount -t tmpfs tmpfs "$root/tmp"
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod +x "$root/usr/sbin/policy-rc.d"
	cp /etc/resolv.conf "$root/run/resolv.conf"
	DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y -q --no-install-recommends --allow-downgrades \
		"lxd=$lxd_version" "lxd-client=$lxd_version" busybox-static curl jq iptables nftables dnsmasq-base iproute2 \
		squashfs-tools uidmap attr >"$tmp/apt" 2>&1 || { echo "skipped: LXD can't be installed: $(tail -n 1 "$tmp/apt")"; exit 77; }
	umount "$root/proc"
	mkdir -p "$root/findings"
	mount --bind "$(dirname "$script")" "$root/findings"
	export lxd_stage=enter root
	exec unshare -m -n -p -i -u -f --kill-child bash "$(dirname "$script")/lib/lxd.sh"
	;;
enter)
	# LXD moves to the mounts of process 1, so the new root must be the root of these.
	set -eu
	mount -t proc proc "$root/proc"
	mount -t sysfs sysfs "$root/sys"
	mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup"
	ip link set lo up
	cd "$root"
	mkdir -p old
	pivot_root . old
	umount -l /old
	export lxd_stage=inside PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 LXD_DIR=/srv/lxd HOME=/root
	exec chroot . bash "/findings/$(basename "$script")"
	;;
inside)
	. /findings/lib/expect.sh
	mkdir -p "$LXD_DIR"
	lxd --group root >/srv/lxd.out 2>&1 &
	timeout 120 lxd waitready --timeout 100 || { tail -n 5 /srv/lxd.out; skip "LXD doesn't start"; }
	# Instances that are left would leave control groups on the host.
	trap 'lxc list -f csv -c n | while read -r n; do lxc delete -f "$n" </dev/null; done; rm -rf "$tmp"' EXIT
	lxc storage create default dir >/dev/null
	lxc network create br0 ipv4.address=10.99.1.1/24 ipv4.nat=false ipv6.address=none >/dev/null
	lxc profile device add default root disk path=/ pool=default >/dev/null
	lxc profile device add default eth0 nic network=br0 name=eth0 >/dev/null
	# Its init only sleeps.
	image=$tmp/image
	mkdir -p "$image"/rootfs/{bin,sbin,proc,sys,dev,etc,tmp,root}
	cp /bin/busybox "$image/rootfs/bin"
	for applet in sh ls cat nproc sleep env pwd mount; do ln -s busybox "$image/rootfs/bin/$applet"; done
	printf '#!/bin/sh\nwhile :; do sleep 1000; done\n' >"$image/rootfs/sbin/init"
	chmod +x "$image/rootfs/sbin/init"
	printf 'architecture: x86_64\ncreation_date: 1\nproperties: {os: tiny}\n' >"$image/metadata.yaml"
	tar -C "$image" -cf "$tmp/image.tar" metadata.yaml rootfs
	lxc image import "$tmp/image.tar" --alias tiny >/dev/null
	;;
esac

# call METHOD PATH [BODY] asks LXD's API and prints what it answers: the status, and the error or what was asked for. Of
# what goes on in the background it waits for the end.
call() {
	local answer operation
	answer=$(curl -s --max-time 60 --unix-socket "$LXD_DIR/unix.socket" -X "$1" "http://lxd$2" ${3:+-d "$3"})
	operation=$(jq -r '.operation // ""' <<<"$answer")
	if [ -z "$operation" ]; then
		jq -c 'if .type == "error" then "\(.error_code) \(.error)" else .metadata end' -r <<<"$answer"
	else
		curl -s --max-time 60 --unix-socket "$LXD_DIR/unix.socket" "http://lxd$operation/wait?timeout=60" |
			jq -r '.metadata | "\(.status)\(if .err == "" then "" else ": " + .err end)\(if .metadata.return == null then "" else ", returned \(.metadata.return)" end)"'
	fi
}
