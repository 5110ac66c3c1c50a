package main

import (
	"strings"
	"testing"

	"juju/doc/tools/verify"
)

func TestHelpTool(t *testing.T) {
	verify.Smoke(t)
	t.Parallel()
	u := newUser(t)
	u.Types("help-tool")
	if !strings.Contains(u.Out.String(), "\nrelation-set ") || strings.Count(u.Out.String(), "\n") < 30 {
		t.Errorf("the hook tools are\n%s", u.Out.String())
	}
	u.Types("hook-tool", "relation-set")
	if u.Code != 0 || !strings.HasPrefix(u.Out.String(), "Usage: relation-set [options] <key>=<value>") {
		t.Errorf("exit code %d, %q", u.Code, u.Out.String())
	}
	u.Types("help-tool", "make-coffee")
	u.Sees(1, "", "ERROR unknown hook tool \"make-coffee\"\nTo list hook tools: juju help-tool\n")
}
