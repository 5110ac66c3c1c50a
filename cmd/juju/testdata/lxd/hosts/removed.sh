# Returns when the service is gone for good.
lxc exec $1 -- timeout 300 sh -c "while [ -e /etc/systemd/system/jujud-machine-$2.service ] ||
	systemctl is-active -q jujud-machine-$2 || [ -e /var/lib/juju ]; do
	sleep 0.2
done
systemctl is-system-running --wait >/dev/null || true" # a container can be degraded
