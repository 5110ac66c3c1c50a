package main

import (
	"path/filepath"
	"strings"
	"testing"

	"juju/cmd/juju/clitest"
)

// The hint of an invalid name says what a valid name is, and no error mentions Go packages.
func TestInvalidNames(t *testing.T) {
	t.Parallel()
	charms := func(meta string) string { return clitest.CharmDir(t, meta) }
	for _, test := range []struct {
		want string // the error
		help string // what the next line begins with
		args []string
	}{
		{`invalid service name "Web"`, "A service name has ", []string{"add-unit", "Web"}},
		{`invalid service name "web-1"`, "A service name has ", []string{"destroy-service", "web-1"}},
		{`invalid service name "W"`, "A service name has ",
			[]string{"deploy", charms("name: web\nsummary: s\ndescription: d\n"), "W"}},
		{`invalid unit name "web"`, "A unit name is ", []string{"destroy-unit", "web"}},
		{`invalid machine id "01"`, "A machine id is ", []string{"destroy-machine", "01"}},
		{`invalid machine id "x"`, "A machine id is ", []string{"retry-provisioning", "x"}},
		{`invalid endpoint "web:"`, "An endpoint is a service", []string{"add-relation", "web:", "db"}},
		{`invalid user name "-"`, "A user name has ", []string{"add-user", "--", "-"}},
		{`invalid user name "b b"`, "A user name has ", []string{"login", "-u", "b b"}},
		{`"A_b" is not a valid name: model names may only contain lowercase letters, digits and hyphens`, "A model name begins ",
			[]string{"add-model", "A_b"}},
		{`invalid series "X"`, "A series name has ", []string{"add-machine", "--series", "X"}},
		{`invalid --to parameter "@"`, "Specify a machine, ", []string{"add-unit", "web", "--to", "@"}},
		{`unknown constraint "memory"`, "The constraints there are: ", []string{"set-constraints", "web", "memory=2G"}},
		{`invalid number of units "x"`, "Specify 0 or a positive whole number", []string{"set-min-units", "web", "x"}},
		{`invalid option name "a=b"`, "Specify only names", []string{"unset", "web", "a=b"}},
		{`invalid value "two" for option --num-units: expected a whole number`, "For usage: ",
			[]string{"add-unit", "web", "-n", "two"}},
		{`invalid value "soon" for option --timeout: expected a duration such as 30s, 5m or 2h`, "For usage: ",
			[]string{"wait-for", "web", "--timeout", "soon"}},
		{`invalid value "x" for option --force: expected true or false`, "For usage: ",
			[]string{"destroy-unit", "web/0", "--force=x"}},
		{`metadata.yaml:1: name: invalid charm name "Web"`, "A name has ",
			[]string{"deploy", charms("name: Web\nsummary: s\ndescription: d\n")}},
		{`metadata.yaml:5: provides.d b: invalid relation name "d b"`, "The name of a relation has ",
			[]string{"deploy", charms("name: web\nsummary: s\ndescription: d\nprovides:\n  d b: x\n")}},
	} {
		u := newUser(t)
		u.Types(test.args...)
		lines := strings.Split(u.Err.String(), "\n")
		if u.Code == 0 || !strings.HasSuffix(lines[0], test.want) || len(lines) < 2 ||
			!strings.HasPrefix(lines[1], test.help) {
			t.Errorf("juju %s: exit code %d, %s", strings.Join(test.args, " "), u.Code, u.Err.String())
		}
		u.Asked()
	}
	// The error about a file in an archive names the archive.
	u := newUser(t)
	file := filepath.Join(t.TempDir(), "web.zip")
	clitest.Write(t, file, "PK")
	u.Types("deploy", file)
	want := "ERROR cannot read charm \"" + file + "\": zip: not a valid zip file\n"
	if got := u.Err.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}
