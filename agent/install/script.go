package install

import (
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"fmt"
	"net/url"
	"path"
	"strings"

	"juju/provider"
	"juju/state/entity"
)

// Root is the directory on a machine that holds everything of its agents.
const Root = entity.DataDir

// LogDir is the directory on a machine with links to the logs of its agents.
const LogDir = "/var/log/juju"

var (
	//go:embed fetch.sh
	fetch string
	//go:embed service.sh
	service string
)

// AgentDir returns the directory of the agent of a machine ("0/lxd/1"). The file agent.conf
// must be there before the script runs.
func AgentDir(machine string) string {
	return path.Join(Root, "agents", entity.MachineTag(machine).String())
}

// Script returns a POSIX shell script that downloads the programs, checks them, and has systemd
// run the agent of the machine. It needs root, and curl, python3 or wget. It can be run again
// after an interruption. The error is Invalid if the programs can't be downloaded as tools says.
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

// variables returns the assignments that fetch.sh reads. The programs go into a directory of
// their own below dir, named after their hash.
func variables(dir string, tools provider.Tools) (string, error) {
	if len(tools.URLs) == 0 {
		return "", entity.Errorf(entity.Invalid, "no URL is known for the programs of agents")
	}
	for _, u := range tools.URLs {
		if parsed, err := url.Parse(u); err != nil || parsed.Host == "" || strings.ContainsAny(u, " \t\n") ||
			parsed.Scheme != "https" && parsed.Scheme != "http" {
			return "", entity.Errorf(entity.Invalid, "%q is no URL to download the programs of agents from", u)
		}
	}
	if !entity.IsSHA256(tools.SHA256) {
		return "", entity.Errorf(entity.Invalid, "%q is no SHA-256 of the programs of agents", tools.SHA256)
	}
	if tools.CACert != "" {
		block, _ := pem.Decode([]byte(tools.CACert))
		if block == nil {
			return "", entity.Errorf(entity.Invalid, "the certificate for the programs of agents is not PEM")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "", entity.Errorf(entity.Invalid, "the certificate for the programs of agents: %w", err)
		}
	}
	return assign("tools", path.Join(dir, tools.SHA256[:16])) +
		assign("urls", strings.Join(tools.URLs, " ")) +
		assign("sha256", tools.SHA256) +
		assign("ca_cert", tools.CACert), nil
}

// assign returns a shell assignment of any text.
func assign(name, value string) string {
	return fmt.Sprintf("%s='%s'\n", name, strings.ReplaceAll(value, "'", `'\''`))
}
