// Package cloudinit makes the script that turns a Linux system into a machine: it installs the
// programs of agents below /var/lib/juju, and a systemd service that runs the machine's agent.
//
// Cloud-init runs the script if it is an instance's user data. It holds no secrets: the agent's
// configuration is put in its place by other means, before the script runs. On the host of a manual
// machine, ManualScript runs it, and RemovalService takes everything away again.
package cloudinit
