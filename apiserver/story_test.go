package apiserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"juju/apiserver/client"
	"juju/apiserver/facades/facadestest"
	"juju/state"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/statetest"
)

// firstOf returns the first error of a call with several outcomes.
func firstOf(errs []error, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(errs...)
}

// A user deploys two services from archives, relates and configures them, adds a unit, sees
// all that in the status, and destroys everything. The test uses only the client.
func TestUsersStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	root := w.dial(w.adminInfo(""))
	models, err := root.Models(ctx)
	if err != nil || len(models) != 2 || models[0].Name != "controller" || models[1].Name != "default" ||
		models[1].Owner != "admin" {
		t.Fatalf("models %+v, %v", models, err)
	}
	c := w.dial(w.adminInfo(models[1].UUID))
	if c.ControllerUUID() != w.controller.UUID() {
		t.Errorf("the controller is %s", c.ControllerUUID())
	}

	upload := func(metadata string, files ...string) string {
		t.Helper()
		archive, err := os.ReadFile(statetest.CharmArchive(t, metadata, files...))
		if err != nil {
			t.Fatal(err)
		}
		url, err := c.UploadCharm(ctx, bytes.NewReader(archive), "")
		if err != nil {
			t.Fatal(err)
		}
		got, sum, err := c.CharmArchive(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		back, err := io.ReadAll(got)
		if err != nil {
			t.Fatal(err)
		}
		want := sha256.Sum256(archive)
		if !bytes.Equal(back, archive) || sum != hex.EncodeToString(want[:]) {
			t.Errorf("charm %s is different when downloaded, sum %s", url, sum)
		}
		return url
	}
	options := "{options: {size: {type: int, default: 5, description: how big}, " +
		"ratio: {type: float, default: 2.0}, title: {type: string}, note: {type: string}}}"
	mysql, wordpress := upload(statetest.MySQL, "config.yaml", options), upload(statetest.Wordpress)
	if mysql != "local:jammy/mysql-0" {
		t.Errorf("the charm is %s", mysql)
	}

	constraints, err := constraints.Parse("mem=2G")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Deploy(ctx, client.DeployArgs{Service: "mysql", CharmURL: mysql, Units: 2, Constraints: constraints,
		Config: map[string]string{"title": "T"}, ConfigYAML: "mysql: {size: 7}"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Deploy(ctx, client.DeployArgs{Service: "wordpress", CharmURL: wordpress, Units: 1,
		Placement: statetest.To("0")}); err != nil {
		t.Fatal(err)
	}
	if ends, err := c.AddRelation(ctx, "wordpress", "mysql"); err != nil || ends["wordpress"] != "db" ||
		ends["mysql"] != "server" {
		t.Fatal(ends, err)
	}
	if units, _, err := c.AddUnits(ctx, "wordpress", 1, nil); err != nil || len(units) != 1 || units[0] != "wordpress/1" {
		t.Fatal(units, err)
	}
	if _, err := c.Expose(ctx, "wordpress", nil); err != nil {
		t.Fatal(err)
	}
	if id, _, err := c.AddMachine(ctx, client.MachineArgs{Constraints: constraints, Series: "jammy"}); err != nil ||
		id != "3" {
		t.Fatal(id, err)
	}

	// Settings keep their types, and can be reset to the charm's defaults.
	value := func(option string) entity.ConfigSetting {
		t.Helper()
		got, err := c.ServiceConfig(ctx, "mysql")
		if err != nil {
			t.Fatal(err)
		}
		return got.Settings[option]
	}
	if got := value("size"); got != (entity.ConfigSetting{Description: "how big", Type: "int", Value: int64(7),
		Default: int64(5), Source: "user"}) {
		t.Errorf("size is %#v", got)
	}
	if got := value("ratio"); got.Value != 2.0 || got.Source != "default" {
		t.Errorf("ratio is %#v", got)
	}
	if got := value("note"); got.Value != nil || got.Source != "unset" {
		t.Errorf("note is %#v", got)
	}
	if err := c.SetServiceConfig(ctx, "mysql", map[string]string{"size": "9", "ratio": "1e3"},
		"mysql: {title: other}"); err != nil {
		t.Fatal(err)
	}
	if err := c.ResetServiceConfig(ctx, "mysql", "size"); err != nil {
		t.Fatal(err)
	}
	if got := []any{value("size").Value, value("ratio").Value, value("title").Value}; !cmp.Equal(got,
		[]any{int64(5), 1000.0, "other"}) {
		t.Errorf("settings are %v", got)
	}

	// The status over the wire is that of state.
	got, err := c.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	want, err := w.st.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range want.Services { // of all endpoints
		svc, err := w.st.Service(ctx, s.Name)
		if err == nil {
			want.Services[i].Bindings, err = svc.Bindings(ctx)
		}
		w.ok(err)
	}
	want.Model.Version, want.Model.JujuVersion, want.At = "1.2.3", entity.JujuVersion, got.At
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the status differs: %s", diff)
	}
	if len(got.Machines) != 4 || len(got.Services) != 2 || len(got.Services[1].Units) != 2 || len(got.Relations) != 1 ||
		!got.Services[1].Exposed {
		t.Errorf("status is %+v", got)
	}
	if one, err := c.Status(ctx, "mysql/1"); err != nil || len(one.Services) != 1 || len(one.Services[0].Units) != 1 {
		t.Errorf("status of one unit: %+v, %v", one, err)
	}

	// A failed hook can be resolved once.
	if err := firstOf(c.Resolve(ctx, true, "mysql/0")); err == nil ||
		err.Error() != `unit "mysql/0" is not in an error state` {
		t.Errorf("resolving a unit that has not failed: %v", err)
	}
	u, err := w.st.Unit(ctx, "mysql/0")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.SetStatus(ctx, entity.Status{Status: entity.StatusError, Message: `hook failed: "install"`}); err != nil {
		t.Fatal(err)
	}
	if errs, err := c.ResolveAll(ctx, false); err != nil || len(errs) != 1 || errs[0] != nil {
		t.Errorf("resolving all: %v, %v", errs, err)
	}

	// Some units are destroyed, one does not exist: each has its outcome.
	errs, left, err := c.DestroyUnits(ctx, entity.Destruction{}, "wordpress/0", "wordpress/99")
	if err != nil || len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], entity.NotFound) {
		t.Errorf("destroying units: %v, %v", errs, err)
	}
	if left.Machines != nil { // mysql/0 is on it
		t.Errorf("destroying units leaves machines %v", left)
	}
	if err := c.DestroyRelation(ctx, entity.Destruction{}, "wordpress", "mysql"); err != nil {
		t.Error(err)
	}
	if err := c.Unexpose(ctx, "wordpress"); err != nil {
		t.Error(err)
	}
	errs, left, err = c.DestroyServices(ctx, entity.Destruction{}, "wordpress")
	if err := firstOf(errs, err); err != nil || !slices.Equal(left.Machines, []string{"2"}) {
		t.Errorf("destroying a service leaves machines %v: %v", left, err)
	}
	errs, left, err = c.DestroyServices(ctx, entity.Destruction{Machines: true}, "mysql")
	if err := firstOf(errs, err); err != nil || left.Machines != nil {
		t.Errorf("destroying a service with its machines leaves machines %v: %v", left, err)
	}
	if errs, _, err := c.DestroyMachines(ctx, entity.Destruction{}, "3", "9"); err != nil || errs[0] != nil ||
		!errors.Is(errs[1], entity.NotFound) {
		t.Errorf("destroying machines: %v, %v", errs, err)
	}
	if m, err := root.CreateModel(ctx, "second", client.ModelPlace{}, nil); err != nil || m.Name != "second" || !entity.IsValidUUID(m.UUID) {
		t.Errorf("a second model: %+v, %v", m, err)
	}
}

