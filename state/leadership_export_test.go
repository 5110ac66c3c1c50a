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
		if err := leadership.Assert(ctx, u.st.db, o.Ops, u.doc, epoch); err != nil {
			return err
		}
		return u.st.writeText(ctx, o, u.doc.Service, text)
	})
}

// WriteText writes a text that anyone can write whom ctx does not fence off.
func (st *State) WriteText(ctx context.Context, service, text string) error {
	return st.change(ctx, func(o *ops) error { return st.writeText(ctx, o, service, text) })
}

func (st *State) writeText(ctx context.Context, o *ops, service, text string) error {
	_, err := st.LeadersText(ctx, service)
	switch {
	case entity.IsNotFound(err):
		o.Insert(ledC, service, bson.D{{"text", text}})
	case err != nil:
		return err
	default:
		o.Update(ledC, service, modeltxn.Exists, bson.D{{"$set", bson.D{{"text", text}}}})
	}
	return nil
}

const ledC = "led"

// LeadersText returns the text that a leader of the service wrote last.
func (st *State) LeadersText(ctx context.Context, service string) (string, error) {
	var doc struct {
		Text string `bson:"text"`
	}
	err := st.db.Get(ctx, ledC, service, &doc, "text")
	return doc.Text, err
}
