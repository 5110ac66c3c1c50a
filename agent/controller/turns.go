package controller

import (
	"context"
	"slices"
	"time"

	"juju/agent"
	"juju/agent/binaries"
	"juju/state"
	"juju/state/entity"
	"juju/worker"
)

// turnBound is how long one of several controllers may take to come up with new binaries, at each start. Stored data is
// upgraded later, when all have come up.
const turnBound = 90 * time.Second

// turnBeats is for how many beats of another controller one that changes may be silent before its turn is lost. They last
// longer than all the starts that its new binaries get, so that it has reverted by then if it still exists.
const turnBeats = 100

// The pause before a controller that could not change is changed again, first and at most.
const (
	firstTurnRetry = time.Minute
	maxTurnRetry   = time.Hour
)

// A turner takes one controller's part in the upgrade of those that share a store. They change one after another, in an
// order in which the one that leads is the last.
type turner struct {
	id    string // the controller's machine
	store turnStore
	dir   turnDir
	runs  func() entity.Binaries
	// switchTo gets the binaries, and makes them current from the next start on, on trial.
	switchTo func(ctx context.Context, to entity.Binaries) error
	// nodes returns all controllers. lost reports whether one has been silent for so long that it loses its turn.
	nodes func(ctx context.Context) (all []entity.ControllerNode, lost func(id string) bool, err error)
	now   func() time.Time
	retry time.Duration // firstTurnRetry, except in tests
}

// A turnStore is what a turner needs of the store. *controller.Controller implements it.
type turnStore interface {
	NodeUpgrade(context.Context) (*entity.ControllerUpgrade, error)
	TakeTurn(ctx context.Context, node string, to entity.Binaries) (bool, error)
	NodeChanged(ctx context.Context, node string, to entity.Binaries) error
	NodeFailed(ctx context.Context, node string, turn int, why string) error
	EndNodeUpgrade(ctx context.Context, to entity.Binaries) error
}

// A turnDir is what it needs of the directory of its binaries. binaries.Dir implements it.
type turnDir interface {
	Record() (binaries.Record, error)
	Revert(why string) (bool, error)
	Forgive() error
}

// begin does what must be done before the controller serves, and reports whether it must restart. What it serves is
// nothing yet, so it changes without a turn, once the first of the others has shown that the new binaries work.
func (t turner) begin(ctx context.Context) (restart bool, err error) {
	u, err := t.store.NodeUpgrade(ctx)
	if err != nil || u == nil {
		return false, err
	}
	record, err := t.dir.Record()
	if err != nil {
		return false, err
	}
	turn := t.turn(u)
	switch {
	case u.Cancelled != "":
		if !record.Trial || !t.runs().Same(u.To) {
			return false, nil
		}
		return t.dir.Revert("the upgrade was cancelled: " + u.Cancelled)
	case !t.wants(u):
		return false, nil
	case record.Failed != nil && record.Failed.Same(u.To):
		return false, nil // which is told when the old ones serve again
	case turn == 0 && len(u.Changed) == 0, turn == 0 && t.rests(u.Failure(t.id)):
		return false, nil
	}
	return t.change(ctx, u, turn)
}

// turn returns the number of this controller's turn; 0 if it has none.
func (t turner) turn(u *entity.ControllerUpgrade) int {
	if u.Turn == t.id {
		return u.Turns
	}
	return 0
}

// wants reports whether this controller is to change.
func (t turner) wants(u *entity.ControllerUpgrade) bool {
	return u.Cancelled == "" && isUpgrade(t.runs(), u.To)
}

// isUpgrade reports whether binaries are replaced by others. No controller is downgraded.
func isUpgrade(from, to entity.Binaries) bool {
	order, err := entity.CompareVersions(from.Version, to.Version)
	return !from.Same(to) && err == nil && order <= 0
}

// change changes to the binaries of an upgrade, in a turn or without one, which is 0.
func (t turner) change(ctx context.Context, u *entity.ControllerUpgrade, turn int) (restart bool, err error) {
	logger.Infof("this controller changes to version %s", u.To.Build())
	err = t.switchTo(ctx, u.To)
	if err == nil || ctx.Err() != nil {
		return err == nil, err
	}
	logger.Errorf("cannot change to version %s: %v", u.To.Build(), err)
	return false, t.store.NodeFailed(ctx, t.id, turn, err.Error())
}

