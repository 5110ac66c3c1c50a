package install

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"juju/agent/host/atomicfile"
	"juju/provider"
	"juju/state/entity"
)

//go:embed manual.sh
var manual string

// ManualScript returns a POSIX shell script that makes a user's host a machine, with config as the
// agent's configuration. It must run as root on a host that is not yet a machine, and has the same
// requirements as Script. Without systemd, the agent binary supervises the agent, and is started at boot
// by sysvinit or cron; without those, the script prints "WARNING ...". If it fails, it restores the host.
//
// The script contains the agent's password. It does nothing unless the shell has read it completely.
func ManualScript(machine string, config []byte, tools provider.Tools) (string, error) {
	script, err := Script(machine, tools)
	if err != nil {
		return "", err
	}
	return assign("root", Root) + assign("agent", AgentDir(machine)) + assign("config", string(config)) +
		assign("unit", ServiceName(machine)) + assign("removal", Removal(machine)) +
		"machine() {\n" + script + "}\n" + manual, nil
}

// ServiceName returns the name of a machine agent's service.
func ServiceName(machine string) string { return "jujud-" + entity.MachineTag(machine).String() }

// FirewallTable returns the name of the nftables table (family inet) with the rules of a manual machine's agent.
func FirewallTable(machine string) string { return "juju-" + entity.MachineTag(machine).String() }

// The directories of systemd and, without it, of sysvinit and cron.
const (
	systemd = "/etc/systemd/system"
	wanted  = systemd + "/multi-user.target.wants"
	initd   = "/etc/init.d"
	crond   = "/etc/cron.d"
)

// jujuExec and jujuRun are the links that the script creates, unless the files exist.
const (
	jujuExec = "/usr/bin/juju-exec"
	jujuRun  = "/usr/bin/juju-run"
)

// LinkJujuExec creates the link juju-exec in bin, to that in tools, on a machine that an earlier release has installed: it
// has the link juju-run.
func LinkJujuExec(bin, tools string) error {
	if to, err := os.Readlink(filepath.Join(bin, "juju-run")); err != nil || to != filepath.Join(tools, "juju-run") {
		return nil
	}
	err := os.Symlink(filepath.Join(tools, "juju-exec"), filepath.Join(bin, "juju-exec"))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("charms do not find juju-exec: %w", err)
	}
	return nil
}

// ServiceFile returns the path of a machine agent's service file.
func ServiceFile(machine string) string { return path.Join(systemd, ServiceName(machine)+".service") }

// RemovalService returns the service that replaces a manual machine's agent service when the machine is
// destroyed. It kills the remaining processes of the agent's service, and removes everything that
// ManualScript created and finally itself. Until it completes, systemd restarts it, also after a reboot.
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

// Removal returns the shell commands that remove what ManualScript creates, and the agent's nftables table.
// The files that restart them after an interruption are removed last. The text contains no quotes, and no
// characters that are special to systemd or cron.
func Removal(machine string) string {
	file, name := ServiceFile(machine), ServiceName(machine)
	table := "table inet " + FirewallTable(machine)
	return strings.Join([]string{
		// The agent has stopped, so nothing recreates the table. If nft can't list it, there is none.
		"{ ! command -v nft >/dev/null || ! nft list " + table + " >/dev/null 2>&1 || nft delete " + table + "; }",
		"rm -rf " + Root,
		// The links are dangling by now. A concurrent removal may already have deleted them.
		"{ [ ! -d " + LogDir + " ] || find " + LogDir + " -ignore_readdir_race -xtype l -exec rm -f {} +; }",
		"{ [ ! -d " + LogDir + " ] || rmdir --ignore-fail-on-non-empty " + LogDir + " || [ ! -d " + LogDir + " ]; }",
		"{ [ -e " + jujuRun + " ] || rm -f " + jujuRun + "; }",
		"{ [ -e " + jujuExec + " ] || rm -f " + jujuExec + "; }",
		"sync",
		"{ [ ! -e " + path.Join(initd, name) + " ] || update-rc.d -f " + name + " remove; }",
		"rm -f " + path.Join(initd, name) + " " + path.Join(crond, name) + " " + atomicfile.Drafts(file) + " " +
			path.Join(wanted, name+".service") + " " + file,
		"{ [ ! -d /run/systemd/system ] || systemctl daemon-reload; }",
	}, " && ")
}
