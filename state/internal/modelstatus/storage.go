package modelstatus

import (
	"context"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
)

// Storage returns the named storage instances as users see them, or all, in natural order. The error is entity.NotFound
// if a named one does not exist.
func Storage(ctx context.Context, db *modeltxn.DB, ids ...string) ([]entity.StorageStatus, error) {
	var query, attachments, statuses bson.D
	for _, id := range ids {
		if _, err := db.Storage(ctx, id); err != nil {
			return nil, err
		}
	}
	if len(ids) > 0 {
		keys := make([]string, len(ids))
		for i, id := range ids {
			keys[i] = modeldb.StorageKey(id)
		}
		query = bson.D{{"_id", bson.D{{"$in", ids}}}}
		attachments = bson.D{{"storage", bson.D{{"$in", ids}}}}
		statuses = bson.D{{"_id", bson.D{{"$in", keys}}}}
	}
	all, err := db.Storages(ctx, query)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	attached, err := db.Attachments(ctx, attachments)
	if err != nil {
		return nil, err
	}
	of := map[string]*modeldb.Attachment{}
	for i, a := range attached {
		of[a.Storage] = &attached[i]
	}
	if statuses == nil {
		prefix := modeldb.StorageKey("")
		statuses = bson.D{{"_id", bson.D{{"$gte", prefix}, {"$lt", prefix[:len(prefix)-1] + "$"}}}}
	}
	var docs []modeldb.Status
	if err := db.All(ctx, modeldb.StatusesC, statuses, &docs); err != nil {
		return nil, err
	}
	said := map[string]modeldb.Status{}
	for _, d := range docs {
		said[d.ID] = d
	}
	model, err := db.Model(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]entity.StorageStatus, len(all))
	for i, s := range all {
		a := of[s.ID]
		out[i] = entity.StorageStatus{ID: s.ID, Pool: s.Pool.Name, Size: s.ActualSize(), Life: s.Life,
			Persistent: s.IsPersistent(), Release: s.Life != entity.Alive && s.IsReleased(model), Filesystem: s.Filesystem,
			Status: limits.MendStatus(shownStatus(s, a, said[modeldb.StorageKey(s.ID)]))}
		if a != nil {
			out[i].Unit, out[i].Machine = a.Unit, a.Machine
			out[i].Location, out[i].AttachmentLife = a.Location, a.Life
		}
	}
	return out, nil
}

// shownStatus returns the status that users see: the storage provisioner's error, or the status that follows from the
// lives of the instance and its attachment.
func shownStatus(s modeldb.Storage, a *modeldb.Attachment, said modeldb.Status) entity.Status {
	status := entity.Status{Status: entity.StatusPending, Since: s.Since}
	set := func(word entity.StatusWord, since time.Time) { status.Status, status.Since = word, since }
	switch {
	case said.Status == entity.StatusError:
		return said.Mended()
	case a != nil && a.Life != entity.Alive:
		set(entity.StatusDetaching, a.Since)
	case s.Life != entity.Alive:
		set(entity.StatusDestroying, s.Since)
	case a != nil && a.Location != "":
		set(entity.StatusAttached, a.Since)
	case a != nil && s.Filesystem != "":
		set(entity.StatusAttaching, a.Since)
	case a == nil && s.Filesystem != "":
		set(entity.StatusDetached, s.Since)
	}
	return status
}
