package apiserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"juju/apiserver/client"
	"juju/apiserver/params"
	"juju/state"
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
	if c.ControllerUUID() != w.controller.UUID() || c.ServerVersion() != "1.2.3" || len(c.Addresses()) != 1 ||
		c.Addresses()[0] != w.address {
		t.Errorf("the controller is %s %s at %v", c.ControllerUUID(), c.ServerVersion(), c.Addresses())
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
		"ratio: {type: float, default: 2.0}, title: {type: string}}}"
	mysql, wordpress := upload(statetest.MySQL, "config.yaml", options), upload(statetest.Wordpress)
	if mysql != "local:jammy/mysql-0" {
		t.Errorf("the charm is %s", mysql)
	}

	constraints, err := entity.ParseConstraints("mem=2G")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Deploy(ctx, client.DeployArgs{Service: "mysql", CharmURL: mysql, Units: 2, Constraints: constraints,
		Config: map[string]string{"title": "T"}, ConfigYAML: "mysql: {size: 7}"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Deploy(ctx, client.DeployArgs{Service: "wordpress", CharmURL: wordpress, Units: 1,
		Placement: []string{"0"}}); err != nil {
		t.Fatal(err)
	}
	if ends, err := c.AddRelation(ctx, "wordpress", "mysql"); err != nil || ends["wordpress"] != "db" ||
		ends["mysql"] != "server" {
		t.Fatal(ends, err)
	}
	if units, _, err := c.AddUnits(ctx, "wordpress", 1, nil); err != nil || len(units) != 1 || units[0] != "wordpress/1" {
		t.Fatal(units, err)
	}
	if err := c.Expose(ctx, "wordpress"); err != nil {
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
	want.Model.Version, want.At = "1.2.3", got.At
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
	if errs, err := c.DestroyMachines(ctx, entity.Destruction{}, "3", "9"); err != nil || errs[0] != nil ||
		!errors.Is(errs[1], entity.NotFound) {
		t.Errorf("destroying machines: %v, %v", errs, err)
	}
	if err := root.DestroyController(ctx, false); !errors.Is(err, entity.InUse) || entity.Hint(err) == "" {
		t.Errorf("destroying the controller: %v", err)
	}
	if m, err := root.CreateModel(ctx, "second", nil); err != nil || m.Name != "second" || !entity.IsValidUUID(m.UUID) {
		t.Errorf("a second model: %+v, %v", m, err)
	}
}

// Refused requests return an error of the right kind, and change nothing in the model.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	c := w.dial(w.adminInfo(w.st.UUID()))
	before, err := w.st.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	mysql := w.charms["mysql"]
	upload := func(text, series string) error {
		_, err := c.UploadCharm(ctx, bytes.NewReader([]byte(text)), series)
		return err
	}
	for name, test := range map[string]struct {
		err  error
		kind entity.Kind
		text string // "" for any
	}{
		"a charm from a hub": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: "ch:mysql-1"})),
			entity.NotSupported, ""},
		"a charm that is not there": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: "local:jammy/x-1"})),
			entity.NotFound,
			`charm "local:jammy/x-1" not found`},
		"no charm's URL": {second(c.Deploy(ctx, client.DeployArgs{Service: "x", CharmURL: "::"})), entity.Invalid, ""},
		"the same name": {second(c.Deploy(ctx, client.DeployArgs{Service: "mysql", CharmURL: mysql})), entity.AlreadyExists,
			`cannot add service "mysql": service already exists`},
		"a wrong type in a file": {second(c.Deploy(ctx,
			client.DeployArgs{Service: "x", CharmURL: mysql, ConfigYAML: "x: {size: big}"})), entity.Invalid,
			`settings:1: x.size: option "size" expected int, got "big"`},
		"a file for another service": {second(c.Deploy(ctx,
			client.DeployArgs{Service: "x", CharmURL: mysql, ConfigYAML: "y: {size: 1}"})), entity.Invalid,
			`no settings found for "x"`},
		"an unknown option": {c.SetServiceConfig(ctx, "mysql", map[string]string{"sise": "1", "size": "9"}, ""),
			entity.Invalid, `unknown option "sise"`},
		"a reset of an unknown option": {c.ResetServiceConfig(ctx, "mysql", "sise"), entity.Invalid,
			`unknown option "sise"`},
		"settings of no service": {c.SetServiceConfig(ctx, "nosql", nil, ""), entity.NotFound, ""},
		"no archive":             {upload("no zip", ""), entity.Invalid, ""},
		"no series":              {upload("no zip", "../x"), entity.Invalid, `invalid series "../x"`},
		"a relation of one": {second(c.AddRelation(ctx, "mysql")), entity.Invalid,
			"a relation must involve two services"},
		"a relation that there is": {second(c.AddRelation(ctx, "mysql", "wordpress")), entity.AlreadyExists, ""},
		"a relation that there is not": {c.DestroyRelation(ctx, entity.Destruction{}, "mysql", "mysql"), entity.NotFound,
			""},
		"a machine with units": {firstOf(c.DestroyMachines(ctx, entity.Destruction{}, "0")), "", ""},
		"a machine as placement": {third(c.AddMachine(ctx, client.MachineArgs{Placement: "0"})), entity.Invalid,
			"machine-id cannot be specified when adding machines"},
		"a charm to download": {third(c.CharmArchive(ctx, "local:jammy/x-1")), entity.NotFound, ""},
		"an agent's method": {second(client.UniterFacade{Caller: c}.Unit(ctx, entity.UnitTag("mysql/0"))),
			entity.Unauthorized, "permission denied"},
		"a bad pattern":                {second(c.Status(ctx, "a/b/c")), entity.Invalid, ""},
		"units of a service not there": {third(c.AddUnits(ctx, "nosql", 1, nil)), entity.NotFound, ""},
		"no units": {third(c.AddUnits(ctx, "mysql", 0, nil)), entity.Invalid,
			"--num-units must be a positive integer"},
		"debug-log of an unknown level": {c.DebugLog(ctx, client.LogQuery{Level: "loud"}, nil), entity.Invalid, ""},
	} {
		if test.err == nil || test.kind != "" && entity.KindOf(test.err) != test.kind || test.text != "" &&
			test.err.Error() != test.text {
			t.Errorf("%s: %v (%s), want %s %q", name, test.err, entity.KindOf(test.err), test.kind, test.text)
		}
	}
	after, err := w.st.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	after.At = before.At
	if diff := cmp.Diff(before, after, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("refusals have changed the model: %s", diff)
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

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
	if got := receive(t, ids); !cmp.Equal(got, []string{"0", "1"}) {
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
	receive(t, changes)
	if info, err := machiner.Machine(ctx, m0); err != nil || info.InstanceID != "i-0" || info.Life != entity.Alive {
		t.Error(info, err)
	}
	if err := machiner.SetMachineStatus(ctx, m0, entity.Status{Status: entity.StatusStarted}); err != nil {
		t.Error(err)
	}
	if err := machiner.SetMachineAddresses(ctx, m0, []string{"127.9.9.9"}); err != nil {
		t.Error(err)
	}
	receive(t, changes)
	units, err := deployer.DeployedUnits(ctx, m0)
	if err != nil || len(units) != 1 {
		t.Fatal(units, err)
	}
	u0 := entity.UnitTag(units[0].Name)
	deployed, err := deployer.WatchDeployed(ctx, m0)
	if err != nil {
		t.Fatal(err)
	}
	if got := receive(t, deployed); !cmp.Equal(got, []string{u0.ID}) {
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
	if info, err := uniter.Unit(ctx, u0); err != nil || info.Machine != "0" || info.PrivateAddress != "127.9.9.9" {
		t.Error(info, err)
	}
	unitChanges, err := uniter.WatchUnit(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, unitChanges)
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
	receive(t, relations)
	members, err := uniter.WatchRelationUnits(ctx, u0, rel.ID())
	if err != nil {
		t.Fatal(err)
	}
	if first := receive(t, members); len(first.Changed) != 0 || len(first.Departed) != 0 {
		t.Errorf("the first event, without a counterpart: %+v", first)
	}
	// The agent of the other unit joins it.
	w.passwords[remote] = w.newPassword(w.st, remote)
	other := w.uniter(remote)
	if err := other.EnterScope(ctx, remote, rel.ID()); err != nil {
		t.Fatal(err)
	}
	if change := receive(t, members); len(change.Changed) != 1 {
		t.Errorf("the other has entered: %+v", change)
	}
	if got, err := other.RelationSettings(ctx, remote, rel.ID(), u0.ID); err != nil || got["key"] != "value" {
		t.Error(got, err)
	}
	if err := other.LeaveScope(ctx, remote, rel.ID()); err != nil {
		t.Fatal(err)
	}
	if change := receive(t, members); !cmp.Equal(change.Departed, []string{remote.ID}) {
		t.Errorf("the other has left: %+v", change)
	}

	// Everything is removed again, each step by the agent whose job it is.
	svc, err := w.st.Service(ctx, "mysql")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{
		uniter.DestroyUnit(ctx, u0), // refused, since its service is alive
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
	for got := receive(t, ids); !slices.Contains(got, "0"); got = receive(t, ids) {
		t.Logf("machines %v", got)
	}
}

// An agent's log arrives under the agent's name, and a user can follow it.
func TestLogs(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	u0 := entity.UnitTag("mysql/0")
	agent := w.dial(w.info(u0))
	user := w.dial(w.adminInfo(w.st.UUID()))
	sink, err := agent.LogSink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	send := func(text string) {
		t.Helper()
		if err := sink.Send(params.LogRecord{Level: "INFO", Module: "juju.test", Message: text,
			Entity: "machine-99"}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		send(fmt.Sprint(i))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	lines, done := make(chan entity.LogMessage), make(chan error, 1)
	go func() {
		done <- user.DebugLog(ctx, client.LogQuery{Replay: true, IncludeEntity: []string{"mysql/*"}},
			func(m entity.LogMessage) error {
				select {
				case lines <- m:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
	}()
	for i := range 5 {
		if m := receive(t, lines); m.Message != fmt.Sprint(i) || m.Entity != "unit-mysql-0" {
			t.Errorf("line %d is %+v", i, m)
		}
	}
	send("live")
	if m := receive(t, lines); m.Message != "live" {
		t.Errorf("then comes %+v", m)
	}
	why := errors.New("seen enough")
	cancel(why)
	if err := receive(t, done); !errors.Is(err, why) {
		t.Errorf("debug-log ends with %v", err)
	}
	var last []string
	err = user.DebugLog(t.Context(), client.LogQuery{Backlog: 2, NoTail: true}, func(m entity.LogMessage) error {
		last = append(last, m.Message)
		return nil
	})
	if err != nil || !cmp.Equal(last, []string{"4", "live"}) {
		t.Errorf("the last two: %v, %v", last, err)
	}
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
	// The stream ends with its connection.
	go func() {
		done <- user.DebugLog(t.Context(), client.LogQuery{}, func(entity.LogMessage) error { return nil })
	}()
	eventually(t, "the log is not followed", func() bool { return containsFunc(running(), "logs.(*Store).Follow") })
	user.Close()
	if err := receive(t, done); !errors.Is(err, entity.Unavailable) {
		t.Errorf("debug-log of a closed connection: %v", err)
	}
}

// When the controller goes away, everything on the connection ends and its channels close.
// When it is back, clients can dial again.
func TestReconnect(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	ctx := t.Context()
	u0 := entity.UnitTag("mysql/0")
	c := w.dial(w.info(u0))
	uniter := client.UniterFacade{Caller: c}
	watch, err := uniter.WatchUnit(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, watch)
	if c.Err() != nil || c.Context().Err() != nil {
		t.Error("the connection has ended too early")
	}
	w.end()
	closes(t, watch)
	<-c.Done()
	if err := c.Err(); err == nil {
		t.Error("the connection has ended without an error")
	}
	if _, err := uniter.Unit(ctx, u0); !errors.Is(err, entity.Unavailable) {
		t.Errorf("a request on an ended connection: %v", err)
	}
	if _, err := client.Dial(ctx, w.info(u0)); !errors.Is(err, entity.Unavailable) {
		t.Errorf("while the controller is away: %v", err)
	}
	if _, err := client.Dial(ctx, w.managerInfo(w.st.UUID())); !errors.Is(err, entity.Unavailable) {
		t.Errorf("in memory: %v", err)
	}
	// An upload that was interrupted leaves nothing behind.
	half := filepath.Join(w.server.config.TempDir, "juju-upload-1.zip")
	if err := os.WriteFile(half, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.server, err = New(ctx, w.server.config); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("an interrupted upload is still there")
	}
	w.serve()
	again := w.uniter(u0)
	watch, err = again.WatchUnit(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, watch) // the first event again, so nothing is missed
	if _, err := again.Unit(ctx, u0); err != nil {
		t.Error(err)
	}
}

// A client can give up a request or a watch and use the connection for others. It uses the
// first of several addresses that answers.
func TestCancelRequestAndWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	asked, release := make(chan struct{}), make(chan struct{})
	var onServer *conn
	open := func() map[string]*openWatch {
		onServer.watches.mu.Lock()
		defer onServer.watches.mu.Unlock()
		return onServer.watches.open
	}
	w.server.table.byKey[routeKey{"Uniter", 1, "Unit"}].handler = act(func(_ context.Context, c *caller,
		_ params.Entity) error {
		onServer = c.conn
		asked <- struct{}{}
		<-release
		return nil
	})
	u0 := entity.UnitTag("mysql/0")
	info := w.info(u0)
	info.Addresses = []string{"127.0.0.1:1", w.address}
	c := client.UniterFacade{Caller: w.dial(info)}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("changed my mind")
	go func() {
		<-asked
		cancel(why)
	}()
	if _, err := c.Unit(ctx, u0); !errors.Is(err, why) {
		t.Errorf("given up: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	watch, err := c.WatchRelations(ctx, u0)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, watch)
	stop()
	closes(t, watch) // after the server has been told
	close(release)
	if _, err := c.Relations(t.Context(), u0); err != nil {
		t.Errorf("the connection afterwards: %v", err)
	}
	if len(open()) != 0 {
		t.Errorf("watches %v are still open on the server", open())
	}
}

// containsFunc reports whether a function runs in one of the goroutines.
func containsFunc(stacks []string, name string) bool {
	for _, s := range stacks {
		if bytes.Contains([]byte(s), []byte(name)) {
			return true
		}
	}
	return false
}

// The connections to a model end when it is removed; others do not.
func TestRemovedModelEndsConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t).populate()
	root, c := w.dial(w.adminInfo("")), w.dial(w.info(entity.UnitTag("mysql/0")))
	watch, err := client.UniterFacade{Caller: c}.WatchUnit(t.Context(), c.Tag())
	if err != nil {
		t.Fatal(err)
	}
	receive(t, watch)
	w.controller.Close() // closes the models, as if one were removed
	closes(t, watch)
	closes(t, c.Done())
	if err := c.Err(); !strings.Contains(err.Error(), errNoModel.Error()) {
		t.Errorf("the connection to the model: %v", err)
	}
	if err := root.Err(); err != nil && strings.Contains(err.Error(), errNoModel.Error()) {
		t.Errorf("the connection to the controller: %v", err)
	}
}
