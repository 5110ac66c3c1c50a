package controller

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"juju/agent/binaries"
	"juju/agent/binaries/binariestest"
	"juju/apiserver/facades"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/schema"
	"juju/state/statetest"
)

// A controller whose trial fails reverts to the previous binaries, unless these can no longer read the
// store.
func TestAControllerGoesBackAndOn(t *testing.T) {
	t.Parallel()
	old := entity.Binaries{Version: "0.1.0"}
	archive, newer := binariestest.Pack(t, "0.2.0", binariestest.Script("0.2.0"))
	failed, unread := errors.New("no such luck"), entity.Errorf(entity.NotSupported, "the schema has version 9")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	onTrial := binaries.Record{Current: newer, Previous: old, Trial: true}
	back := binaries.Record{Current: old, Previous: old, Failed: &entity.FailedUpgrade{Binaries: newer, Error: "no such luck"}}
	for name, test := range map[string]struct {
		errs []error // of successive controllers
		want binaries.Record
		ctx  context.Context
	}{
		"it ends well":                  {[]error{nil}, onTrial, nil},
		"it was stopped":                {[]error{failed}, onTrial, stopped},
		"it fails":                      {[]error{failed}, back, nil},
		"the old one fails too":         {[]error{failed, failed}, back, nil},
		"the old one can't read it":     {[]error{failed, unread}, binaries.Record{Current: newer, Previous: old}, nil},
		"and then the new one fails":    {[]error{failed, unread, failed}, binaries.Record{Current: newer, Previous: old}, nil},
		"and then neither can be read ": {[]error{failed, unread, unread}, binaries.Record{Current: newer, Previous: old}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := &running{upgrades: binaries.New(t.TempDir(), binaries.Options{})}
			if err := errors.Join(c.upgrades.Install(t.Context(), bytes.NewReader(archive), newer),
				c.upgrades.Switch(t.Context(), old, newer)); err != nil {
				t.Fatal(err)
			}
			ctx := test.ctx
			if ctx == nil {
				ctx = t.Context()
			}
			for _, err := range test.errs {
				if got := c.goBack(ctx, err); !errors.Is(got, err) {
					t.Errorf("%v became %v", err, got)
				}
			}
			got, err := c.upgrades.Record()
			if err != nil {
				t.Fatal(err)
			}
			gotFailed, wantFailed := got.Failed, test.want.Failed
			got.Failed, test.want.Failed = nil, nil
			if got != test.want || (gotFailed == nil) != (wantFailed == nil) || wantFailed != nil && *gotFailed != *wantFailed {
				t.Errorf("the record is %+v %+v, want %+v %+v", got, gotFailed, test.want, wantFailed)
			}
		})
	}
}

// A failed trial may have changed models but not the controller's own database. Binaries that can't read these
// models give way to those that can, instead of continuing without the models.
func TestAFailedTrialThatHasChangedModels(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	s.stop()
	store, err := openStore(t.Context(), s.c.own, "", s.c.options)
	s.ok(err)
	t.Cleanup(func() { s.ok(store.Close()) })
	newer := s.c.options.State
	newer.ModelSteps = append(slices.Clone(state.Steps), schema.Step{About: "models are newer",
		Run: func(context.Context, *mongo.Store, *mongo.Database) error { return nil }})
	trial, err := controller.Open(t.Context(), store, newer)
	s.ok(err)
	trial.Close()
	ctrl, err := controller.Open(t.Context(), store, s.c.options.State)
	s.ok(err)
	t.Cleanup(ctrl.Close)
	archive, p := binariestest.Pack(t, "0.2.0", binariestest.Script("0.2.0"))
	for name, failed := range map[string]bool{"no upgrade has failed": false, "an upgrade has failed": true} {
		t.Run(name, func(t *testing.T) {
			c := &running{conf: s.c.conf, ctrl: ctrl, upgrades: binaries.New(t.TempDir(), binaries.Options{})}
			if failed {
				s.ok(c.upgrades.Install(t.Context(), bytes.NewReader(archive), p))
				s.ok(c.upgrades.Switch(t.Context(), entity.Binaries{}, p))
				_, err := c.upgrades.Revert("it did not come up in 8m0s")
				s.ok(err)
			}
			err := c.confirm(t.Context())
			if err = c.goBack(t.Context(), err); errors.Is(err, entity.NotSupported) != failed {
				t.Errorf("it ends with %v", err)
			}
			r, err := c.upgrades.Record()
			s.ok(err)
			if (r.Current == p) != failed || r.Trial {
				t.Errorf("the record is %+v", r)
			}
		})
	}
}

