# What a host has, without what changes by itself: logs, caches, /tmp, /run, workers of udev, and the state of systemd's
# timers and of its random seed. A process in brackets is one of this listing that has just ended.
lxc exec $1 -- sh -c '
	find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/tmp \
		-o -path /var/cache -o -path /var/log/journal -o -path "/var/log/*" -type f \
		-o -path /var/lib/systemd -o -path /var/lib/apt -o -path /var/lib/dhcp \) -prune \
		-o -printf "%p %y %m %u %g %l\n" | sort
	find /etc /root /opt /usr/local -xdev -type f -exec sha256sum {} + | sort
	getent passwd
	getent group
	systemctl list-unit-files --no-legend --no-pager | sort
	systemctl list-units --type=service --state=running --plain --no-legend --no-pager | cut -d" " -f1 | sort
	! command -v nft >/dev/null || nft list ruleset
	ip rule
	ss -Hlntu | awk "{ print \$1, \$5 }" | sort
	ps -eo user,args --no-headers | grep -v -e " ps -eo" -e "sort$" -e " sh -c" -e "grep -v" -e "cut -d" -e "sshd: root" -e udev-worker \
		-e " \[.*\]\$" |
		sort' >$WORK/$2
