package state_test

import (
	mgo "gopkg.in/mgo.v2"

	"juju/state"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/statetest"
)

// controllerDB opens the controller's own database.
func (w *world) controllerDB() *mongo.Database {
	w.Helper()
	return statetest.ControllerDB(w, w.store)
}

// putLease overwrites a lease, as a restored backup does.
func (w *world) putLease(service, holder string, epoch int64) {
	w.Helper()
	doc := lease.Doc{ID: lease.ID(w.st.UUID(), service), Holder: holder, Epoch: epoch, Duration: state.MinLease}
	w.ok(w.controllerDB().With(w.ctx, lease.Collection, func(c *mgo.Collection) error {
		_, err := c.UpsertId(doc.ID, doc)
		return err
	}))
}