// The agents of a machine, of a unit and of the controller work over the API: a machine is
// provisioned, a unit is deployed, joins its relation, runs, and is removed again.
func TestAgentsStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for name, meta := range map[string]string{"mysql": statetest.MySQL, "wordpress": statetest.Wordpress} {
		url := statetest.Charm(t, w.st, meta, "config.yaml", "{options: {f: {type: float, default: 3.0}, i: {type: int, default: 3}}}")
		if _, err := w.st.AddService(ctx, state.AddServiceParams{Name: name, CharmURL: url, Units: 1}); err != nil {
			t.Fatal(err)
		}
	}
	rel, err := w.st.AddRelation(ctx, "wordpress", "mysql")
	if err != nil {
		t.Fatal(err)
	}

	// The controller's workers use the API too, in memory.
	provisioner := client.ProvisionerFacade{Caller: w.dial(w.managerInfo(w.st.UUID()))}
	ids, err := provisioner.WatchMachines(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := facadestest.Receive(t, ids); !cmp.Equal(got, []string{"0", "1"}) {
		t.Errorf("machines %v", got)
	}
	infos, err := provisioner.Machines(ctx)
	if err != nil || len(infos) != 2 || infos[0].Life != entity.Alive || infos[0].InstanceID != "" {
		t.Fatal(infos, err)
	}
	m0, m1 := entity.MachineTag("0"), entity.MachineTag("1")
	for _, m := range []entity.Tag{m0, m1} {
		if w.passwords[m], err = provisioner.NewPassword(ctx, m); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Dial(ctx, w.info(m)); !errors.Is(err, entity.NotProvisioned) {
			t.Errorf("an agent whose instance is not yet recorded: %v", err)
		}
		instance := entity.Instance{ID: "i-" + m.ID, Nonce: nonce, Addresses: []string{"127.9.0.1" + m.ID}}
		if err := provisioner.SetProvisioned(ctx, m, instance); err != nil {
			t.Fatal(err)
		}
	}

	machine := w.dial(w.info(m0))
	machiner, deployer := client.MachinerFacade{Caller: machine}, client.DeployerFacade{Caller: machine}
	changes, err := machiner.WatchMachine(ctx, m0)
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, changes)
	if info, err := machiner.Machine(ctx, m0); err != nil || info.InstanceID != "i-0" || info.Life != entity.Alive {
		t.Error(info, err)
	}
	if err := machiner.SetMachineStatus(ctx, m0, entity.Status{Status: entity.StatusStarted}); err != nil {
		t.Error(err)
	}
	if err := machiner.SetMachineAddresses(ctx, m0, []string{"127.9.9.9"}); err != nil {
		t.Error(err)
	}
	facadestest.Receive(t, changes)
	units, err := deployer.DeployedUnits(ctx, m0)
	if err != nil || len(units) != 1 {
		t.Fatal(units, err)
	}
	u0 := entity.UnitTag(units[0].Name)
	deployed, err := deployer.WatchDeployed(ctx, m0)
	if err != nil {
		t.Fatal(err)
	}
	if got := facadestest.Receive(t, deployed); !cmp.Equal(got, []string{u0.ID}) {
		t.Errorf("deployed %v", got)
	}
	if w.passwords[u0], err = deployer.NewPassword(ctx, u0); err != nil {
		t.Fatal(err)
	}
	remote := entity.UnitTag("mysql/0")
	if u0 == remote {
		remote = entity.UnitTag("wordpress/0")
	}
	if _, err := deployer.NewPassword(ctx, remote); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("a password for another machine's unit: %v", err)
	}

	uniter := w.uniter(u0)
	if info, err := uniter.Unit(ctx, u0); err != nil || info.Machine != "0" || info.PrivateAddress != "127.9.0.10" {
		t.Error(info, err)
	}
	unitChanges, err := uniter.WatchUnit(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, unitChanges)
	if config, err := uniter.Config(ctx, u0); err != nil || config["f"] != 3.0 || config["i"] != int64(3) {
		t.Error(config, err)
	}
	for _, set := range []error{
		uniter.SetAgentStatus(ctx, u0, entity.Status{Status: entity.StatusIdle}),
		uniter.SetUnitStatus(ctx, u0, entity.Status{Status: entity.StatusActive, Message: "up"}),
		uniter.EnterScope(ctx, u0, rel.ID()),
		uniter.EnterScope(ctx, u0, rel.ID()),
		uniter.CommitHook(ctx, u0, entity.HookChanges{
			Relations: map[int]map[string]string{rel.ID(): {"key": "value"}},
			OpenPorts: []entity.PortRange{{From: 80, To: 80, Protocol: "tcp"}},
		}),
		uniter.ClearResolved(ctx, u0),
	} {
		if set != nil {
			t.Error(set)
		}
	}
	if status, err := uniter.UnitStatus(ctx, u0); err != nil || status.Status != entity.StatusActive ||
		status.Message != "up" {
		t.Error(status, err)
	}
	if ports, err := uniter.OpenedPorts(ctx, u0); err != nil || len(ports[u0.ID]) != 1 {
		t.Error(ports, err)
	}
	relations, err := uniter.WatchRelations(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	facadestest.Receive(t, relations)
	members, err := uniter.WatchRelationUnits(ctx, u0, rel.ID())
	if err != nil {
		t.Fatal(err)
	}
	if first := facadestest.Receive(t, members); len(first.Changed) != 0 || len(first.Departed) != 0 {
		t.Errorf("the first event, without a counterpart: %+v", first)
	}
	// The agent of the other unit joins it.
	w.passwords[remote] = w.newPassword(w.st, remote)
	other := w.uniter(remote)
	if err := other.EnterScope(ctx, remote, rel.ID()); err != nil {
		t.Fatal(err)
	}
	if change := facadestest.Receive(t, members); len(change.Changed) != 1 {
		t.Errorf("the other has entered: %+v", change)
	}
	if got, err := other.RelationSettings(ctx, remote, rel.ID(), u0.ID); err != nil || got["key"] != "value" {
		t.Error(got, err)
	}
	if err := other.LeaveScope(ctx, remote, rel.ID()); err != nil {
		t.Fatal(err)
	}
	if change := facadestest.Receive(t, members); !cmp.Equal(change.Departed, []string{remote.ID}) {
		t.Errorf("the other has left: %+v", change)
	}

	// Everything is removed again, each step by the agent whose job it is.
	service, _, _ := strings.Cut(u0.ID, "/") // either may have got machine 0
	svc, err := w.st.Service(ctx, service)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{
		uniter.DestroyUnit(ctx, u0), // does nothing, since its service is alive
		svc.Destroy(ctx, entity.Destruction{}),
		uniter.DestroyUnit(ctx, u0),
		uniter.DestroySubordinates(ctx, u0),
		uniter.LeaveScope(ctx, u0, rel.ID()),
		uniter.LeaveScope(ctx, u0, rel.ID()),
		uniter.EnsureDead(ctx, u0),
		deployer.RemoveUnit(ctx, u0),
		deployer.RemoveUnit(ctx, u0), // repeated, as if the reply was lost
	} {
		if step != nil {
			t.Error(step)
		}
	}
	if _, err := client.Dial(ctx, w.info(u0)); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("the agent of a unit that is gone: %v", err)
	}
	m, err := w.st.Machine(ctx, "0")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Destroy(ctx, entity.Destruction{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{
		machiner.EnsureDead(ctx, m0),
		provisioner.SetMachineStatus(ctx, m0, entity.Status{Status: entity.StatusStopped}),
		provisioner.RemoveMachine(ctx, m0),
		provisioner.RemoveMachine(ctx, m0),
	} {
		if step != nil {
			t.Error(step)
		}
	}
	for got := facadestest.Receive(t, ids); !slices.Contains(got, "0"); got = facadestest.Receive(t, ids) {
		t.Logf("machines %v", got)
	}
}
