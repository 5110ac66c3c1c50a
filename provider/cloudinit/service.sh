
# Has systemd run the machine agent whose configuration is in $agent, as service $unit.
if [ ! -f "$agent/agent.conf" ]; then
	say "there is no $agent/agent.conf"
	exit 1
fi
if [ ! -d /run/systemd/system ]; then
	say "this system does not run systemd"
	exit 1
fi
mkdir -p /var/log/juju
ln -sfn "$agent/log" "/var/log/juju/${agent##*/}.log"
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
