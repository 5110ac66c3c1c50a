package install

import (
	_ "embed"
	"path"
	"strings"

	"juju/agent/host/atomicfile"
	"juju/provider"
	"juju/state/entity"
)

//go:embed manual.sh
var manual string

// ManualScript returns a POSIX shell script that makes a host that a user has lent a machine, whose
// agent starts with the configuration config. It needs root, a host that is no machine yet, and what
// Script needs. Where there is no systemd, the agent's program supervises it, and sysvinit or cron
// starts that when the host boots; if there is neither, the script prints "WARNING ...". If it fails,
// it leaves the host as it was.
//
// The script holds the agent's password. It does nothing unless the shell has read all of it.
func ManualScript(machine string, config []byte, tools provider.Tools) (string, error) {
	script, err := Script(machine, tools)
	if err != nil {
		return "", err
	}
	return assign("root", Root) + assign("agent", AgentDir(machine)) + assign("config", string(config)) +
		assign("unit", ServiceName(machine)) + assign("removal", Removal(machine)) +
		"machine() {\n" + script + "}\n" + manual, nil
}

// ServiceName returns the name of the service that runs the agent of a machine.
func ServiceName(machine string) string { return "jujud-" + entity.MachineTag(machine).String() }

// FirewallTable returns the name of the table of nftables (of the family inet) in which the agent of a manual
// machine keeps rules.
func FirewallTable(machine string) string { return "juju-" + entity.MachineTag(machine).String() }

// The directories of systemd, and where there is none, of what starts programs when the host boots.
const (
	systemd = "/etc/systemd/system"
	wanted  = systemd + "/multi-user.target.wants"
	initd   = "/etc/init.d"
	crond   = "/etc/cron.d"
)

// jujuRun is the link that the script makes, unless the host has a program of that name.
const jujuRun = "/usr/bin/juju-run"

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
ExecStart=/bin/sh -c '` + Removal(machine) + `'
Restart=on-failure
RestartSec=3
TimeoutStopSec=20

[Install]
WantedBy=multi-user.target
`
}

// Removal returns the shell commands that remove what ManualScript makes, and the agent's table of rules.
// What starts them again after an interruption goes last. The text has neither quotes nor a character that
// systemd or cron replaces.
func Removal(machine string) string {
	file, name := ServiceFile(machine), ServiceName(machine)
	table := "table inet " + FirewallTable(machine)
	return strings.Join([]string{
		// The agent has ended, so no one makes the table anew. Where nft can list nothing, there is none.
		"{ ! command -v nft >/dev/null || ! nft list " + table + " >/dev/null 2>&1 || nft delete " + table + "; }",
		"rm -rf " + Root,
		// What the links led to is gone. A removal that runs at the same time may be faster.
		"{ [ ! -d " + LogDir + " ] || find " + LogDir + " -ignore_readdir_race -xtype l -exec rm -f {} +; }",
		"{ [ ! -d " + LogDir + " ] || rmdir --ignore-fail-on-non-empty " + LogDir + " || [ ! -d " + LogDir + " ]; }",
		"{ [ -e " + jujuRun + " ] || rm -f " + jujuRun + "; }",
		"sync",
		"{ [ ! -e " + path.Join(initd, name) + " ] || update-rc.d -f " + name + " remove; }",
		"rm -f " + path.Join(initd, name) + " " + path.Join(crond, name) + " " + atomicfile.Drafts(file) + " " +
			path.Join(wanted, name+".service") + " " + file,
		"{ [ ! -d /run/systemd/system ] || systemctl daemon-reload; }",
	}, " && ")
}
