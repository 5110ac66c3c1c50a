package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/leadership"
	"juju/state/internal/modeltxn"
)

// WriteAsLeader writes a text that only the leader of the unit's service can
// write. epoch is what its claim returned.
func (u *Unit) WriteAsLeader(ctx context.Context, epoch int64, text string) error {
	return u.st.change(ctx, func(o *ops) error {
		if err := leadership.Assert(u.st.db, o.Ops, u.doc, epoch); err != nil {
			return err
		}
		if _, err := u.st.LeadersText(u.doc.Service); entity.IsNotFound(err) {
			o.Insert(ledC, u.doc.Service, bson.D{{"text", text}})
		} else if err != nil {
			return err
		} else {
			o.Update(ledC, u.doc.Service, modeltxn.Exists, bson.D{{"$set", bson.D{{"text", text}}}})
		}
		return nil
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
