package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
	"juju/state/watcher"
)

// Binaries returns the binaries that the model's agents are to run; none if they run what the
// controller had when they were started.
func (s Settings) Binaries(ctx context.Context) (entity.Binaries, error) {
	doc, err := s.st.db.Model()
	return doc.AgentBinaries(), err
}

// SetBinaries changes the binaries that the model's agents are to run. The error is entity.Invalid if
// they are older than those before.
func (s Settings) SetBinaries(ctx context.Context, to entity.Binaries) error {
	err := s.st.change(ctx, func(o *ops) error {
		doc, err := s.st.db.Model()
		if err != nil {
			return err
		}
		was := doc.AgentBinaries()
		asserts := bson.D{{"life", bson.D{{"$ne", entity.Dead}}}}
		switch {
		case doc.Life == entity.Dead:
			return entity.Errorf(entity.NotAlive, "model %q is dead", doc.Name)
		case doc.Binaries != nil && was.Same(to):
			return mongo.ErrNothing
		case doc.Binaries != nil:
			if order, err := entity.CompareVersions(to.Version, was.Version); err != nil {
				return err
			} else if order < 0 {
				return entity.Errorf(entity.Invalid, "its version is %s, and a downgrade is not supported", was.Version)
			}
			asserts = append(asserts, bson.D{{"programs.version", was.Version}, {"programs.sha256", was.SHA256}}...)
		default:
			asserts = append(asserts, bson.DocElem{"programs", bson.D{{"$exists", false}}})
		}
		o.Update(modeldb.ModelC, modeldb.ModelC, asserts, bson.D{{"$set", bson.D{{"programs", modeldb.Binaries{to.Version, to.SHA256}}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot upgrade model %q to %s: %w", s.st.db.Name, to.Version, err)
	}
	return nil
}

// Binaries fires when the binaries that agents are to run may have changed.
func (w Watches) Binaries(ctx context.Context, _ entity.Tag) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.st.hub, watcher.Doc(modeldb.ModelC, modeldb.ModelC)), nil
}
