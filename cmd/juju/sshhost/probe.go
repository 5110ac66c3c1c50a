package sshhost

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"juju/state/entity"
)

//go:embed probe.sh
var probe string

// Facts describe a host.
type Facts struct {
	Series   string
	Hardware entity.Hardware
}

// Probe inspects the host, and rejects one that can't become a machine. It changes nothing.
func (c *Conn) Probe(ctx context.Context) (Facts, error) {
	out, err := c.run(ctx, probeTimeout, probe)
	var failed *failure
	if errors.As(err, &failed) && !strings.HasPrefix(out, "root\n") {
		return Facts{}, entity.WithHint(entity.Errorf(entity.Unauthorized, "cannot become root on %s as user %q: %w", c.host,
			c.host.User, err), "Connect as root, or let the user run sudo without a password.")
	}
	if err != nil {
		return Facts{}, fmt.Errorf("cannot inspect %s: %w", c.host, err)
	}
	facts, err := readFacts(out)
	if err != nil {
		return facts, fmt.Errorf("cannot add %s as a machine: %w", c.host, err)
	}
	return facts, nil
}

// architectures maps uname's names to Go's.
var architectures = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386",
}

func readFacts(out string) (f Facts, err error) {
	words := map[string]string{}
	for line := range strings.Lines(out) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if _, before := words[key]; ok && !before { // the system's own output comes last
			words[key] = strings.Trim(value, `"'`)
		}
	}
	if used := words["used"]; used != "" {
		return f, entity.WithHint(entity.Errorf(entity.AlreadyExists, "it is already a machine of a model: it has %q", used),
			"Destroy that machine first. If its controller is gone, run on the host as root: "+
				"/var/lib/juju/tools/machine-*/jujud uninstall /var/lib/juju/agents/machine-*")
	}
	f.Series = words["VERSION_CODENAME"]
	if entity.BaseOf(f.Series).Channel == "" {
		return f, entity.Errorf(entity.NotSupported, "its series is unknown: it identifies as %q",
			orElse(words["PRETTY_NAME"], words["ID"]))
	}
	f.Hardware.Arch = orElse(architectures[words["arch"]], words["arch"])
	for key, to := range map[string]*uint64{"cores": &f.Hardware.Cores, "mem": &f.Hardware.Mem,
		"root-disk": &f.Hardware.RootDisk} {
		if *to, err = strconv.ParseUint(words[key], 10, 62); err != nil {
			return f, entity.Errorf(entity.Invalid, "it does not report its %s", key)
		}
	}
	f.Hardware.Mem >>= 10
	f.Hardware.RootDisk >>= 10
	return f, nil
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Tell runs the script that tells the agents on the host where the controller is.
func (c *Conn) Tell(ctx context.Context, script string) error {
	if _, err := c.run(ctx, probeTimeout, script); err != nil {
		return fmt.Errorf("cannot tell the agents on %s where the controller is: %w", c.host, err)
	}
	return nil
}

// Install runs the script that installs an agent on the host, and returns its warnings. If the script fails, it has
// undone its changes, unless the error says otherwise.
func (c *Conn) Install(ctx context.Context, script string) (warnings []string, err error) {
	out, err := c.run(ctx, installTimeout, script)
	if err != nil {
		return nil, fmt.Errorf("cannot install an agent on %s: %w", c.host, err)
	}
	for line := range strings.Lines(out) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "WARNING "); ok {
			warnings = append(warnings, text)
		}
	}
	return warnings, nil
}
