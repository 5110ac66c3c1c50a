package controller_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/schema"
)

var newBinaries = entity.Binaries{Version: "2.0.0", SHA256: strings.Repeat("ab", 32), Commit: "c0ffee"}

// One controller at a time has the turn, however many want it at once, and it ends only that turn.
func TestOneNodeHasTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ok(w.ctrl.BeginNodeUpgrade(w.ctx, newBinaries, "admin"))
	takes := func(node string, to entity.Binaries) bool {
		t.Helper()
		took, err := w.ctrl.TakeTurn(w.ctx, node, to)
		w.ok(err)
		return took
	}
	w.before(func() {
		if !takes("2", newBinaries) {
			t.Error("node 2 does not get the first turn")
		}
	})
	if takes("1", newBinaries) || takes("2", newBinaries) || takes("3", entity.Binaries{Version: "2.0.0"}) {
		t.Error("two nodes have the turn")
	}
	w.ok(w.ctrl.NodeFailed(w.ctx, "2", 7, "another turn"))
	w.ok(w.ctrl.NodeFailed(w.ctx, "1", 1, "another node"))
	w.ok(w.ctrl.NodeFailed(w.ctx, "2", 0, "without a turn"))
	w.ok(w.ctrl.EndNodeUpgrade(w.ctx, newBinaries))
	u, err := w.ctrl.NodeUpgrade(t.Context())
	if w.ok(err); u.Turn != "2" || u.Turns != 1 || !u.IsGoing() || len(u.Failed) > 0 {
		t.Errorf("the upgrade is %+v", u)
	}
	w.ok(w.ctrl.NodeChanged(w.ctx, "2", newBinaries))
	if takes("2", newBinaries) || !takes("1", newBinaries) {
		t.Error("the turn does not pass on")
	}

	var group sync.WaitGroup
	w.ok(w.ctrl.NodeFailed(w.ctx, "1", 2, "no such luck"))
	took := make(chan string, 8)
	for _, node := range []string{"3", "4", "5", "6", "7", "8"} {
		group.Go(func() {
			if is, err := w.ctrl.TakeTurn(w.ctx, node, newBinaries); err != nil {
				t.Error(err)
			} else if is {
				took <- node
			}
		})
	}
	group.Wait()
	if len(took) != 1 {
		t.Errorf("%d nodes have the turn", len(took))
	}
	w.ok(w.ctrl.NodeChanged(w.ctx, <-took, newBinaries))
	w.before(func() { w.ok(w.ctrl.ForgetNodeUpgrade(w.ctx)) })
	if takes("9", newBinaries) {
		t.Error("a node has the turn of an upgrade that is forgotten")
	}
	w.ok(w.ctrl.ForgetNodeUpgrade(w.ctx))
	if u, err := w.ctrl.NodeUpgrade(t.Context()); u != nil || err != nil {
		t.Errorf("the upgrade that is forgotten is %+v, %v", u, err)
	}
}

