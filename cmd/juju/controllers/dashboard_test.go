package controllers_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/store"
)

// The log-in is for one person: the browser's arguments, which other users of the host can read, don't have it.
func TestDashboardCommand(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) {
		c.Controllers["prod"].Addresses = []string{"192.0.2.1:17070", "192.0.2.2:17070"}
	})
	u.Types("dashboard")
	u.Sees(0, "https://192.0.2.1:17070/dashboard/login#jujulogin_x\n",
		"The dashboard of controller \"prod\". This address logs you in once, until "+clitest.SomeTime.Local().Format(time.TimeOnly)+":\n")
	var argv []string
	u.Session.Exec = func(r cli.Replacement) error {
		argv = r.Argv
		return nil
	}
	u.Types("dashboard", "--browser")
	u.Sees(0, "", "")
	if len(argv) != 2 || argv[0] != "xdg-open" {
		t.Fatalf("it runs %q", argv)
	}
	page, err := os.ReadFile(argv[1])
	if want := `url=https://192.0.2.1:17070/dashboard/login#jujulogin_x"`; err != nil || !strings.Contains(string(page), want) {
		t.Errorf("the page is %s, %v", page, err)
	}
	if info, err := os.Stat(argv[1]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
	u.Session.Exec = func(cli.Replacement) error { return errors.New("not found") }
	u.Types("dashboard", "--browser")
	u.Sees(1, "", "ERROR cannot open the browser: not found\njuju dashboard prints the address, to be opened in any browser\n")
}
