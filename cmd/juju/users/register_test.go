package users_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clitest"
	"juju/cmd/juju/clitest/realtest"
	"juju/cmd/juju/store"
)

// newcomer is a user who knows no controller.
func newcomer(t *testing.T) *clitest.User {
	u := newUser(t)
	u.Note(func(c *store.Contents) { c.Controllers, c.Current = map[string]*store.Controller{}, "" })
	return u
}

// types has a user type a line, and an answer to each of its questions.
func types(u *clitest.User, line string, answers ...string) {
	u.Session.Stdin = strings.NewReader(strings.Join(append(answers, ""), "\n"))
	u.Types(strings.Fields(line)...)
}

// A user who was added registers with a password, logs out, and logs in again. The string works once.
func TestRegisterAndLogIn(t *testing.T) {
	t.Parallel()
	admin := realtest.NewUser(t, newUser(t))
	admin.Note(func(c *store.Contents) {
		c.Controllers["prod"].Addresses, c.Controllers["prod"].CACert = admin.Info.Addresses, admin.Info.CACert
	})
	admin.Session.ConnectController = func(ctx context.Context, _ cli.Target) (io.Closer, error) {
		return client.Dial(ctx, admin.Info)
	}
	_, token, _ := strings.Cut(admin.Runs("add-user", "bob"), "juju register ")
	token, _, _ = strings.Cut(token, "\n")

	bob := newcomer(t)
	const asks = "Enter a new password: \nConfirm password: \nEnter a name for this controller [prod]: \n"
	types(bob, "register "+token, "one", "two")
	bob.Sees(1, "", "Enter a new password: \nConfirm password: \nERROR passwords do not match\n")
	types(bob, "register "+token, "secret", "secret", "a/b")
	bob.Sees(1, "", asks+"ERROR \"a/b\" is not a valid controller name: it may contain only letters, digits, hyphens and dots\n")
	bob.Note(func(c *store.Contents) { c.Controllers["mine"] = &store.Controller{User: "bob"} })
	types(bob, "register "+token, "secret", "secret", "mine")
	bob.Sees(1, "", asks+"ERROR controller \"mine\" already exists\nChoose another name, or replace it: juju register --replace\n")
	types(bob, "register", token, "secret", "secret", "")
	bob.Sees(0, "", "Registration string: \n"+asks+"Initial password successfully set for bob.\n\n"+
		"Welcome, bob. You are now logged into \"prod\".\n\n"+
		"There are no models available. You can add models with\n\"juju add-model\", or you can ask an administrator or owner\n"+
		"of a model to grant access to that model with \"juju grant\".\n")
	known := func() (*store.Controller, string) {
		t.Helper()
		c, err := bob.Store().Read()
		if err != nil {
			t.Fatal(err)
		}
		return c.Controllers["prod"], c.Current
	}
	c, current := known()
	if current != "prod" || c.User != "bob" || c.Password != "secret" || c.UUID == "" || c.Generated || c.Model != "" {
		t.Errorf("kept are %q and %+v", current, c)
	}
	types(bob, "register "+token)
	if said := bob.Err.String(); bob.Code != 1 || !strings.Contains(said, `already been registered on this client as "prod"`) {
		t.Errorf("exit code %d, %s", bob.Code, said)
	}
	eve := newUser(t) // who has another controller of this name
	eve.Note(func(c *store.Contents) { c.Controllers["prod"].CACert = "other" })
	types(eve, "register "+token, "x", "x", "second")
	if said := eve.Err.String(); eve.Code != 1 || !strings.Contains(said, "Enter a name for this controller: \n") || !strings.Contains(said, "The string may have been used or replaced. "+
		"To get a new one, a superuser runs: juju change-user-password bob --reset\n") {
		t.Errorf("exit code %d, %s", eve.Code, said)
	}

	types(bob, "login")
	bob.Sees(0, "", "Welcome, bob. You are already logged into \"prod\".\n")
	types(bob, "logout")
	bob.Sees(0, "", "Logged out. You are still logged into 1 controller.\n")
	types(bob, "login", "b b")
	if said := bob.Err.String(); bob.Code != 1 || !strings.HasPrefix(said, "username: \nERROR invalid user name \"b b\"\n") {
		t.Errorf("exit code %d, %s", bob.Code, said)
	}
	const password = "please enter password for bob on prod: \n"
	types(bob, "login -u bob", "wrong")
	if said := bob.Err.String(); bob.Code != 1 || !strings.HasPrefix(said, password+"ERROR ") {
		t.Errorf("exit code %d, %s", bob.Code, said)
	}
	if c, _ := known(); c.User != "" || c.Password != "" {
		t.Errorf("after a failed login, kept is %+v", c)
	}
	grant := func() {
		t.Helper()
		if err := admin.Real.GrantModel(t.Context(), admin.State.UUID(), "bob", "read", ""); err != nil {
			t.Fatal(err)
		}
	}
	grant()
	types(bob, "login", "bob", "secret")
	bob.Sees(0, "", "username: \n"+password+"\nWelcome, bob. You are now logged into \"prod\".\n\nCurrent model set to \"admin/default\".\n")
	if c, _ := known(); c.Model != "admin/default" || c.Models["admin/default"] != admin.State.UUID() || c.Password != "secret" {
		t.Errorf("kept is %+v", c)
	}
	admin.NewModel("another")
	grant()
	types(bob, "logout")
	types(bob, "login -u bob", "secret")
	bob.Sees(0, "", password+"\nWelcome, bob. You are now logged into \"prod\".\n\n"+
		"There are 2 models available. Use \"juju switch\" to select\none of them:\n"+
		"  - juju switch admin/another\n  - juju switch admin/default\n")
	if c, _ := known(); c.Model != "" {
		t.Errorf("of two models, %q is selected", c.Model)
	}
	types(bob, "login -u eve")
	bob.Sees(1, "", "ERROR already logged in as bob\nRun \"juju logout\" first before attempting to log in as a different user.\n")

	// Somebody else has changed the password.
	if _, err := admin.Real.SetUserPassword(t.Context(), "bob", "other"); err != nil {
		t.Fatal(err)
	}
	types(bob, "login", "other")
	if c, _ := known(); bob.Code != 0 || c.Password != "other" || !strings.HasPrefix(bob.Err.String(), password+"\nWelcome") {
		t.Errorf("exit code %d, %s", bob.Code, bob.Err.String())
	}
}

