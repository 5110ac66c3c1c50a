package state

import (
	"context"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/leadership"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
)

// Destroy sets the service Dying, with its relations, or removes it if nothing refers to
// it. If it is Dying already, a stronger destruction raises its strength, and its
// machines may be destroyed with it.
func (s *Service) Destroy(ctx context.Context, how entity.Destruction) error {
	return s.st.move(ctx, s, lifecycle.ToDestroy, lifecycle.User, s.st.begin(how))
}

// How services differ from other living entities.

func (s *Service) state() *State         { return s.st }
func (s *Service) kind() lifecycle.Kind  { return lifecycle.Service }
func (s *Service) name() string          { return s.doc.Name }
func (s *Service) docID() string         { return s.doc.Name }
func (s *Service) tag() entity.Tag       { return entity.ServiceTag(s.doc.Name) }
func (s *Service) life() *modeldb.Living { return &s.doc.Living }

// asserts includes the version of the resources: the files are released with the service.
func (s *Service) asserts() bson.D {
	version := any(s.doc.Resources)
	if s.doc.Resources == 0 {
		version = bson.D{{"$exists", false}}
	}
	return bson.D{s.doc.KeepsMinUnits(), {"resources", version}}
}

func (s *Service) turning(_ context.Context, o *ops, t turn) (update bson.D, err error) {
	if t.machines && !s.doc.Machines {
		o.Expect(modeldb.ServiceKey(s.doc.Name), modeldb.TakesMachines, bson.D{{"$exists", false}})
		o.Inc(modeldb.ServiceKey(s.doc.Name), modeldb.TakesMachines, 1)
	}
	if t.from == entity.Alive && s.doc.MinUnits > 0 { // only Alive services have a minimum
		o.Remove(modeldb.MinUnitsC, s.doc.Name, modeltxn.Exists)
		update = bson.D{{"$unset", bson.D{{"minunits", 1}}}}
	}
	if t.to != entity.Gone {
		return update, nil
	}
	if err := s.forgetDestructions(o); err != nil {
		return nil, err
	}
	if err := s.releaseResources(o); err != nil {
		return nil, err
	}
	return update, leadership.LeaveLease(s.st.db, o.Ops, s.doc.Name)
}

// forgetDestructions removes the cleanups that the service's destructions have left: they would
// destroy the units of the next service of this name. No other entity's name is used again.
func (s *Service) forgetDestructions(o *ops) error {
	var owed []modeldb.Cleanup
	query := bson.D{{"kind", modeldb.CleanupDestroy}, {"arg", modeldb.ServiceKey(s.doc.Name)}}
	if err := s.st.db.All(modeldb.CleanupsC, query, &owed); err != nil {
		return err
	}
	for _, c := range owed {
		o.Remove(modeldb.CleanupsC, c.ID, nil)
	}
	return nil
}
