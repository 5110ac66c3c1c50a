package cloudinit

import (
	_ "embed"
	"path"
	"strings"

	"juju/provider"
	"juju/state/entity"
)

//go:embed manual.sh
var manual string

// ManualScript returns a POSIX shell script that makes a host that a user has lent a machine, whose
// agent starts with the configuration config. It needs root, a host that is no machine yet, systemd,
// and what Script needs. If it fails, it leaves the host as it was.
//
// The script holds the agent's password. It does nothing unless the shell has read all of it.
func ManualScript(machine string, config []byte, tools provider.Tools) (string, error) {
	script, err := Script(machine, tools)
	if err != nil {
		return "", err
	}
	return assign("root", Root) + assign("agent", AgentDir(machine)) + assign("config", string(config)) +
		assign("unit", ServiceName(machine)) + assign("removal", removal(machine)) +
		"machine() {\n" + script + "}\n" + manual, nil
}

// ServiceName returns the name of the service that runs the agent of a machine.
func ServiceName(machine string) string { return "jujud-" + entity.MachineTag(machine).String() }

// The directories of systemd.
const (
	systemd = "/etc/systemd/system"
	wanted  = systemd + "/multi-user.target.wants"
)

// ServiceFile returns the file of the service that runs the agent of a machine.
func ServiceFile(machine string) string { return path.Join(systemd, ServiceName(machine)+".service") }

// RemovalService returns what replaces the service of a manual machine's agent when the machine is
// destroyed: a service that ends everything which the agent's service has left running, removes all
// that ManualScript has made, and at last itself. Until it is through, systemd starts it again, after
// it was killed, and after a reboot.
func RemovalService(machine string) string {
	return `[Unit]
Description=removal of juju ` + entity.MachineTag(machine).String() + `
StartLimitIntervalSec=0

[Service]
ExecStart=/bin/sh -c '` + removal(machine) + `'
Restart=on-failure
RestartSec=3
TimeoutStopSec=20

[Install]
WantedBy=multi-user.target
`
}

// removal returns the shell commands that remove what ManualScript makes. The service's file goes
// last, since what is still there when the commands are interrupted is removed by that service. The
// text has neither quotes nor a character that systemd or the shell replaces.
func removal(machine string) string {
	file, name := ServiceFile(machine), ServiceName(machine)+".service"
	return strings.Join([]string{
		"rm -rf " + Root,
		"rm -f " + path.Join("/var/log/juju", entity.MachineTag(machine).String()+".log"),
		"{ [ ! -d /var/log/juju ] || rmdir --ignore-fail-on-non-empty /var/log/juju; }",
		"sync",
		"rm -f " + file + ".new " + path.Join(wanted, name) + " " + file,
		"systemctl daemon-reload",
	}, " && ")
}
