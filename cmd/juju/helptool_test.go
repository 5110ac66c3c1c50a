package main

import (
	"strings"
	"testing"

	"juju/doc/verify"
)

func TestHelpTool(t *testing.T) {
	verify.Smoke(t)
	t.Parallel()
	u := newUser(t)
	u.types("help-tool")
	if !strings.Contains(u.out.String(), "\nrelation-set ") || strings.Count(u.out.String(), "\n") < 30 {
		t.Errorf("the hook tools are\n%s", u.out.String())
	}
	u.types("hook-tool", "relation-set")
	if u.code != 0 || !strings.HasPrefix(u.out.String(), "Usage: relation-set [options] <key>=<value>") {
		t.Errorf("exit code %d, %q", u.code, u.out.String())
	}
	u.types("help-tool", "make-coffee")
	u.sees(1, "", "ERROR unknown hook tool \"make-coffee\"\nTo list hook tools: juju help-tool\n")
}