// A model that is created while its controller stops for an upgrade gets the old binaries, instead of silently
// those of the new controller: its agents run the old ones, and can be upgraded later.
func TestAModelOfTheLastMomentIsUpgradedToo(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	c := &running{conf: s.c.conf, ctrl: s.c.ctrl, upgrades: binaries.New(t.TempDir(), binaries.Options{})}
	binariesOf := func(st *state.State) entity.Binaries {
		t.Helper()
		p, err := st.Settings().Binaries(t.Context())
		s.ok(err)
		return p
	}
	recorded := entity.Binaries{Version: "0.0.9", SHA256: strings.Repeat("cd", 32)}
	s.ok(s.st.Settings().SetBinaries(t.Context(), recorded))
	late, err := s.c.ctrl.AddModel(t.Context(), controller.AddModelParams{Name: "late", Owner: statetest.Admin})
	s.ok(err)
	s.ok(c.confirm(t.Context()))
	if got := binariesOf(late); got != (entity.Binaries{}) {
		t.Errorf("without an upgrade it has %v", got)
	}
	archive, to := binariestest.Pack(t, "0.2.0", binariestest.Script("0.2.0"))
	from := entity.Binaries{Version: "0.1.0"}
	s.ok(c.upgrades.Install(t.Context(), bytes.NewReader(archive), to))
	s.ok(c.upgrades.Switch(t.Context(), from, to))
	s.ok(c.confirm(t.Context()))
	if got := binariesOf(late); got != from {
		t.Errorf("it has %v, want %v", got, from)
	}
	if got := binariesOf(s.st); got != recorded {
		t.Errorf("a model that had a record has %v, want %v", got, recorded)
	}
}

// New machines get the binaries that their model's agents run until the model is upgraded, however often the
// controller is.
func TestNewMachinesHaveTheBinariesOfTheirModel(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	c := &running{conf: s.c.conf, ctrl: s.c.ctrl, upgrades: binaries.New(t.TempDir(), binaries.Options{})}
	c.conf.Cloud = "lxd" // whose machines download agent binaries
	has := func(want entity.Binaries) {
		t.Helper()
		tools, err := c.tools(s.st)(t.Context())
		s.ok(err)
		got := tools[runtime.GOARCH]
		if got.SHA256 != want.SHA256 || len(got.URLs) == 0 || !strings.HasSuffix(got.URLs[0], "/tools/"+want.SHA256) {
			t.Errorf("a new machine downloads %s from %q, want %s", got.SHA256, got.URLs, want.SHA256)
		}
		if c.archive(got.SHA256) == "" {
			t.Errorf("there is no archive %s", got.SHA256)
		}
	}
	var all []entity.Binaries
	var before entity.Binaries
	for _, text := range []string{"1", "2", "3"} {
		archive, p := binariestest.Pack(t, "0.2.0", binariestest.Script("0.2.0")+"# build "+text)
		file := filepath.Join(t.TempDir(), "archive")
		s.ok(os.WriteFile(file, archive, 0o600))
		s.ok((&upgrades{running: c}).Install(t.Context(), file, p))
		all = append(all, p)
		// The controller is upgraded to them, and works.
		s.ok(c.upgrades.Switch(t.Context(), before, p))
		c.binaries = &facades.Binaries{Path: c.upgrades.Archive(p.SHA256), SHA256: p.SHA256}
		s.ok(c.confirm(t.Context()))
		before = p
		if text == "1" {
			has(p)
			s.ok(s.st.Settings().SetBinaries(t.Context(), p))
		}
		has(all[0])
	}
	s.ok(s.st.Settings().SetBinaries(t.Context(), all[2]))
	has(all[2])
	s.ok(c.confirm(t.Context()))
	if c.archive(all[0].SHA256) != "" {
		t.Error("the archive stays that no model wants")
	}
	for _, name := range []string{"", "..", "programs.json"} {
		if got := c.archive(name); got != "" {
			t.Errorf("%q is the archive %s", name, got)
		}
	}
}