// next takes the next step of an upgrade while the controller serves, and reports whether it must restart.
func (t turner) next(ctx context.Context) (restart bool, err error) {
	u, err := t.store.NodeUpgrade(ctx)
	if err != nil || u == nil || u.Cancelled != "" {
		return false, err
	}
	if t.runs().Same(u.To) && !slices.Contains(u.Changed, t.id) {
		return false, t.store.NodeChanged(ctx, t.id, u.To)
	}
	if !u.IsGoing() && u.Turn == "" && !t.wants(u) {
		return false, nil
	}
	record, err := t.dir.Record()
	if err != nil {
		return false, err
	}
	if record.Failed != nil && record.Failed.Same(u.To) {
		return false, t.fail(ctx, u, record.Failed.Error)
	}
	nodes, lost, err := t.nodes(ctx)
	if err != nil {
		return false, err
	}
	switch {
	case u.Turn == t.id && t.wants(u):
		return t.change(ctx, u, u.Turns)
	case u.Turn == t.id: // others were installed by hand meanwhile
		return false, t.store.NodeFailed(ctx, t.id, u.Turns, "it runs version "+t.runs().Build())
	case u.Turn != "" && u.Turn != t.id && lost(u.Turn):
		return false, t.store.NodeFailed(ctx, u.Turn, u.Turns, "it has not come up again")
	case u.Turn == "" && t.isFirst(u, nodes):
		return t.take(ctx, u)
	case u.IsGoing() && u.Turn == "" && areDone(u, nodes):
		return false, t.store.EndNodeUpgrade(ctx, u.To)
	}
	return false, nil
}

// fail tells that a trial of the binaries has failed. It may be one of an earlier upgrade to the same ones.
func (t turner) fail(ctx context.Context, u *entity.ControllerUpgrade, why string) error {
	if turn := t.turn(u); turn != 0 || len(u.Changed) > 0 {
		if err := t.store.NodeFailed(ctx, t.id, turn, why); err != nil {
			return err
		}
	}
	return t.dir.Forgive()
}

// isFirst reports whether it is this controller that changes next.
func (t turner) isFirst(u *entity.ControllerUpgrade, nodes []entity.ControllerNode) bool {
	if !t.wants(u) {
		return false
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n entity.ControllerNode) bool {
		return !n.Up || n.Waits || !isUpgrade(n.Binaries(), u.To) || t.rests(u.Failure(n.Machine))
	})
	slices.SortStableFunc(nodes, func(a, b entity.ControllerNode) int {
		switch {
		case a.Leads == b.Leads:
			return entity.CompareNatural(a.Machine, b.Machine)
		case a.Leads:
			return 1
		}
		return -1
	})
	return len(nodes) > 0 && nodes[0].Machine == t.id
}

// rests reports whether a controller that could not change, for which f is not nil, is not to be changed again yet.
func (t turner) rests(f *entity.ControllerUpgradeFailure) bool {
	return f != nil && t.now().Before(f.At.Add(min(t.retry<<min(f.Tries-1, 20), maxTurnRetry)))
}

// areDone reports whether nothing is left to do: all controllers that are there run the new binaries, and serve.
func areDone(u *entity.ControllerUpgrade, nodes []entity.ControllerNode) bool {
	return !slices.ContainsFunc(nodes, func(n entity.ControllerNode) bool {
		runs := n.Binaries()
		return n.Up && (n.Waits || isUpgrade(runs, u.To) || runs.Same(u.To) && !slices.Contains(u.Changed, n.Machine))
	})
}

// take takes the turn, unless another controller is faster, and changes.
func (t turner) take(ctx context.Context, u *entity.ControllerUpgrade) (restart bool, err error) {
	took, err := t.store.TakeTurn(ctx, t.id, u.To)
	if err != nil || !took {
		return false, err
	}
	if u, err = t.store.NodeUpgrade(ctx); err != nil || u == nil || u.Turn != t.id {
		return false, err
	}
	return t.change(ctx, u, u.Turns)
}

