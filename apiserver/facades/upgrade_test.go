package facades_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
	"juju/state/statetest"
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

func TestOnlySuperusersUpgradeTheController(t *testing.T) {
	w, f := upgradeWorld(t)
	w.backend.Limits.Binaries = 100
	ctx, own := t.Context(), w.backend.ControllerModel.UUID()
	// Bob administers both models, and not the controller.
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "admin", ""))
	w.ok(w.controller.GrantModel(ctx, own, "bob", "admin", ""))
	newer := entity.Binaries{Version: "1.3.0", SHA256: strings.Repeat("ab", 32)}
	const lacking = `This needs "superuser" access to the controller; bob has "login". A superuser can grant it: juju grant bob superuser`
	if err := w.user("bob", own).client().UploadBinaries(ctx, strings.NewReader("x"), newer); entity.KindOf(err) != entity.Unauthorized ||
		entity.Hint(err) != lacking {
		t.Errorf("bob uploads: %v (%s)", err, entity.Hint(err))
	}
	bob := w.user("bob", "").client()
	if _, err := bob.UpgradeModel(ctx, own, newer, false); entity.KindOf(err) != entity.Unauthorized ||
		entity.Hint(err) != lacking {
		t.Errorf("bob upgrades: %v (%s)", err, entity.Hint(err))
	}
	if _, err := bob.ControllerBinaries(ctx); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("bob asks: %v", err)
	}
	if err := w.admin().client().UploadBinaries(ctx, strings.NewReader("x"), newer); entity.KindOf(err) !=
		entity.Unauthorized || entity.Hint(err) != "Agent binaries are uploaded to the controller's own model" {
		t.Errorf("an upload at another model: %v (%s)", err, entity.Hint(err))
	}

	at := w.user(statetest.Admin, own).client()
	w.ok(at.UploadBinaries(ctx, strings.NewReader("binaries"), newer))
	if err := at.UploadBinaries(ctx, bytes.NewReader(make([]byte, 101)), newer); entity.KindOf(err) != entity.Invalid ||
		!strings.Contains(err.Error(), "larger than 100 bytes") {
		t.Errorf("a large upload: %v", err)
	}
	older := entity.Binaries{Version: "1.2.2", SHA256: newer.SHA256}
	const refused = "cannot upgrade the controller to 1.2.2: its version is 1.2.3, and a downgrade is not supported"
	if err := at.UploadBinaries(ctx, strings.NewReader("older"), older); err == nil || err.Error() != refused {
		t.Errorf("a downgrade: %v", err)
	}
	root := w.root().client()
	if _, err := root.UpgradeModel(ctx, own, older, false); err == nil || err.Error() != refused {
		t.Errorf("a downgrade: %v", err)
	}
	if to, err := root.UpgradeModel(ctx, own, newer, true); to.Version != "1.3.0" || err != nil || len(f.Switched) > 0 {
		t.Errorf("a dry run: %v, %v, %v", to, err, f.Switched)
	}
	for _, newest := range []string{"", params.NewestVersion, entity.JujuVersion} {
		to, err := root.UpgradeModel(ctx, own, entity.Binaries{Version: newest}, false)
		if to.Version != "1.2.3" || !errors.Is(err, entity.AlreadyExists) || err.Error() != "no upgrades available" || len(f.Switched) > 0 {
			t.Errorf("to the newest, %q: %v, %v, %v", newest, to, err, f.Switched)
		}
	}
	if len(f.Installed) != 1 || f.Installed[newer] != "binaries" {
		t.Errorf("installed are %q", f.Installed)
	}
	if to, err := root.UpgradeModel(ctx, own, newer, false); to.Version != "1.3.0" || err != nil {
		t.Errorf("%v, %v", to, err)
	}
	if len(f.Switched) != 1 || f.Switched[0] != newer {
		t.Errorf("switched to %v", f.Switched)
	}
	// The agents of other models keep what they have.
	if p, err := w.st.Settings().Binaries(ctx); p != facadestest.Runs || err != nil {
		t.Errorf("the model wants %v, %v", p, err)
	}
	if p, err := w.backend.ControllerModel.Settings().Binaries(ctx); p.Version != "" || err != nil {
		t.Errorf("the controller's own model wants %v, %v", p, err)
	}
	select {
	case <-f.Replied:
		t.Error("the connection has ended before the client has")
	default:
	}
	root.Close()
	<-f.Replied
}
