package main

import (
	"strings"
	"testing"

	"github.com/juju/loggo"

	"juju/agent"
	"juju/apiserver/display"
	"juju/cmd/juju/clitest"
)

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	clitest.CheckUsageErrors(t, newUser, map[string]string{
		"frob":                      `unrecognized command: juju frob`,
		"help frob":                 `unrecognized command: juju frob`,
		"help-tool status-get more": `unrecognized args: ["more"]`,
		"version now":               `unrecognized args: ["now"]`,
		"version --format x":        `unknown format "x"`,
	})
}

func TestUnknownCommandSuggestions(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("statu")
	u.Sees(2, "", "ERROR unrecognized command: juju statu\nDid you mean: status, stat or status-history\n"+
		"To list all commands: juju help\n")
	u.Types("xyzzy")
	u.Sees(2, "", "ERROR unrecognized command: juju xyzzy\nTo list all commands: juju help\n")
}

// juju alone prints where to begin; help lists all commands, and fits into a terminal.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types()
	alone := u.Out.String()
	if n := strings.Count(alone, "\n"); u.Code != 0 || n > 22 || strings.Count(alone, "\n  ") != 12 {
		t.Errorf("exit code %d, %d lines:\n%s", u.Code, n, alone)
	}
	u.Session.OutTerminal = true
	u.Session.Width = func() int { return 64 }
	u.Types("help", "deploy")
	help, _, _ := strings.Cut(u.Out.String(), "\nExamples:")
	for line := range strings.SplitSeq(help, "\n") {
		if display.Width(line) > 64 && !strings.HasPrefix(line, "Usage:") {
			t.Errorf("does not fit: %q", line)
		}
	}
	if !strings.Contains(help, "\n                             ") {
		t.Errorf("the help of deploy is\n%s", help)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Types("version")
	version := u.Out.String()
	if u.Code != 0 || !strings.Contains(version, ".") || strings.Count(version, "\n") != 1 {
		t.Errorf("exit code %d, %q", u.Code, version)
	}
	u.Types("--version")
	u.Sees(0, version, "")
	u.Session.OutTerminal = true // where nobody parses it
	u.Types("version")
	u.Sees(0, version+"release "+agent.Version+strings.TrimSuffix(" ("+agent.BuiltFrom()+")", " ()")+"\n", "")
	u.Session.OutTerminal = false
	u.Types("version", "--all")
	if u.Code != 0 || !strings.HasPrefix(u.Out.String(), "version: "+version+"release: "+agent.Version+"\n") {
		t.Errorf("exit code %d, %q", u.Code, u.Out.String())
	}
	u.Types("version", "--all", "--format", "json")
	if u.Code != 0 || !strings.HasPrefix(u.Out.String(), `{"version":"`) {
		t.Errorf("exit code %d, %q", u.Code, u.Out.String())
	}
}

func TestDebugFlag(t *testing.T) {
	u := newUser(t)
	u.Types("status", "--debug")
	if u.Code != 0 {
		t.Errorf("exit code %d", u.Code)
	}
	loggo.GetLogger("juju.cmd").Debugf("seen")
	if !strings.HasSuffix(u.Err.String(), "DEBUG juju.cmd seen\n") {
		t.Errorf("logged %q", u.Err.String())
	}
	u.Types("status", "--show-log")
	loggo.GetLogger("juju.cmd").Debugf("not seen")
	loggo.GetLogger("juju.cmd").Infof("seen")
	if !strings.HasSuffix(u.Err.String(), " INFO juju.cmd seen\n") || strings.Contains(u.Err.String(), "not") {
		t.Errorf("logged %q", u.Err.String())
	}
	u.Types("status", "--logging-config", "juju.cmd=TRACE")
	loggo.GetLogger("juju.cmd").Tracef("seen")
	if !strings.HasSuffix(u.Err.String(), " TRACE juju.cmd seen\n") {
		t.Errorf("logged %q", u.Err.String())
	}
	u.Types("status")
	loggo.GetLogger("juju.cmd").Infof("not seen")
	if strings.Contains(u.Err.String(), "seen") {
		t.Errorf("logged %q", u.Err.String())
	}
}
