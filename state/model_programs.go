package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

// A programsDoc is an entity.Programs. Their commit is left to those who run them.
type programsDoc struct {
	Version string `bson:"version"`
	SHA256  string `bson:"sha256"`
}

func (d modelDoc) programs() entity.Programs {
	if d.Programs == nil {
		return entity.Programs{}
	}
	return entity.Programs{Version: d.Programs.Version, SHA256: d.Programs.SHA256}
}

// Programs returns the programs that the model's agents are to run; none if they run what the
// controller had when they were started.
func (s Settings) Programs(ctx context.Context) (entity.Programs, error) {
	doc, err := s.st.model()
	return doc.programs(), err
}

// SetPrograms changes the programs that the model's agents are to run. The error is entity.Invalid if
// they are older than those before.
func (s Settings) SetPrograms(ctx context.Context, to entity.Programs) error {
	err := s.st.change(ctx, func(o *ops) error {
		doc, err := s.st.model()
		if err != nil {
			return err
		}
		was := doc.programs()
		asserts := bson.D{{"life", bson.D{{"$ne", entity.Dead}}}}
		switch {
		case doc.Life == entity.Dead:
			return entity.Errorf(entity.NotAlive, "model %q is dead", doc.Name)
		case doc.Programs != nil && was.Same(to):
			return mongo.ErrNothing
		case doc.Programs != nil:
			if order, err := entity.CompareVersions(to.Version, was.Version); err != nil {
				return err
			} else if order < 0 {
				return entity.Errorf(entity.Invalid, "its version is %s, and a downgrade is not supported", was.Version)
			}
			asserts = append(asserts, bson.D{{"programs.version", was.Version}, {"programs.sha256", was.SHA256}}...)
		default:
			asserts = append(asserts, bson.DocElem{"programs", bson.D{{"$exists", false}}})
		}
		o.Update(modelC, modelC, asserts, bson.D{{"$set", bson.D{{"programs", programsDoc{to.Version, to.SHA256}}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot upgrade model %q to %s: %w", s.st.name, to.Version, err)
	}
	return nil
}

// Programs fires when the programs that agents are to run may have changed.
func (w Watches) Programs(ctx context.Context, _ entity.Tag) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.st.hub, watcher.Doc(modelC, modelC)), nil
}
