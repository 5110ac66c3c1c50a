echo root
echo "arch=$(uname -m)"
echo "cores=$(getconf _NPROCESSORS_ONLN)"
echo "mem=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' /proc/meminfo)"
echo "root-disk=$(df -Pk / | sed -n '2s/^[^ ]* *\([0-9]*\) .*/\1/p')"
for used in /var/lib/juju/* /etc/systemd/system/jujud-*.service /etc/init.d/jujud-* /etc/cron.d/jujud-*; do
	[ -e "$used" ] && echo "used=$used"
done
cat /etc/os-release 2>/dev/null || cat /usr/lib/os-release