// An upgrade goes on until each node has changed or failed, which counts until it has changed. It is cancelled if the first
// node fails, and another one can begin then, but not while it goes on.
func TestNodeUpgradeEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node(time.Unix(1000, 0))
	later := entity.Binaries{Version: "2.1.0", SHA256: strings.Repeat("ef", 32)}
	read := func() *entity.ControllerUpgrade {
		t.Helper()
		u, err := n.NodeUpgrade(w.ctx)
		w.ok(err)
		return u
	}
	takes := func(node string, want bool) {
		t.Helper()
		if took, err := n.TakeTurn(w.ctx, node, newBinaries); took != want || err != nil {
			t.Errorf("node %s takes the turn: %v, %v", node, took, err)
		}
	}
	if u := read(); u != nil {
		t.Errorf("there is an upgrade: %+v", u)
	}
	w.ok(n.NodeFailed(w.ctx, "1", 0, "of no upgrade"))
	takes("1", false)
	w.ok(n.BeginNodeUpgrade(w.ctx, newBinaries, "admin"))
	w.ok(n.BeginNodeUpgrade(w.ctx, newBinaries, "bob")) // repeated
	err := n.BeginNodeUpgrade(w.ctx, later, "bob")
	w.refused(err, entity.InUse, "the controllers are being upgraded to 2.0.0")
	takes("1", true)
	n.passes(time.Minute)
	w.ok(n.NodeFailed(w.ctx, "1", 1, strings.Repeat("x", 2000)))
	u := read()
	if u.By != "admin" || u.Began.Unix() != 1000 || u.Ended.Unix() != 1060 || u.IsGoing() || u.Turn != "" || u.Turns != 1 ||
		!strings.HasPrefix(u.Cancelled, "controller 1: xxx") || len(u.Cancelled) > 1100 {
		t.Errorf("after the first node has failed the upgrade is %+v", u)
	}
	takes("2", false)
	w.ok(n.NodeFailed(w.ctx, "2", 0, "after the end"))
	if u := read(); len(u.Failed) != 1 {
		t.Errorf("an upgrade that is cancelled is %+v", u)
	}

	w.ok(n.BeginNodeUpgrade(w.ctx, newBinaries, "bob")) // anew
	if u := read(); u.By != "bob" || u.Began.Unix() != 1060 || !u.IsGoing() || u.Cancelled != "" || len(u.Failed) > 0 || u.Turns != 0 {
		t.Errorf("the upgrade that begins anew is %+v", u)
	}
	takes("1", true)
	w.ok(n.NodeChanged(w.ctx, "1", later)) // that is another upgrade
	w.ok(n.NodeChanged(w.ctx, "1", newBinaries))
	takes("2", true)
	w.ok(n.NodeFailed(w.ctx, "2", 2, "no such luck"))
	takes("2", true)
	w.refused(n.BeginNodeUpgrade(w.ctx, later, "bob"), entity.InUse, "the controllers are being upgraded")
	w.ok(n.NodeFailed(w.ctx, "2", 3, "again"))
	w.ok(n.NodeFailed(w.ctx, "3", 0, "without a turn"))
	if u := read(); !u.IsGoing() || len(u.Failed) != 2 || u.Failure("2").Tries != 2 || u.Failure("2").Error != "again" ||
		u.Failure("3").Tries != 1 || !slices.Equal(u.Changed, []string{"1"}) || u.Turn != "" {
		t.Errorf("after failures the upgrade is %+v", u)
	}
	takes("2", true)
	w.ok(n.NodeChanged(w.ctx, "3", newBinaries)) // without a turn
	w.ok(n.EndNodeUpgrade(w.ctx, newBinaries))
	if u := read(); !u.IsGoing() || u.Turn != "2" || u.Failure("3") != nil || u.Failure("2") == nil {
		t.Errorf("while a node has the turn the upgrade is %+v", u)
	}
	w.ok(n.NodeChanged(w.ctx, "2", newBinaries))
	w.ok(n.EndNodeUpgrade(w.ctx, later))
	if u := read(); !u.IsGoing() || len(u.Failed) > 0 || len(u.Changed) != 3 {
		t.Errorf("after all nodes have changed the upgrade is %+v", u)
	}
	n.passes(time.Minute)
	w.ok(n.EndNodeUpgrade(w.ctx, newBinaries))
	n.passes(time.Minute)
	w.ok(n.EndNodeUpgrade(w.ctx, newBinaries))
	if u := read(); u.IsGoing() || u.Ended.Unix() != 1120 || u.Cancelled != "" {
		t.Errorf("the upgrade that has ended is %+v", u)
	}
	w.ok(n.BeginNodeUpgrade(w.ctx, later, "bob"))
	// One that is stuck makes way for what may repair it.
	if _, err := n.TakeTurn(w.ctx, "1", later); err != nil {
		t.Fatal(err)
	}
	w.ok(n.NodeChanged(w.ctx, "1", later))
	w.ok(n.NodeFailed(w.ctx, "2", 0, "broken"))
	w.ok(n.BeginNodeUpgrade(w.ctx, newBinaries, "bob"))
	if u := read(); !u.To.Same(newBinaries) || len(u.Changed) > 0 {
		t.Errorf("the upgrade that repairs is %+v", u)
	}
}

