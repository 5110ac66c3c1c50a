# Creates a controller in $dir from the binaries in $dir/programs.tar.gz and the parameters in
# $dir/bootstrap.json, and a systemd service for it. Writes jujud's output to $dir/bootstrapped.json,
# and errors to $dir/bootstrap.log.
set -eu
umask 022
exec >"$dir/bootstrap.log" 2>&1
mkdir -p "$dir/tools/controller" /var/log/juju
tar -xz --no-same-owner -C "$dir/tools/controller" -f "$dir/programs.tar.gz"
rm "$dir/programs.tar.gz"
(umask 077 && "$dir/tools/controller/jujud" bootstrap --dir "$dir" <"$dir/bootstrap.json" >"$dir/bootstrapped.json")
rm "$dir/bootstrap.json" # contains a password
ln -sfn "$dir/controller/log" /var/log/juju/controller.log
cat >/etc/systemd/system/jujud-controller.service <<UNIT
[Unit]
Description=juju controller
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=$dir/tools/controller/jujud controller --dir $dir
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
