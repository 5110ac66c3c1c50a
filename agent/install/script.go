package install

import (
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"net/url"
	"path"
	"strings"

	"juju/provider"
	"juju/state/entity"
	"juju/state/entity/shell"
)

// Root is the directory of all agent files on a machine.
const Root = entity.DataDir

// Addresses is the name of a file in an agent's directory with addresses of the API, one a line. Whoever has moved a
// controller writes it, for agents that cannot reach the controller at the addresses that they know.
const Addresses = "addresses"

// TellScript returns a POSIX shell script that writes the addresses of the API into the directories of all agents on a
// machine. It must run as root.
func TellScript(addresses []string) string {
	return "set -eu\numask 077\n" + assign("addresses", strings.Join(addresses, "\n")) + "for dir in " +
		path.Join(Root, "agents") +
		"/*/; do\n\tprintf '%s\\n' \"$addresses\" >\"$dir/" + Addresses + "\"\ndone\n"
}

// LogDir is the directory on a machine with links to the logs of its agents.
const LogDir = "/var/log/juju"

var (
	//go:embed fetch.sh
	fetch string
	//go:embed service.sh
	service string
)

// AgentDir returns the directory of a machine's ("0/lxd/1") agent. It must contain agent.conf before
// the script runs.
func AgentDir(machine string) string {
	return path.Join(Root, "agents", entity.MachineTag(machine).String())
}

// Script returns a POSIX shell script that downloads and verifies the agent binaries, and installs the
// machine agent as a systemd service. It must run as root, and needs curl, python3 or wget. It can be
// run again after an interruption. The error is Invalid if tools is not valid.
func Script(machine string, tools provider.Tools) (string, error) {
	head, err := variables(path.Join(Root, "tools"), tools)
	if err != nil {
		return "", err
	}
	return "#!/bin/sh\n" + head +
		assign("unit", ServiceName(machine)) +
		assign("agent", AgentDir(machine)) +
		assign("logs", LogDir) + fetch + service, nil
}

// variables returns the shell assignments for fetch.sh. The binaries are installed in a directory below
// dir named after their hash.
func variables(dir string, tools provider.Tools) (string, error) {
	if len(tools.URLs) == 0 {
		return "", entity.Errorf(entity.Invalid, "no URL to download the agent binaries from")
	}
	for _, u := range tools.URLs {
		if parsed, err := url.Parse(u); err != nil || parsed.Host == "" || strings.ContainsAny(u, " \t\n") ||
			parsed.Scheme != "https" && parsed.Scheme != "http" {
			return "", entity.Errorf(entity.Invalid, "invalid URL %q of the agent binaries", u)
		}
	}
	if !entity.IsSHA256(tools.SHA256) {
		return "", entity.Errorf(entity.Invalid, "invalid SHA-256 %q of the agent binaries", tools.SHA256)
	}
	if tools.CACert != "" {
		block, _ := pem.Decode([]byte(tools.CACert))
		if block == nil {
			return "", entity.Errorf(entity.Invalid, "the CA certificate for the agent binaries is not PEM")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", entity.Errorf(entity.Invalid, "invalid CA certificate for the agent binaries: %w", err)
		}
	}
	return assign("tools", path.Join(dir, tools.SHA256[:16])) +
		assign("urls", strings.Join(tools.URLs, " ")) +
		assign("sha256", tools.SHA256) +
		assign("ca_cert", tools.CACert), nil
}

// assign returns a shell assignment.
func assign(name, value string) string {
	return name + "=" + shell.Word(value) + "\n"
}
