package controller

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/schema"
)

// Controllers that share a store may have different binaries for a while, and those of a newer schema would change what
// the older ones can't read then. So a controller with newer binaries first claims the schema that it needs, when none
// with older ones is there. One that begins to serve first makes itself known, and then checks that nothing newer is
// claimed: whichever is second sees the other.

// formsID is the id of the document with the claim.
const formsID = "forms"

// Forms are the versions of the schema of the controller's own database and of models.
type Forms struct {
	Controller int `bson:"controller"`
	Models     int `bson:"models"`
}

type formsDoc struct {
	ID    string `bson:"_id"`
	Forms `bson:",inline"`
	// Reached is set once the databases have these versions, except those that can't be upgraded.
	Reached bool `bson:"reached"`
}

// Covers reports whether a program that needs the forms f can use a store that has the others.
func (f Forms) Covers(others Forms) bool {
	return f.Controller >= others.Controller && f.Models >= others.Models
}

// Forms returns the forms that this program needs.
func (c *Controller) Forms() Forms {
	return Forms{c.form().Version(), c.modelForm().Version()}
}

// forms returns the claimed forms; there is false if none are.
func (c *Controller) forms(ctx context.Context) (doc formsDoc, there bool, err error) {
	err = c.db.Get(ctx, nodeUpgradesC, formsID, &doc, "forms")
	if entity.IsNotFound(err) {
		return doc, false, nil
	}
	return doc, err == nil, err
}

// CheckForms returns an error of the kind NotSupported if newer forms are claimed than this program knows.
func (c *Controller) CheckForms(ctx context.Context) error {
	doc, there, err := c.forms(ctx)
	if err == nil && there && !c.Forms().Covers(doc.Forms) {
		err = schema.TooNew("the store", max(doc.Controller, doc.Models), max(c.Forms().Controller, c.Forms().Models))
	}
	return err
}

// IsBehind reports whether the databases have older forms than this program needs. If it finds that none has, it records
// that.
func (c *Controller) IsBehind(ctx context.Context) (bool, error) {
	doc, there, err := c.forms(ctx)
	if err != nil || there && doc.Reached && doc.Covers(c.Forms()) {
		return false, err
	}
	behind, err := c.form().IsBehind(ctx, c.db)
	if err != nil || behind {
		return behind, err
	}
	var rows []ModelRow
	if err := c.db.All(ctx, modelsC, bson.D{{"step", stepReady}}, &rows); err != nil {
		return false, err
	}
	for _, row := range rows {
		db := c.store.Open(row.UUID)
		behind, err := c.modelForm().IsBehind(ctx, db)
		db.Close(closing())
		if err != nil || behind {
			return behind, err
		}
	}
	return false, c.setForms(ctx, true)
}

// ClaimForms makes programs that do not know this one's forms stop, and not start again.
func (c *Controller) ClaimForms(ctx context.Context) error { return c.setForms(ctx, false) }

// setForms records this program's forms. The error is NotSupported if newer ones are claimed.
func (c *Controller) setForms(ctx context.Context, reached bool) error {
	return c.db.Change(ctx, func(o *mongo.Ops) error {
		was, there, err := c.forms(ctx)
		next := formsDoc{formsID, c.Forms(), reached}
		switch {
		case err != nil:
			return err
		case !there:
			o.Insert(nodeUpgradesC, formsID, next)
			return nil
		case was.Forms == next.Forms && (was.Reached || !reached):
			return mongo.ErrNothing
		}
		if err := c.CheckForms(ctx); err != nil {
			return err
		}
		o.Update(nodeUpgradesC, formsID, bson.D{{"controller", was.Controller}, {"models", was.Models}},
			bson.D{{"$set", bson.D{{"controller", next.Controller}, {"models", next.Models}, {"reached", reached}}}})
		return nil
	})
}
