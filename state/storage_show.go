package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// StorageStatus returns the named storage instances as users see them, or all, in natural
// order. The error is entity.NotFound if one of those named does not exist.
func (st *State) StorageStatus(ctx context.Context, ids ...string) ([]entity.StorageStatus, error) {
	var query, attachments, statuses bson.D
	for _, id := range ids {
		if _, err := st.Storage(ctx, id); err != nil {
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
	all, err := st.storages(query)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	attached, err := st.attachments(attachments)
	if err != nil {
		return nil, err
	}
	of := map[string]*attachment{}
	for _, a := range attached {
		of[a.doc.Storage] = a
	}
	if statuses == nil {
		prefix := modeldb.StorageKey("")
		statuses = bson.D{{"_id", bson.D{{"$gte", prefix}, {"$lt", prefix[:len(prefix)-1] + "$"}}}}
	}
	var docs []modeldb.Status
	if err := st.db.All(modeldb.StatusesC, statuses, &docs); err != nil {
		return nil, err
	}
	said := map[string]modeldb.Status{}
	for _, d := range docs {
		said[d.ID] = d
	}
	model, err := st.db.Model()
	if err != nil {
		return nil, err
	}
	out := make([]entity.StorageStatus, len(all))
	for i, s := range all {
		a := of[s.doc.ID]
		out[i] = entity.StorageStatus{ID: s.doc.ID, Pool: s.doc.Pool.Name, Size: s.size(), Life: s.doc.Life,
			Persistent: s.doc.IsPersistent(), Release: s.doc.Life != entity.Alive && s.doc.IsReleased(model), Filesystem: s.doc.Filesystem,
			Status: s.shownStatus(a, said[modeldb.StorageKey(s.doc.ID)]).Mended()}
		if a != nil {
			out[i].Unit, out[i].Machine = a.doc.Unit, a.doc.Machine
			out[i].Location, out[i].AttachmentLife = a.doc.Location, a.doc.Life
		}
	}
	return out, nil
}

// StorageStatus returns the storage that the unit has, in natural order.
func (u *Unit) StorageStatus(ctx context.Context) ([]entity.StorageStatus, error) {
	all, err := u.st.attachments(bson.D{{"unit", u.doc.Name}})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return u.st.StorageStatus(ctx, storageIDs(all)...)
}

// PersistentStorage returns the number of storage instances that outlive machines; 0 if the model
// is not Alive, because its destruction has said what becomes of them.
func (st *State) PersistentStorage(ctx context.Context) (int, error) {
	model, err := st.db.Model()
	if err != nil || model.Life != entity.Alive {
		return 0, err
	}
	return st.db.Count(modeldb.StorageC, bson.D{{"machine", bson.D{{"$exists", false}}}})
}
