
# Installs the machine agent in $agent as the systemd service $unit. Without systemd, the agent binary supervises it,
# and the boot script runs $removal if the binaries are missing.
if [ ! -f "$agent/agent.conf" ]; then
	say "there is no $agent/agent.conf"
	exit 1
fi
mkdir -p "$logs"
ln -sfn "$agent/log" "$logs/${agent##*/}.log"
# For users and cron jobs. The agent creates the link's target. An existing file is kept.
[ -e /usr/bin/juju-exec ] || ln -sfn "${tools%/*}/${agent##*/}/juju-exec" /usr/bin/juju-exec ||
	say "users do not find juju-exec in their PATH"
[ -e /usr/bin/juju-run ] || ln -sfn "${tools%/*}/${agent##*/}/juju-run" /usr/bin/juju-run ||
	say "users do not find juju-run in their PATH"

# running PROGRAM...: whether one of these programs is running.
running() {
	for comm in /proc/[0-9]*/comm; do
		read -r name <"$comm" || continue
		case " $* " in *" $name "*) return 0 ;; esac
	done 2>/dev/null
	return 1
}

# Like systemd, don't pass on the login user's environment.
supervise="$tools/machine-agent supervise $agent"
supervise="env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $supervise"

# boot: makes the host start the agent at boot, or continue its removal.
boot() {
	read -r first </proc/1/comm
	if [ "$first" = init ] && command -v update-rc.d >/dev/null; then
		cat >"/etc/init.d/$unit" <<INIT
#!/bin/sh
### BEGIN INIT INFO
# Provides:          $unit
# Required-Start:    \$remote_fs \$network
# Required-Stop:
# Default-Start:     2 3 4 5
# Default-Stop:
# Short-Description: juju ${agent##*/}
### END INIT INFO
case \$1 in start) setsid sh -c 'if [ -x $tools/machine-agent ]; then $supervise; else ${removal:-:}; fi' </dev/null >/dev/null 2>&1 & ;; esac
INIT
		chmod 0755 "/etc/init.d/$unit"
		update-rc.d "$unit" defaults >/dev/null
	elif [ -d /etc/cron.d ] && running cron crond; then
		# Cron ignores a file with a command of more than 998 characters, so this is two.
		cat >"/etc/cron.d/$unit" <<CRON
@reboot root [ ! -x $tools/machine-agent ] || $supervise
@reboot root [ -x $tools/machine-agent ] || { ${removal:-:}; }
CRON
	else
		echo "WARNING nothing starts the agent when this host boots: it runs neither systemd nor sysvinit nor cron." \
			"Start it then, as root: $supervise"
	fi
}

if [ ! -d /run/systemd/system ]; then
	boot
	sync
	setsid $supervise </dev/null >>"$agent/log" 2>&1 &
	exit 0
fi
# Unit agents outlive the machine agent, so stopping the service kills only its main process. An agent
# that is no longer needed exits with status 0, and is not restarted.
cat >"/etc/systemd/system/$unit.service" <<UNIT
[Unit]
Description=juju ${agent##*/}
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=$tools/machine-agent $agent
Restart=on-failure
RestartSec=3
KillMode=process
LimitNOFILE=64000
StandardOutput=append:$agent/log
StandardError=inherit

[Install]
WantedBy=multi-user.target
UNIT
systemctl daemon-reload
systemctl enable --quiet "$unit"
# The service may be ordered after cloud-init, which runs this script.
systemctl start --no-block "$unit"
