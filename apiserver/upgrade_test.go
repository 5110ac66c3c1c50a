package apiserver

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/state/entity"
)

// upgradeWorld is a controller of version 1.2.3 that can be upgraded.
func upgradeWorld(t *testing.T) (*world, *facadestest.Upgrades) {
	f := &facadestest.Upgrades{Installed: map[entity.Binaries]string{}}
	w := newWorld(t, func(c *Config) {
		c.Upgrades, c.Binaries = f, &facades.Binaries{Path: filepath.Join(t.TempDir(), "none"), SHA256: facadestest.Runs.SHA256}
		c.Commit = "c0ffee"
		c.Limits = DefaultLimits()
		c.Limits.Binaries = 100
	})
	return w, f
}

// userConn connects as a user.
func (w *world) userConn(name, model string) *client.Conn {
	w.Helper()
	info := w.info(entity.UserTag(name))
	info.Model, info.Nonce = model, ""
	return w.dial(info)
}

func TestOnlySuperusersUpgradeTheController(t *testing.T) {
	w, f := upgradeWorld(t)
	ctx, own := t.Context(), w.server.controllerModel.UUID()
	// Bob administers both models, and not the controller.
	w.addUser("bob")
	w.ok(w.controller.GrantModel(ctx, w.st.UUID(), "bob", "admin", ""))
	w.ok(w.controller.GrantModel(ctx, own, "bob", "admin", ""))
	newer := entity.Binaries{Version: "1.3.0", SHA256: strings.Repeat("ab", 32)}
	const lacking = `This needs "superuser" access to the controller; bob has "login". A superuser can grant it: juju grant bob superuser`
	if err := w.userConn("bob", own).UploadBinaries(ctx, strings.NewReader("x"), newer); entity.KindOf(err) != entity.Unauthorized ||
		entity.Hint(err) != lacking {
		t.Errorf("bob uploads: %v (%s)", err, entity.Hint(err))
	}
	bob := w.userConn("bob", "")
	if _, err := bob.UpgradeModel(ctx, own, newer, false); entity.KindOf(err) != entity.Unauthorized ||
		entity.Hint(err) != lacking {
		t.Errorf("bob upgrades: %v (%s)", err, entity.Hint(err))
	}
	if _, err := bob.ControllerBinaries(ctx); entity.KindOf(err) != entity.Unauthorized {
		t.Errorf("bob asks: %v", err)
	}
	if err := w.dial(w.adminInfo(w.st.UUID())).UploadBinaries(ctx, strings.NewReader("x"), newer); entity.KindOf(err) !=
		entity.Unauthorized || entity.Hint(err) != "Agent binaries are uploaded to the controller's own model" {
		t.Errorf("an upload at another model: %v (%s)", err, entity.Hint(err))
	}

	at := w.dial(w.adminInfo(own))
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
	root := w.dial(w.adminInfo(""))
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
	if p, err := w.server.controllerModel.Settings().Binaries(ctx); p.Version != "" || err != nil {
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

// Status says which version each agent runs, and which have yet to be upgraded, or why they can't be.
func TestStatusShowsAgentBinaries(t *testing.T) {
	w, _ := upgradeWorld(t)
	w.populate()
	ctx := t.Context()
	m0, u0 := entity.MachineTag("0"), entity.UnitTag("mysql/0")
	machine, err := w.st.Machine(ctx, "0")
	w.ok(err)
	w.ok(machine.SetStatus(ctx, entity.Status{Status: entity.StatusStarted}))
	unit, err := w.st.Unit(ctx, "mysql/0")
	w.ok(err)
	w.ok(unit.SetAgentStatus(ctx, entity.Status{Status: entity.StatusIdle}))
	agent := func(tag entity.Tag, p entity.Binaries) *client.Conn {
		info := w.info(tag)
		info.Binaries = p
		if tag.Kind == entity.KindUnit {
			info.Nonce = ""
		}
		return w.dial(info)
	}
	old := entity.Binaries{Version: "1.2.0", Commit: "c0-dirty",
		SHA256: strings.Repeat("34", 8)} // the beginning, as a directory's name
	atM, atU := agent(m0, old), agent(u0, old)
	user := w.dial(w.adminInfo(w.st.UUID()))
	events, err := user.WatchStatus(ctx)
	w.ok(err)
	build := func(version, commit string) string { return entity.Binaries{Version: version, Commit: commit}.Build() }
	// wait waits until status shows this of the machine's agent and of the unit's.
	wait := func(want string) {
		t.Helper()
		for {
			<-events
			status, err := user.Status(ctx)
			w.ok(err)
			m, u := status.Machines[0], status.Services[0].Units[0]
			got := strings.Join([]string{build(m.AgentVersion, m.AgentCommit), m.Status.Message,
				build(u.AgentVersion, u.AgentCommit), u.Agent.Message}, "|")
			if got == want {
				return
			}
			t.Logf("status shows %s", got)
		}
	}
	wait("1.2.0 (c0-dirty)||1.2.0 (c0-dirty)|")
	w.ok(w.st.Settings().SetBinaries(ctx, entity.Binaries{Version: "1.2.0", SHA256: strings.Repeat("34", 32)}))
	wait("1.2.0 (c0-dirty)||1.2.0 (c0-dirty)|")
	all := w.admin().watchesAll()
	all.next(3)
	w.ok(w.st.Settings().SetBinaries(ctx, facadestest.Runs))
	wait("1.2.0 (c0-dirty)|upgrade to 1.2.3 is pending|1.2.0 (c0-dirty)|upgrade to 1.2.3 is pending")
	for _, name := range []string{"machine 0", "unit mysql/0"} { // no document of theirs has changed
		all.until(name, func(d map[string]any) bool { return at(d, "agent-status", "message") == "upgrade to 1.2.3 is pending" })
	}
	w.ok(client.AgentFacade{Caller: atM}.SetUpgradeError(ctx, m0, "upgrade to 1.2.3 failed: no such luck"))
	wait("1.2.0 (c0-dirty)|upgrade to 1.2.3 failed: no such luck|1.2.0 (c0-dirty)|upgrade to 1.2.3 is pending")
	if p, err := (client.AgentFacade{Caller: atM}).Programs(ctx, m0); p != facadestest.Runs || err != nil {
		t.Errorf("the agent is to run %v, %v", p, err)
	}
	atM.Close()
	agent(m0, facadestest.Runs)
	wait("1.2.3||1.2.0 (c0-dirty)|upgrade to 1.2.3 is pending")
	atU.Close()
	agent(u0, entity.Binaries{Version: "1.4.0"}) // newer than the model
	wait("1.2.3||1.4.0|")
	// What can't be a version or a commit is not shown.
	agent(m0, entity.Binaries{Version: "none\n"})
	wait("||1.4.0|")
	agent(u0, entity.Binaries{Version: "1.5.0", Commit: "none\n"})
	wait("|||")
}
