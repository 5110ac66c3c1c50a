package annotations

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
)

// Annotations are the annotations of a model.
type Annotations struct{ db *modeltxn.DB }

// Of returns the annotations of a model.
func Of(db *modeltxn.DB) Annotations { return Annotations{db} }

// keyOf returns the key of the machine, unit, service, relation or model with a
// tag. The error is entity.NotFound if it does not exist.
func (a Annotations) keyOf(ctx context.Context, tag entity.Tag) (string, error) {
	switch tag.Kind {
	case entity.KindMachine:
		_, err := a.db.Machine(ctx, tag.ID)
		return modeldb.MachineKey(tag.ID), err
	case entity.KindUnit:
		_, err := a.db.Unit(ctx, tag.ID)
		return modeldb.UnitKey(tag.ID), err
	case entity.KindService:
		_, err := a.db.Service(ctx, tag.ID)
		return modeldb.ServiceKey(tag.ID), err
	case entity.KindRelation:
		r, err := a.db.Relation(ctx, tag.ID)
		return modeldb.RelationKey(r.ID), err
	case entity.KindModel:
		if tag.ID == a.db.UUID {
			return modeldb.ModelKey, nil
		}
		return "", entity.Errorf(entity.NotFound, "model %q not found", tag.ID)
	}
	return "", entity.Errorf(entity.NotSupported,
		"cannot annotate %s: only machines, units, services, relations and the model can be", tag)
}

func (a Annotations) read(ctx context.Context, key string) (doc modeldb.Annotations, there bool, err error) {
	err = a.db.Get(ctx, modeldb.AnnotationsC, key, &doc, "annotations of "+key)
	if entity.IsNotFound(err) {
		return modeldb.Annotations{Key: key, Annotations: map[string]string{}}, false, nil
	}
	doc.Annotations = modeldb.UnescapeKeys(doc.Annotations)
	return doc, err == nil, err
}

// Get returns the annotations of an entity, an empty map if there are none.
func (a Annotations) Get(ctx context.Context, tag entity.Tag) (map[string]string, error) {
	key, err := a.keyOf(ctx, tag)
	if err != nil {
		return nil, err
	}
	doc, _, err := a.read(ctx, key)
	return doc.Annotations, err
}

// Set sets annotations of an entity atomically; an empty value deletes its key.
func (a Annotations) Set(ctx context.Context, tag entity.Tag, values map[string]string) error {
	err := a.db.Change(ctx, func(o *modeltxn.Ops) error {
		key, err := a.keyOf(ctx, tag)
		if err != nil {
			return err
		}
		doc, there, err := a.read(ctx, key)
		if err != nil {
			return err
		}
		after := maps.Clone(doc.Annotations)
		for k, v := range values {
			if v == "" {
				delete(after, k)
			} else {
				after[k] = v
			}
		}
		if err := checkAnnotations(values, after); err != nil {
			return err
		}
		if maps.Equal(after, doc.Annotations) {
			return mongo.ErrNothing
		}
		switch {
		case there:
			o.Update(modeldb.AnnotationsC, key, bson.D{{"version", doc.Version}},
				bson.D{{"$set", bson.D{{"annotations", modeldb.EscapeKeys(after)}}}, {"$inc", bson.D{{"version", 1}}}})
		case key == modeldb.ModelKey:
			o.Assert(modeldb.ModelC, modeldb.ModelC, modeltxn.Exists)
			o.Insert(modeldb.AnnotationsC, key, modeldb.Annotations{Key: key, Annotations: modeldb.EscapeKeys(after)})
		default:
			// The counts are inserted and removed with the entity.
			o.Expect(key, modeldb.AnnotationsC, bson.D{{"$exists", false}})
			o.Inc(key, modeldb.AnnotationsC, 1)
			o.Insert(modeldb.AnnotationsC, key, modeldb.Annotations{Key: key, Annotations: modeldb.EscapeKeys(after)})
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot update annotations on %s: %w", tag, err)
	}
	return nil
}

// checkAnnotations rejects invalid keys, and values that are too long or too many.
func checkAnnotations(values, after map[string]string) error {
	for k := range values {
		if k == "" || strings.ContainsAny(k, ".\x00") {
			return entity.WithHint(entity.Errorf(entity.Invalid, "invalid key %q", k),
				"A key is not empty and has no dot: owner, cost-centre")
		}
	}
	size := 0
	for k, v := range after {
		size += len(k) + len(v)
	}
	return limits.Annotations.Check(size)
}