// Who logs out loses a generated password only with --force, and hears where a login is left.
func TestLogoutOfOneOfSeveral(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) {
		c.Controllers["prod"].Generated = true
		for _, name := range []string{"b", "c", "d"} {
			c.Controllers[name] = &store.Controller{User: "bob"}
		}
		c.Controllers["d"].User = ""
	})
	u.Types("logout", "--force")
	u.Sees(0, "", "Logged out. You are still logged into 2 controllers.\n")
	u.Types("logout", "-c", "b")
	u.Sees(0, "", "Logged out. You are still logged into 1 controller.\n")
	contents, err := u.Store().Read()
	if err != nil {
		t.Fatal(err)
	}
	for name, user := range map[string]string{"prod": "", "b": "", "c": "bob", "d": ""} {
		if c := contents.Controllers[name]; c.User != user || c.Generated {
			t.Errorf("%s: %+v", name, c)
		}
	}
	u.Types("login", "-u", "b b")
	if u.Code != 2 || !strings.HasPrefix(u.Err.String(), "ERROR invalid user name \"b b\"\n") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
	u.Types("login", "-c", "prod")
	if u.Code != 1 || !strings.HasPrefix(u.Err.String(), "username: \nERROR invalid user name \"\"\n") {
		t.Errorf("exit code %d, %s", u.Code, u.Err.String())
	}
}

// With --replace, a controller that is known by the same name, or by another, makes room for the one that is registered. One that
// this client has bootstrapped does not.
func TestRegisterReplaces(t *testing.T) {
	t.Parallel()
	admin := realtest.NewUser(t, newUser(t))
	admin.Note(func(c *store.Contents) {
		c.Controllers["prod"].Addresses, c.Controllers["prod"].CACert = admin.Info.Addresses, admin.Info.CACert
	})
	admin.Session.ConnectController = func(ctx context.Context, _ cli.Target) (io.Closer, error) {
		return client.Dial(ctx, admin.Info)
	}
	_, token, _ := strings.Cut(admin.Runs("add-user", "bob"), "juju register ")
	token, _, _ = strings.Cut(token, "\n")
	bob := newcomer(t)
	bob.Note(func(c *store.Contents) {
		c.Controllers["own"] = &store.Controller{CACert: "mine", Cloud: "local"}
		c.Controllers["prod"] = &store.Controller{CACert: "other"}
		c.Controllers["alias"] = &store.Controller{CACert: admin.Info.CACert, User: "old"}
	})
	types(bob, "register "+token)
	if said := bob.Err.String(); bob.Code != 1 || !strings.Contains(said, "To replace it: juju register --replace") {
		t.Errorf("exit code %d, %s", bob.Code, said)
	}
	types(bob, "register --replace "+token, "secret", "secret", "own")
	if said := bob.Err.String(); bob.Code != 1 || !strings.Contains(said, "controller \"own\" was bootstrapped by this client, and would be lost") {
		t.Errorf("exit code %d, %s", bob.Code, said)
	}
	types(bob, "register --replace "+token, "secret", "secret", "")
	if bob.Code != 0 {
		t.Errorf("exit code %d, %s", bob.Code, bob.Err.String())
	}
	c, err := bob.Store().Read()
	if err != nil {
		t.Fatal(err)
	}
	if c.Current != "prod" || len(c.Controllers) != 2 || c.Controllers["own"] == nil || c.Controllers["prod"].CACert != admin.Info.CACert ||
		c.Controllers["prod"].User != "bob" {
		t.Errorf("it knows %+v", c)
	}
}
