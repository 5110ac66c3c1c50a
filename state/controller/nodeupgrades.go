package controller

import (
	"context"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// The controllers that share a store are upgraded one after another. One document says to what, and whose turn it is.
// Each change of it asserts the document that it was made from, so one controller at a time has the turn.

// nodeUpgradeID is the id of that document.
const nodeUpgradeID = "upgrade"

type nodeUpgradeDoc struct {
	ID                       string `bson:"_id"`
	Revision                 int64  `bson:"revision"` // differs between changes
	entity.ControllerUpgrade `bson:",inline"`
}

// NodeUpgrade returns the last upgrade of the controllers; nil if there was none.
func (c *Controller) NodeUpgrade(ctx context.Context) (*entity.ControllerUpgrade, error) {
	doc, err := c.nodeUpgrade(ctx)
	if doc == nil {
		return nil, err
	}
	return &doc.ControllerUpgrade, err
}

func (c *Controller) nodeUpgrade(ctx context.Context) (*nodeUpgradeDoc, error) {
	doc := &nodeUpgradeDoc{}
	err := c.db.Get(ctx, nodeUpgradesC, nodeUpgradeID, doc, "upgrade")
	if entity.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return doc, nil
}

// WatchNodeUpgrade sends an event when the result of NodeUpgrade, or that of CheckForms, may have changed.
func (c *Controller) WatchNodeUpgrade(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, c.hub, watcher.Collection(nodeUpgradesC)), nil
}

// BeginNodeUpgrade begins an upgrade of the controllers. If the same one is going on, that is a repetition, which does
// nothing; while another one is, the error is InUse, unless that one is stuck: it may be what the new one repairs.
func (c *Controller) BeginNodeUpgrade(ctx context.Context, to entity.Binaries, by string) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		was, err := c.nodeUpgrade(ctx)
		next := nodeUpgradeDoc{nodeUpgradeID, 1, entity.ControllerUpgrade{To: to, By: by, Began: c.now()}}
		switch {
		case err != nil:
			return err
		case was == nil:
			o.Insert(nodeUpgradesC, nodeUpgradeID, next)
			return nil
		case was.IsGoing() && was.To.Same(to):
			return mongo.ErrNothing
		case was.IsGoing() && (was.Turn != "" || len(was.Failed) == 0):
			return entity.WithHint(entity.Errorf(entity.InUse, "the controllers are being upgraded to %s", was.To.Build()),
				"To see how far that is: juju show-controller")
		}
		replaceNodeUpgrade(o, was, next)
		return nil
	})
}

// replaceNodeUpgrade replaces a document that was read, unless it has changed since.
func replaceNodeUpgrade(o *mongo.Ops, was *nodeUpgradeDoc, next nodeUpgradeDoc) {
	next.Revision = was.Revision + 1
	o.Update(nodeUpgradesC, nodeUpgradeID, bson.D{{"revision", was.Revision}}, bson.D{{"$set", next.fields()}})
}

// fields returns all fields but the id.
func (d nodeUpgradeDoc) fields() bson.D {
	return bson.D{{"revision", d.Revision}, {"to", d.To}, {"by", d.By}, {"began", d.Began}, {"ended", d.Ended},
		{"cancelled", d.Cancelled}, {"turn", d.Turn}, {"turns", d.Turns}, {"changed", d.Changed}, {"failed", d.Failed}}
}

// changeNodeUpgrade changes the upgrade by a function that returns false if there is nothing to change. Without an upgrade
// there is nothing to change.
func (c *Controller) changeNodeUpgrade(ctx context.Context,
	change func(*entity.ControllerUpgrade) bool) (changed bool, err error) {
	err = c.db.Change(ctx, func(o *mongo.Ops) error {
		was, err := c.nodeUpgrade(ctx)
		if err != nil {
			return err
		}
		changed = false
		if was == nil {
			return mongo.ErrNothing
		}
		next := *was
		next.Changed, next.Failed = slices.Clone(was.Changed), slices.Clone(was.Failed)
		if changed = change(&next.ControllerUpgrade); !changed {
			return mongo.ErrNothing
		}
		replaceNodeUpgrade(o, was, next)
		return nil
	})
	return changed && err == nil, err
}

// TakeTurn gives a node the turn to change to other binaries, and reports whether it did: no other node may have it, and
// the upgrade to these binaries must not have been cancelled.
func (c *Controller) TakeTurn(ctx context.Context, node string, to entity.Binaries) (bool, error) {
	return c.changeNodeUpgrade(ctx, func(u *entity.ControllerUpgrade) bool {
		if u.Turn != "" || u.Cancelled != "" || !u.To.Same(to) || slices.Contains(u.Changed, node) {
			return false
		}
		u.Turn, u.Turns = node, u.Turns+1
		return true
	})
}

// NodeChanged records that a node works with these binaries, and ends its turn.
func (c *Controller) NodeChanged(ctx context.Context, node string, to entity.Binaries) error {
	_, err := c.changeNodeUpgrade(ctx, func(u *entity.ControllerUpgrade) bool {
		if !u.To.Same(to) || slices.Contains(u.Changed, node) {
			return false
		}
		u.Changed = append(u.Changed, node)
		if u.Turn == node {
			u.Turn = ""
		}
		u.Failed = slices.DeleteFunc(u.Failed, func(f entity.ControllerUpgradeFailure) bool { return f.Machine == node })
		return true
	})
	return err
}

// NodeFailed records that a node can't change, and ends its turn. turn is the number of its turn, or 0 if it changed
// without one; if that turn has ended, this does nothing. If no node has changed yet, the upgrade is cancelled.
func (c *Controller) NodeFailed(ctx context.Context, node string, turn int, why string) error {
	_, err := c.changeNodeUpgrade(ctx, func(u *entity.ControllerUpgrade) bool {
		if turn != 0 && (u.Turn != node || u.Turns != turn) || turn == 0 && u.Turn == node || u.Cancelled != "" {
			return false
		}
		failed := entity.ControllerUpgradeFailure{Machine: node, Error: entity.Cut(why, maxWhy), Tries: 1, At: c.now()}
		if before := u.Failure(node); before != nil {
			failed.Tries += before.Tries
			*before = failed
		} else {
			u.Failed = append(u.Failed, failed)
		}
		if turn != 0 {
			u.Turn = ""
		}
		if len(u.Changed) == 0 {
			u.Ended, u.Cancelled = c.now(), "controller "+node+": "+failed.Error
		}
		return true
	})
	return err
}

// maxWhy is the maximum size of a failure's text in bytes.
const maxWhy = 1000

// EndNodeUpgrade records that nothing is left to do of the upgrade to these binaries, unless a node has the turn.
func (c *Controller) EndNodeUpgrade(ctx context.Context, to entity.Binaries) error {
	_, err := c.changeNodeUpgrade(ctx, func(u *entity.ControllerUpgrade) bool {
		if !u.IsGoing() || u.Turn != "" || !u.To.Same(to) {
			return false
		}
		u.Ended = c.now()
		return true
	})
	return err
}

// ForgetNodeUpgrade removes the upgrade and the archives of binaries, of which the store of a single controller has none.
func (c *Controller) ForgetNodeUpgrade(ctx context.Context) error {
	err := c.db.Change(ctx, func(o *mongo.Ops) error {
		was, err := c.nodeUpgrade(ctx)
		if err != nil {
			return err
		} else if was == nil {
			return mongo.ErrNothing
		}
		o.Remove(nodeUpgradesC, nodeUpgradeID, bson.D{{"revision", was.Revision}})
		return nil
	})
	if err != nil {
		return err
	}
	return c.sweepBinaries(0)
}