// ownBinaries returns what this process runs.
func ownBinaries() entity.Binaries {
	return entity.Binaries{Version: agent.Version, SHA256: binaries.Own(), Commit: agent.BuiltFrom()}
}

// turner returns the controller's turner.
func (c *running) turner() turner {
	return turner{id: c.conf.machine(), store: c.ctrl, dir: c.upgrades, runs: ownBinaries, nodes: c.members.turns, now: time.Now,
		retry: firstTurnRetry, switchTo: func(ctx context.Context, to entity.Binaries) error {
			path := c.archive(to.SHA256)
			if path == "" {
				return entity.Errorf(entity.NotFound, "the agent binaries of version %s cannot be had from the store", to.Version)
			}
			if err := c.replacing.Install(ctx, path, to); err != nil {
				return err
			}
			nodes, err := c.ctrl.Nodes(ctx)
			if err != nil {
				return err
			}
			bound := turnBound
			if len(nodes) < 2 {
				bound = 0 // it also upgrades the stored data
			}
			return c.replacing.switchTo(ctx, to, bound)
		}}
}

// beginUpgrade begins the upgrade of the controllers that share the store to binaries that were uploaded.
func (c *running) beginUpgrade(ctx context.Context, by string, to entity.Binaries) error {
	stored, archive, err := c.ctrl.OpenBinaries(to.SHA256)
	if entity.IsNotFound(err) {
		return entity.Errorf(entity.NotFound, "agent binaries of version %s are not installed", to.Version)
	} else if err != nil {
		return err
	}
	archive.Close()
	if stored.Version != to.Version {
		// The caller's claim must not decide whether this is a downgrade.
		return entity.Errorf(entity.Invalid, "the agent binaries have version %s, not %s", stored.Version,
			entity.Named(to.Version))
	}
	nodes, err := c.ctrl.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if order, err := entity.CompareVersions(to.Version, n.Version); err == nil && order < 0 {
			return entity.Errorf(entity.Invalid, "cannot upgrade the controllers to %s: the version of controller %s is %s, and a "+
				"downgrade is not supported", to.Version, n.ID, n.Version)
		}
	}
	if len(nodes) == 1 {
		if err := c.checkJoining(ctx); err != nil {
			return err
		}
	}
	if c.binaries != nil {
		// New machines of models that are not upgraded yet need them, whichever controller they ask.
		own := ownBinaries()
		own.SHA256 = c.binaries.SHA256
		if err := c.storeArchive(ctx, c.binaries.Path, own); err != nil {
			return err
		}
	}
	return c.ctrl.BeginNodeUpgrade(ctx, stored, by)
}

// checkJoining returns an error if another controller is still being added. A lone one upgrades the stored data when it
// starts, so one that begins to serve at that time could not read it.
func (c *running) checkJoining(ctx context.Context) error {
	own, err := c.ctrl.Model(ctx, c.conf.Model)
	if err != nil {
		return err
	}
	machines, err := own.Machines(ctx)
	if err != nil {
		return err
	}
	for _, m := range machines {
		if m.IsManager() && m.ID() != c.conf.machine() {
			return entity.WithHint(entity.Errorf(entity.InUse, "controller %s is being added", m.ID()), "Wait until it is up: "+
				"juju show-controller\nOr remove it: juju destroy-machine -m %s %s", state.ControllerModel, m.ID())
		}
	}
	return nil
}

// takeTurns returns the worker that takes this controller's part in an upgrade.
func (c *running) takeTurns() worker.Func {
	return func(ctx context.Context) error {
		return worker.NotifyAgain(ctx, c.ctrl.WatchNodeUpgrade, func(ctx context.Context) (time.Duration, error) {
			if err := c.checkForms(ctx); err != nil {
				return 0, err
			}
			restart, err := c.turner().next(ctx)
			if restart {
				c.restart(errUpgraded)
			}
			if err != nil {
				return 0, err
			}
			u, err := c.ctrl.NodeUpgrade(ctx)
			if err != nil || u == nil || !u.IsGoing() && u.Turn == "" && !c.turner().wants(u) {
				return 0, err
			}
			return beatEvery, nil // what others do is also seen in their beats
		})
	}
}
