package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func aToken(name string) entity.AccessToken {
	return entity.AccessToken{User: "admin", Name: name, ModelUUID: "u", Model: "admin/default", Created: someTime,
		Expires: someTime.Add(time.Hour)}
}

func (f *fakeModel) CreateToken(_ context.Context, name string, age time.Duration) (string, entity.AccessToken, error) {
	return "jujutoken_x", aToken(name), f.note("CreateToken", name, " ", age)
}

func (f *fakeController) Tokens(_ context.Context, user string) ([]entity.AccessToken, error) {
	f.calls = append(f.calls, fmt.Sprintf("Tokens %q", user))
	if user == "nobody" {
		return nil, f.err
	}
	return []entity.AccessToken{aToken("ci"), aToken("old")}, f.err
}

func (f *fakeController) RevokeToken(_ context.Context, user, name string) error {
	f.calls = append(f.calls, fmt.Sprintf("RevokeToken %q %q", user, name))
	return f.err
}

func (f *fakeController) CreateLogin(context.Context) (string, time.Time, error) {
	f.calls = append(f.calls, "CreateLogin")
	return "jujulogin_x", someTime, f.err
}

// The log-in is for one person: the browser's arguments, which other users of the host can read, don't have it.
func TestDashboardCommand(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.note(func(c *store.Contents) {
		c.Controllers["prod"].Addresses = []string{"192.0.2.1:17070", "192.0.2.2:17070"}
	})
	u.types("dashboard")
	u.sees(0, "https://192.0.2.1:17070/dashboard/login#jujulogin_x\n",
		"The dashboard of controller \"prod\". This address logs you in once, until "+someTime.Local().Format(time.TimeOnly)+":\n")
	var argv []string
	u.session.Exec = func(r cli.Replacement) error {
		argv = r.Argv
		return nil
	}
	u.types("dashboard", "--browser")
	u.sees(0, "", "")
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
	u.session.Exec = func(cli.Replacement) error { return errors.New("not found") }
	u.types("dashboard", "--browser")
	u.sees(1, "", "ERROR cannot open the browser: not found\njuju dashboard prints the address, to be opened in any browser\n")
}

func TestTokens(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.ctrl.add("admin", "default")
	expires := someTime.Add(time.Hour).Local().Format(time.DateTime)
	u.types("create-token", "ci", "--expires", "1h")
	u.sees(0, "jujutoken_x\n", `Token "ci" is valid until `+expires+". To revoke it: juju revoke-token ci\n")
	u.types("tokens", "--user", "bob")
	created := someTime.Local().Format(time.DateTime)
	row := "admin/default  " + created + "  " + expires + " (expired)\n"
	u.sees(0, "Name  Model          Created              Expires\nci    "+row+"old   "+row, "")
	u.types("tokens", "--user", "nobody")
	u.sees(0, "", "No tokens to display.\n")
	u.types("revoke-token", "ci", "--user", "bob")
	u.sees(0, "", "Token \"ci\" is revoked.\n")
	if got, want := fmt.Sprint(u.ctrl.calls[len(u.ctrl.calls)-3:]), `[Tokens "bob" Tokens "nobody" RevokeToken "bob" "ci"]`; got != want {
		t.Errorf("they ask %s, want %s", got, want)
	}
	u.types("create-token")
	u.sees(2, "", "ERROR give the name of one token\nFor usage: juju help create-token\n")
	u.types("create-token", "ci", "--expires", "0s")
	u.sees(2, "", "ERROR --expires must be positive, got 0s\nFor usage: juju help create-token\n")
	u.types("revoke-token", "A")
	u.sees(2, "", "ERROR \"A\" is not a valid name: token names may only contain lowercase letters, digits and hyphens\n"+
		"A token name begins with a letter or digit, and has at most 200 characters: grafana, ci-1\n")
}
