// Package install makes the scripts that turn a Linux system into a machine: they install the
// agent binaries below /var/lib/juju, and a systemd service that runs the machine's agent.
//
// Cloud-init runs Script if it is an instance's user data. It holds no secrets: the agent's
// configuration is put in its place by other means, before the script runs. On the host of a manual
// machine, ManualScript runs it, and RemovalService takes everything away again.
package install
