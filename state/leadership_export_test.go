package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// WriteAsLeader writes a text that only the leader of the unit's service can
// write. epoch is what its claim returned.
func (u *Unit) WriteAsLeader(ctx context.Context, epoch int64, text string) error {
	return u.st.db.Run(ctx, func(int) ([]txn.Op, error) {
		o := newOps()
		if err := u.leaderOps(o, epoch); err != nil {
			return nil, err
		}
		if _, err := u.st.LeadersText(u.doc.Service); isNotFound(err) {
			o.insert(ledC, u.doc.Service, bson.D{{"text", text}})
		} else if err != nil {
			return nil, err
		} else {
			o.update(ledC, u.doc.Service, exists, bson.D{{"$set", bson.D{{"text", text}}}})
		}
		return o.build()
	})
}

const ledC = "led"

// LeadersText returns the text that a leader of the service wrote last.
func (st *State) LeadersText(service string) (string, error) {
	var doc struct {
		Text string `bson:"text"`
	}
	err := st.db.Get(ledC, service, &doc, "text")
	return doc.Text, err
}

// Leases returns the number of leases, of all models.
func (c *Controller) Leases() (int, error) { return c.db.Count(leasesC, nil) }

// PutLease overwrites a lease, as a restored backup does.
func (c *Controller) PutLease(ctx context.Context, model, service, holder string, epoch int64) error {
	l, err := c.readLease(leaseID(model, service))
	if err != nil {
		return err
	}
	_, err = c.swapLease(ctx, l, leaseDoc{ID: l.ID, Holder: holder, Epoch: epoch, Duration: MinLease})
	return err
}
