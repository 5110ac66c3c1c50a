
# Has systemd run the machine agent whose configuration is in $agent, as service $unit. Without systemd the agent's
# program supervises it; $removal is what the host's boot then does if the programs are gone.
if [ ! -f "$agent/agent.conf" ]; then
	say "there is no $agent/agent.conf"
	exit 1
fi
mkdir -p "$logs"
ln -sfn "$agent/log" "$logs/${agent##*/}.log"
# Users and jobs of cron find juju-run there. The agent makes what the link leads to. The host's own stays.
[ -e /usr/bin/juju-run ] || ln -sfn "${tools%/*}/${agent##*/}/juju-run" /usr/bin/juju-run ||
	say "users do not find juju-run in their PATH"

# running PROGRAM...: whether a program of one of these names runs.
running() {
	for comm in /proc/[0-9]*/comm; do
		read -r name <"$comm" || continue
		case " $* " in *" $name "*) return 0 ;; esac
	done 2>/dev/null
	return 1
}

# As systemd does, not with the environment of the user who is logged in.
supervise="$tools/machine-agent supervise $agent"
supervise="env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin $supervise"

# boot: has the host start the agent when it boots, by a file of its own, or go on removing it.
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
# The agents of units outlive that of the machine, so only its own process is ended with it. An
# agent that has nothing left to do exits with status 0, and stays down.
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
# Cloud-init is a part of what the service may be ordered after.
systemctl start --no-block "$unit"