// What one controller has received, the others that share its store get from there, for themselves and for agents that ask
// them. It can be switched to only under its own version.
func TestControllersShareBinaries(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	several := func() *running {
		c := &running{conf: s.c.conf, ctrl: s.c.ctrl, own: t.TempDir(), upgrades: binaries.New(t.TempDir(), binaries.Options{})}
		c.replacing, c.members = &upgrades{running: c}, &membership{running: c}
		return c
	}
	one, other := several(), several()
	archive, p := binariestest.Pack(t, "0.2.0", binariestest.Script("0.2.0"))
	file := filepath.Join(t.TempDir(), "archive")
	s.ok(os.WriteFile(file, archive, 0o600))
	if other.archive(p.SHA256) != "" {
		t.Error("there is an archive already")
	}
	if err := other.beginUpgrade(t.Context(), "admin", p); !errors.Is(err, entity.NotFound) {
		t.Errorf("binaries that no one has: %v", err)
	}
	s.ok(one.replacing.Install(t.Context(), file, p))
	got, err := os.ReadFile(other.archive(p.SHA256))
	if s.ok(err); !bytes.Equal(got, archive) {
		t.Errorf("the other one has %d bytes of %d", len(got), len(archive))
	}
	wrong := p
	wrong.Version = "9.0.0"
	if err := other.beginUpgrade(t.Context(), "admin", wrong); !errors.Is(err, entity.Invalid) {
		t.Errorf("a wrong version: %v", err)
	}
	s.ok(other.beginUpgrade(t.Context(), "admin", p))
	s.ok(other.replacing.Install(t.Context(), other.archive(p.SHA256), p))
	s.ok(other.upgrades.Within(turnBound).Switch(t.Context(), entity.Binaries{}, p))
	if r, err := other.upgrades.Record(); !r.Trial || r.Current != p || r.Bound != turnBound || err != nil {
		t.Errorf("the record is %+v, %v", r, err)
	}
}

// While the only controller's first companion is on its way, the upgrade is refused: it would not know that the data changes.
func TestALoneControllerIsNotUpgradedWhileAnotherIsBeingAdded(t *testing.T) {
	t.Parallel()
	ctrl, st := statetest.ControllerWith(t, controller.Options{Shared: true})
	m, err := st.AddMachine(t.Context(), state.AddMachineParams{Series: "jammy", Jobs: []string{"JobManageModel"}})
	statetest.OK(t, err)
	c := &running{ctrl: ctrl, conf: config{Model: st.UUID(), Machine: m.ID()}}
	joins := func(id string) {
		t.Helper()
		statetest.OK(t, ctrl.SetNode(t.Context(), controller.Node{ID: id, Version: "0.1.0"}))
	}
	joins(c.conf.machine())
	p := entity.Binaries{Version: "0.2.0", SHA256: strings.Repeat("ab", 32)}
	statetest.OK(t, ctrl.KeepBinaries(t.Context(), p, strings.NewReader("archive")))
	changes, err := st.EnableHA(t.Context(), state.EnableHAParams{Controllers: 3})
	statetest.OK(t, err)
	err = c.beginUpgrade(t.Context(), "admin", p)
	if !errors.Is(err, entity.InUse) || err.Error() != "controller "+changes.Added[0]+" is being added" {
		t.Errorf("got %v", err)
	}
	joins(changes.Added[0])
	statetest.OK(t, c.beginUpgrade(t.Context(), "admin", p))
}
