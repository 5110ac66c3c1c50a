package explain

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// awaitedStorage explains which storage of an Alive unit is not attached yet.
func (x *explainer) awaitedStorage(ctx context.Context, u modeldb.Unit, depth int) error {
	missing := bson.D{{"unit", u.Name}, {"life", entity.Alive}, {"location", bson.D{{"$exists", false}}}}
	all, err := x.db.Attachments(ctx, missing)
	for _, a := range all {
		x.add(entity.Reason{Depth: depth, Of: entity.UnitTag(u.Name).String(), Ref: "attachments", Since: a.Since,
			Text: fmt.Sprintf("unit %q waits for storage %q", u.Name, a.Storage)})
		tag := entity.StorageTag(a.Storage)
		if x.seen[tag] {
			continue
		}
		if _, err := x.explain(ctx, tag, depth+1); err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	return err
}

// after adds to the text of a reason which storage must be attached or detached first.
func (x *explainer) after(ctx context.Context, a modeldb.Attachment, text string) (string, error) {
	others, err := x.db.Attachments(ctx, bson.D{{"machine", a.Machine}})
	if _, after := a.Meets(others); after != "" {
		text += fmt.Sprintf(", after storage %q", after)
	}
	return text, err
}

// storage explains what a storage instance is waiting for.
func (x *explainer) storage(ctx context.Context, s modeldb.Storage, depth int) error {
	a, err := x.db.AttachmentOf(ctx, s.ID)
	if err != nil {
		return err
	}
	reason := entity.Reason{Depth: depth, Of: entity.StorageTag(s.ID).String(), By: entity.ByProvisioner, Since: s.Since}
	switch {
	case a != nil && a.Life == entity.Dying:
		unit := entity.UnitTag(a.Unit)
		reason.By, reason.Since = unit.String(), a.Since
		reason.Text = fmt.Sprintf("the agent of unit %q must run its hooks and detach storage %q", a.Unit, s.ID)
		x.add(reason)
		if x.seen[unit] {
			return nil
		}
		// What keeps it from that, such as a hook that has failed.
		if _, err := x.explain(ctx, unit, depth+1); !entity.IsNotFound(err) {
			return err
		}
		return nil
	case a != nil && a.Life == entity.Dead:
		reason.Since = a.Since
		reason.Text = fmt.Sprintf("the storage provisioner must detach storage %q from machine %s", s.ID, a.Machine)
		if reason.Text, err = x.after(ctx, *a, reason.Text); err != nil {
			return err
		}
	case s.Life != entity.Alive:
		if n, err := x.barred(ctx, ofStorage(s), entity.Dead, depth); err != nil || n > 0 {
			return err
		}
		model, err := x.db.Model(ctx)
		if err != nil {
			return err
		}
		do := "destroy"
		if s.IsReleased(model) {
			do = "release"
		}
		reason.Text = fmt.Sprintf("the storage provisioner must %s storage %q", do, s.ID)
	case a != nil && a.Location == "":
		reason.Since = a.Since
		reason.Text = fmt.Sprintf("the storage provisioner must attach storage %q to machine %s", s.ID, a.Machine)
		if reason.Text, err = x.after(ctx, *a, reason.Text); err != nil {
			return err
		}
	default:
		return nil
	}
	said, err := x.db.Status(ctx, modeldb.StorageKey(s.ID))
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
