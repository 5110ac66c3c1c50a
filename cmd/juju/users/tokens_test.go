package users_test

import (
	"fmt"
	"testing"
	"time"

	"juju/cmd/juju/clitest"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Controller.Add("admin", "default")
	expires := clitest.SomeTime.Add(time.Hour).Local().Format(time.DateTime)
	u.Types("create-token", "ci", "--expires", "1h")
	u.Sees(0, "jujutoken_x\n", `Token "ci" is valid until `+expires+". To revoke it: juju revoke-token ci\n")
	u.Types("tokens", "--user", "bob")
	created := clitest.SomeTime.Local().Format(time.DateTime)
	row := "admin/default  " + created + "  " + expires + " (expired)\n"
	u.Sees(0, "Name  Model          Created              Expires\nci    "+row+"old   "+row, "")
	u.Types("tokens", "--user", "nobody")
	u.Sees(0, "", "No tokens to display.\n")
	u.Types("revoke-token", "ci", "--user", "bob")
	u.Sees(0, "", "Token \"ci\" is revoked.\n")
	if got, want := fmt.Sprint(u.Controller.Calls[len(u.Controller.Calls)-3:]), `[Tokens "bob" Tokens "nobody" RevokeToken "bob" "ci"]`; got != want {
		t.Errorf("they ask %s, want %s", got, want)
	}
	u.Types("create-token")
	u.Sees(2, "", "ERROR give the name of one token\nFor usage: juju help create-token\n")
	u.Types("create-token", "ci", "--expires", "0s")
	u.Sees(2, "", "ERROR --expires must be positive, got 0s\nFor usage: juju help create-token\n")
	u.Types("revoke-token", "A")
	u.Sees(2, "", "ERROR \"A\" is not a valid name: token names may only contain lowercase letters, digits and hyphens\n"+
		"A token name begins with a letter or digit, and has at most 200 characters: grafana, ci-1\n")
}
