package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// isStorage reports whether a name is that of a storage instance, or of one whose filesystem is
// left, and not of a unit: the two look alike.
func (st *State) isStorage(ctx context.Context, name string) bool {
	if !entity.IsValidStorage(name) {
		return false
	}
	if _, err := st.Unit(ctx, name); !entity.IsNotFound(err) {
		return false
	}
	if _, err := st.Storage(ctx, name); err == nil {
		return true
	}
	left, err := st.leftoversOf(ctx, modeldb.StorageKey(name))
	return err == nil && len(left) > 0
}

// awaitedStorage says which storage an Alive unit does not have yet.
func (x *explainer) awaitedStorage(u *Unit, depth int) error {
	missing := bson.D{{"unit", u.doc.Name}, {"life", entity.Alive}, {"location", bson.D{{"$exists", false}}}}
	all, err := x.st.attachments(missing)
	for _, a := range all {
		x.add(entity.Reason{Depth: depth, Of: u.tag().String(), Ref: "attachments", Since: a.doc.Since,
			Text: fmt.Sprintf("unit %q waits for storage %q", u.doc.Name, a.doc.Storage)})
		if x.seen[a.tag()] {
			continue
		}
		if _, err := x.explain(a.tag(), depth+1); err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	return err
}

// explainAfter adds to the text of a reason which storage must be attached or detached first.
func (a *attachment) explainAfter(text string) (string, error) {
	_, after, err := a.meets()
	if after != "" {
		text += fmt.Sprintf(", after storage %q", after)
	}
	return text, err
}

// storage says what a storage instance waits for.
func (x *explainer) storage(s *Storage, depth int) error {
	a, err := x.st.attachmentOf(s.doc.ID)
	if err != nil {
		return err
	}
	reason := entity.Reason{Depth: depth, Of: s.tag().String(), By: entity.ByProvisioner, Since: s.doc.Since}
	switch {
	case a != nil && a.doc.Life == entity.Dying:
		reason.By, reason.Since = entity.UnitTag(a.doc.Unit).String(), a.doc.Since
		reason.Text = fmt.Sprintf("the agent of unit %q must run its hooks and detach storage %q", a.doc.Unit, s.doc.ID)
	case a != nil && a.doc.Life == entity.Dead:
		reason.Since = a.doc.Since
		reason.Text = fmt.Sprintf("the storage provisioner must detach storage %q from machine %s", s.doc.ID, a.doc.Machine)
		if reason.Text, err = a.explainAfter(reason.Text); err != nil {
			return err
		}
	case s.doc.Life != entity.Alive:
		if n, err := x.barred(s, entity.Dead, depth); err != nil || n > 0 {
			return err
		}
		model, err := x.st.db.Model()
		if err != nil {
			return err
		}
		do := "destroy"
		if s.isReleased(model) {
			do = "release"
		}
		reason.Text = fmt.Sprintf("the storage provisioner must %s storage %q", do, s.doc.ID)
	case a != nil && a.doc.Location == "":
		reason.Since = a.doc.Since
		reason.Text = fmt.Sprintf("the storage provisioner must attach storage %q to machine %s", s.doc.ID, a.doc.Machine)
		if reason.Text, err = a.explainAfter(reason.Text); err != nil {
			return err
		}
	default:
		return nil
	}
	said, err := x.st.db.Status(modeldb.StorageKey(s.doc.ID))
	if err != nil {
		return err
	}
	if said.Status == entity.StatusError {
		reason.Text += ": " + said.Message
		reason.Hint, _ = said.Data["hint"].(string)
	}
	x.add(reason)
	return nil
}
