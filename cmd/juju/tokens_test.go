package main

import (
	"context"
	"fmt"
	"testing"
	"time"

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