// Archives of binaries are in the store for all controllers. Those that nothing wants are removed, but not at once.
func TestBinariesAreInTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.node(time.Now())
	archive := bytes.Repeat([]byte("x"), 3<<20)
	other := entity.Binaries{Version: "2.0.1", SHA256: strings.Repeat("cd", 32)}
	for range 2 {
		w.ok(n.KeepBinaries(w.ctx, newBinaries, bytes.NewReader(archive)))
	}
	w.ok(n.KeepBinaries(w.ctx, other, strings.NewReader("other")))
	p, from, err := w.ctrl.OpenBinaries(newBinaries.SHA256)
	w.ok(err)
	defer from.Close()
	if got, err := io.ReadAll(from); p != newBinaries || !bytes.Equal(got, archive) || err != nil {
		t.Errorf("it has %d bytes of %+v, %v", len(got), p, err)
	}
	is := func(p entity.Binaries, there bool) {
		t.Helper()
		_, from, err := w.ctrl.OpenBinaries(p.SHA256)
		if err == nil {
			from.Close()
		}
		if err == nil != there || !there && !errors.Is(err, entity.NotFound) {
			t.Errorf("%s: %v", p.Version, err)
		}
	}
	w.ok(n.SweepBinaries())
	is(newBinaries, true)
	n.passes(2 * time.Hour)
	chunks := func() (n int) {
		t.Helper()
		w.ok(w.db().With(t.Context(), "binaries.chunks", func(c *mgo.Collection) (err error) { n, err = c.Count(); return err }))
		return n
	}
	// What a process that was killed has written of an archive.
	w.ok(w.db().With(t.Context(), "binaries.chunks", func(c *mgo.Collection) error {
		return c.Insert(bson.M{"_id": 1, "files_id": bson.NewObjectId(), "n": 0, "data": archive[:100]})
	}))
	w.ok(w.ctrl.SweepBinaries(newBinaries.SHA256, other.SHA256))
	if got := chunks(); got != 14+1 { // 13 for the first archive
		t.Errorf("there are %d chunks", got)
	}
	w.ok(n.SweepBinaries(other.SHA256))
	is(newBinaries, false)
	is(other, true)
	if got := chunks(); got != 1 {
		t.Errorf("there are %d chunks after the sweep", got)
	}
	w.ok(w.ctrl.ForgetNodeUpgrade(w.ctx))
	is(other, false)
}

// A controller with a newer schema claims it before it upgrades the stored data. From then on an older one must not serve.
func TestANewerSchemaIsClaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steps := append(slices.Clone(controller.Steps), schema.Step{About: "a test", Run: schema.Rename("leftovers", "remains")})
	older := w.node(time.Now())
	attach := func(o controller.Options) *controller.Controller {
		o.Shared = true
		c, err := controller.Attach(t.Context(), w.store, o)
		w.ok(err)
		t.Cleanup(c.Close)
		return c
	}
	newer := attach(controller.Options{Steps: steps})
	behind := func(c *controller.Controller, want bool) {
		t.Helper()
		if is, err := c.IsBehind(w.ctx); is != want || err != nil {
			t.Errorf("it is behind: %v, %v", is, err)
		}
	}
	behind(older.Controller, false)
	behind(newer, true)
	behind(attach(controller.Options{ModelSteps: []schema.Step{}}), false)
	w.ok(older.CheckForms(t.Context()))
	modelSteps := append(slices.Clone(state.Steps), schema.Step{About: "a test", Run: schema.Rename("leftovers", "remains")})
	newest := attach(controller.Options{Steps: steps, ModelSteps: modelSteps})
	w.ok(w.db().With(w.ctx, "controllerupgrades", func(c *mgo.Collection) error {
		was := older.Forms()
		return c.UpdateId("forms", bson.M{"$set": bson.M{"controller": was.Controller, "models": was.Models - 1}})
	}))
	w.before(func() {
		w.ok(w.db().With(w.ctx, "controllerupgrades", func(c *mgo.Collection) error {
			return c.UpdateId("forms", bson.M{"$set": bson.M{"models": newest.Forms().Models}})
		}))
	})
	w.refused(older.ClaimForms(w.ctx), entity.NotSupported, "the schema of the store has version") // it is claimed meanwhile
	w.ok(w.db().With(w.ctx, "controllerupgrades", func(c *mgo.Collection) error {
		return c.UpdateId("forms", bson.M{"$set": bson.M{"models": older.Forms().Models}})
	}))
	w.ok(newer.ClaimForms(w.ctx))
	w.refused(older.CheckForms(t.Context()), entity.NotSupported, "the schema of the store has version")
	w.refused(older.ClaimForms(w.ctx), entity.NotSupported, "")
	w.ok(newer.CheckForms(t.Context()))
	behind(newer, true)
	w.ok(newer.Upgrade(w.ctx))
	behind(newer, false)
	if _, err := controller.Open(w.ctx, w.store, controller.Options{Shared: true}); !errors.Is(err, entity.NotSupported) {
		t.Errorf("the older one opens: %v", err)
	}
}
