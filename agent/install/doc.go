// Package install generates the scripts that turn a Linux system into a machine: they install the
// agent binaries below /var/lib/juju, and a systemd service that runs the machine agent.
//
// On instances, cloud-init runs Script as user data. It contains no secrets: the agent's configuration
// is written separately before the script runs. On manual machines, ManualScript runs it, and
// RemovalService uninstalls everything.
package install
