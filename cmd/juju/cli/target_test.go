package cli_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// Which model a command works with.
func TestTarget(t *testing.T) {
	t.Parallel()
	contents := &store.Contents{Current: "a", Controllers: map[string]*store.Controller{
		"a": {User: "admin", Model: "admin/default"},
		"b": {User: "bob", Model: "eve/shared"},
		"c": {User: "carol"},
		"d": {},
	}}
	for _, test := range []struct {
		flag, model, controller string // -m, JUJU_MODEL, JUJU_CONTROLLER
		want                    string
	}{
		{"", "", "", "a admin/default"},
		{"x", "", "", "a admin/x"},
		{"eve/x", "", "", "a eve/x"},
		{"b:x", "", "", "b bob/x"},
		{"b:", "", "", "b eve/shared"},
		{"", "x", "", "a admin/x"},
		{"", "b:x", "", "b bob/x"},
		{"y", "b:x", "", "a admin/y"},
		{"", "", "b", "b eve/shared"},
		{"x", "", "b", "b bob/x"},
		{"a:x", "", "b", "a admin/x"},
		{"", "a:x", "b", "a admin/x"},
		{"", "", "c", `no model is selected on controller "c"`},
		{"", "", "d", `you are logged out of controller "d"`},
		{"d:x", "", "", `you are logged out of controller "d"`},
		{"z:x", "", "", `controller "z" not found`},
		{"", "", "z", `controller "z" not found`},
	} {
		u := newUser(t)
		u.Env["JUJU_MODEL"], u.Env["JUJU_CONTROLLER"] = test.model, test.controller
		u.Session.Model = test.flag
		got, err := u.Session.Target(contents)
		text := got.Name + " " + got.Model
		if err != nil {
			text = err.Error()
			if entity.Hint(err) == "" || !errors.Is(err, entity.NotFound) && !errors.Is(err, entity.Unauthorized) {
				t.Errorf("%+v: no hint, or another kind: %v", test, err)
			}
		}
		if text != test.want {
			t.Errorf("%+v: %s", test, text)
		}
	}
}

// The controller of a command is that of -c, or of the environment, or the selected one.
func TestControllerTarget(t *testing.T) {
	t.Parallel()
	contents := &store.Contents{Current: "a", Controllers: map[string]*store.Controller{"a": {}, "b": {}, "c": {}}}
	for _, test := range []struct{ flag, controller, model, want string }{
		{"", "", "", "a"}, {"b", "c", "c:x", "b"}, {"", "c", "b:x", "c"}, {"", "", "b:x", "b"}, {"", "", "x", "a"}, {"z", "", "", ""},
	} {
		u := newUser(t)
		u.Session.Controller, u.Env["JUJU_CONTROLLER"], u.Env["JUJU_MODEL"] = test.flag, test.controller, test.model
		if got, err := u.Session.ControllerTarget(contents); got.Name != test.want || (err == nil) != (test.want != "") || got.Model != "" {
			t.Errorf("%+v: %q, %v", test, got.Name, err)
		}
	}
}

// The models of a controller are connected to one after the other; then the user's own is the target again.
func TestEachModel(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	u.Session.Model = "own"
	var connected, done []string
	connect := u.Session.Connect
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		connected = append(connected, u.Session.Model)
		return connect(ctx)
	}
	each := func(fail error) error {
		return cli.EachModel(t.Context(), u.Session, "prod", &store.Controller{}, func(_ context.Context, model string, _ statusAPI) error {
			done = append(done, model)
			return fail
		})
	}
	if err := each(nil); err != nil || !slices.Equal(connected, []string{"prod:admin/default", "prod:eve/shared"}) || !slices.Equal(done, []string{"admin/default", "eve/shared"}) {
		t.Errorf("connected to %q for %q: %v", connected, done, err)
	}
	if err := each(errors.New("no")); err == nil || err.Error() != "no" || len(done) != 3 {
		t.Errorf("after an error it goes on with %q: %v", done, err)
	}
	if u.Session.Model != "own" || u.Model.Opened != u.Model.Closed {
		t.Errorf("the target is %q; %d connections, %d closed", u.Session.Model, u.Model.Opened, u.Model.Closed)
	}
	cmd := &cobra.Command{}
	u.Session.ControllerFlag(cmd)
	if err := cmd.ParseFlags([]string{"-c", "b"}); err != nil || u.Session.Controller != "b" {
		t.Errorf("the controller of -c is %q, %v", u.Session.Controller, err)
	}
}

