package facades_test

import (
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
)

func upgradeWorld(t *testing.T) (*world, *facadestest.Upgrades) {
	f := &facadestest.Upgrades{Installed: map[entity.Binaries]string{}}
	w := newWorld(t, func(c *facades.Config) {
		c.Upgrades, c.Binaries = f, &facades.Binaries{Path: filepath.Join(t.TempDir(), "none"), SHA256: facadestest.Runs.SHA256}
		c.Commit = "c0ffee"
	})
	return w, f
}

func TestAModelIsUpgradedToWhatTheControllerHas(t *testing.T) {
	w, f := upgradeWorld(t)
	ctx := t.Context()
	root := w.root().client()
	upgrade := func(version string, dryRun bool, want, says string) {
		t.Helper()
		got, err := root.UpgradeModel(ctx, w.st.UUID(), entity.Binaries{Version: version}, dryRun)
		if says == "" && (got.Build() != want || err != nil) || says != "" && (err == nil || err.Error() != says) {
			t.Errorf("to %q: %v, %v, want %s %s", version, got, err, want, says)
		}
	}
	upgrade("", false, "", "no upgrades available")
	old := entity.Binaries{Version: "1.2.0", SHA256: strings.Repeat("34", 32)}
	w.ok(w.st.Settings().SetBinaries(ctx, old))
	if status, err := w.admin().client().Status(ctx); err != nil || status.Model.Version != "1.2.0" {
		t.Errorf("status shows %v, %v", status.Model, err)
	}
	upgrade("1.3.0", false, "", "a hosted model cannot have a higher version than the server model: 1.3.0 > 1.2.3")
	upgrade("1.1.0", false, "", "cannot upgrade the model to 1.1.0: its version is 1.2.0, and a downgrade is not supported")
	upgrade("1.2.1", false, "", "no matching agent versions available: the controller has 1.2.3")
	upgrade("new", false, "", `invalid version "new"`)
	for _, newest := range []string{"", params.NewestVersion, entity.JujuVersion} {
		upgrade(newest, true, "1.2.3 (c0ffee)", "")
	}
	if p, err := w.st.Settings().Binaries(ctx); p != old || err != nil {
		t.Errorf("after refusals and a dry run the model wants %v, %v", p, err)
	}
	upgrade("1.2.3", false, "1.2.3 (c0ffee)", "")
	if p, err := w.st.Settings().Binaries(ctx); p != facadestest.Runs || err != nil {
		t.Errorf("the model wants %v, %v", p, err)
	}
	if len(f.Switched) > 0 {
		t.Errorf("the controller switches to %v", f.Switched)
	}
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "write", ""))
	if _, err := w.user("bob", "").client().UpgradeModel(ctx, w.st.UUID(), entity.Binaries{}, false); entity.KindOf(err) !=
		entity.Unauthorized {
		t.Errorf("a user with write access: %v", err)
	}
	w.ok(w.st.Settings().SetBinaries(ctx, entity.Binaries{Version: "1.2.3", SHA256: old.SHA256}))
	w.ok(w.st.Blocks().SwitchOn(ctx, entity.BlockChange, ""))
	if _, err := root.UpgradeModel(ctx, w.st.UUID(), entity.Binaries{}, false); entity.KindOf(err) != entity.OperationBlocked {
		t.Errorf("with a block: %v", err)
	}
}
