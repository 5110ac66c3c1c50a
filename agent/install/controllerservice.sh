# Installs the controller in $dir, whose binaries are in $tools, as a systemd service.
mkdir -p /var/log/juju
ln -sfn "$dir/controller/log" /var/log/juju/controller.log
cat >/etc/systemd/system/jujud-controller.service <<UNIT
[Unit]
Description=juju controller
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecCondition=/bin/sh -c '[ ! -e $dir/controller/ended ]'
ExecStart=$tools/jujud controller --dir $dir
Restart=always
RestartSec=3
ExecStopPost=/bin/sh -c 'rm -f $dir/controller/killed; case \$\$SERVICE_RESULT-\$\$EXIT_STATUS in \
	oom-kill-*) how="the kernel killed it at \$\$(date -Iseconds), because memory was used up" ;; \
	signal-KILL) how="it was killed (SIGKILL) at \$\$(date -Iseconds)" ;; \
	*) exit ;; esac; echo "\$\$how" >$dir/controller/killed'
LimitNOFILE=64000
StandardOutput=append:$dir/controller/log
StandardError=inherit

[Install]
WantedBy=multi-user.target
UNIT
sync
# The system may still be booting, and systemd not ready.
n=0
until systemctl daemon-reload 2>/dev/null; do
	n=$((n + 1))
	if [ "$n" -ge 300 ]; then
		echo "ERROR systemd does not answer" >&2
		systemctl daemon-reload
	fi
	sleep 0.2
done
systemctl enable --quiet jujud-controller
systemctl start --no-block jujud-controller