func TestSplitModel(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flag, arg, model, controller, err string }{
		{"", "default", "default", "", ""}, {"", "b:eve/x", "eve/x", "b", ""}, {"b", "b:x", "x", "b", ""}, {"b", "x", "x", "b", ""},
		{"a", "b:x", "", "a", `--controller a does not match "b:x"`},
	} {
		u := newUser(t)
		u.Session.Controller = test.flag
		model, err := u.Session.SplitModel(test.arg)
		if says(t, test, err, test.err); model != test.model || u.Session.Controller != test.controller {
			t.Errorf("%+v: model %q of %q", test, model, u.Session.Controller)
		}
	}
}

// The list of models that a controller tells is kept, and a selected model that is gone is deselected.
func TestFindModel(t *testing.T) {
	t.Parallel()
	u := newUser(t).WithModels()
	find := func(name string) string {
		t.Helper()
		_, target, err := u.Session.ReadTarget()
		if err != nil {
			t.Fatal(err)
		}
		m, err := u.Session.FindModel(t.Context(), target, u.Controller, name)
		if err != nil {
			return err.Error() + "\n" + entity.Hint(err)
		}
		return m.UUID
	}
	for name, want := range map[string]string{
		"default": "default-uuid", "admin/default": "default-uuid", "eve/shared": "shared-uuid",
		"shared":      "model \"prod:shared\" not found\nAvailable models: default, eve/shared",
		"eve/default": "model \"prod:eve/default\" not found\nAvailable models: default, eve/shared",
	} {
		if got := find(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	kept := func() *store.Controller {
		c, err := u.Store().Read()
		if err != nil {
			t.Fatal(err)
		}
		return c.Controllers["prod"]
	}
	if c := kept(); c.Model != "admin/default" || len(c.Models) != 2 || c.Models["eve/shared"] != "shared-uuid" {
		t.Errorf("kept is %+v", c)
	}
	u.Controller.ModelInfos = nil
	if got := find("default"); got != "model \"prod:default\" not found\nYou have no access to any model. To create one: "+
		"juju add-model NAME; or ask an administrator for access to one." {
		t.Errorf("without models: %s", got)
	}
	if c := kept(); c.Model != "" || len(c.Models) != 0 {
		t.Errorf("kept is %+v", c)
	}
}

// An offer is the controller's own, or of another that the user is logged in to.
func TestOffersOfControllers(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Note(func(c *store.Contents) {
		c.Controllers["other"] = &store.Controller{UUID: "v", User: "bob"}
		c.Controllers["alias"] = &store.Controller{UUID: "u", User: "bob"}
		c.Controllers["left"] = &store.Controller{UUID: "w"}
	})
	_, target, err := u.Session.ReadModelTarget()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"shop.db": "prod admin/shop.db", "bob/shop.db": "prod bob/shop.db", "prod:shop.db": "prod admin/shop.db",
		"other:shop.db": "other other:bob/shop.db", "other:eve/shop.db": "other other:eve/shop.db", "alias:shop.db": "alias bob/shop.db",
		"left:shop.db": `you are logged out of controller "left"`, "none:shop.db": `controller "none" not found`, "shop": `offer URL "shop" is not valid`,
	} {
		o, err := u.Session.Offer(target, text)
		if got := o.Target.Name + " " + o.String(); err == nil && got != want || err != nil && err.Error() != want {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := u.Session.Offers(target, []string{"shop.db", "alias:shop.db"}); err != nil {
		t.Errorf("offers of one controller by two names: %v", err)
	}
	_, err = u.Session.Offers(target, []string{"shop.db", "other:shop.db"})
	says(t, "offers of two controllers", err, `the offers are of controllers "prod" and "other": name those of one at a time`)
}

// The words for a leader are replaced by the unit's name.
func TestLeaders(t *testing.T) {
	t.Parallel()
	api := newUser(t).Model
	got, err := cli.Leaders(t.Context(), api, []string{"web/0", "web/leader", "3", "Web/leader"})
	if err != nil || !slices.Equal(got, []string{"web/0", "web/7", "3", "Web/leader"}) {
		t.Errorf("%q, %v", got, err)
	}
	api.Returns.Leader = func(string) (string, error) { return "", errors.New("none leads") }
	if _, err := cli.Leading(t.Context(), api, "web/leader"); err == nil || err.Error() != "none leads" {
		t.Errorf("%v", err)
	}
	for arg, want := range map[string]bool{"web/0": true, "web/leader": true, "web": false, "W/leader": false, "/leader": false, "web/x": false} {
		if cli.IsUnitTarget(arg) != want {
			t.Errorf("%q is a unit: %v", arg, !want)
		}
	}
}
