package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

type constraintsDoc struct {
	Key   string `bson:"_id"`
	Value string `bson:"value"` // in the form that users write
}

// constraints reads what is kept under a key; nothing is no constraint.
func (st *State) constraints(key string) (string, error) {
	var doc constraintsDoc
	err := st.db.Get(constraintsC, key, &doc, "constraints of "+key)
	if isNotFound(err) {
		return "", nil
	}
	return doc.Value, err
}

// keepConstraints writes down what a new unit or machine was added with, for good;
// nothing is not written.
func (o *ops) keepConstraints(key, constraints string) {
	if constraints != "" {
		o.insert(constraintsC, key, constraintsDoc{key, constraints})
	}
}

// checkConstraints reads what a user demands. Two demands that exclude each
// other are Invalid, by the rules that all clouds share; what one cloud pays no
// heed to bars nothing.
func checkConstraints(text string) (entity.Constraints, error) {
	c, err := entity.ParseConstraints(text)
	if err == nil {
		_, err = entity.DefaultConstraintRules().Check(c)
	}
	return c, err
}

// mergeConstraints lays constraints over the model's: what they leave open is
// the model's, but for what conflicts with them.
func (d modelDoc) mergeConstraints(over string) (string, error) {
	top, err := checkConstraints(over)
	if err != nil {
		return "", err
	}
	base, err := entity.ParseConstraints(d.Constraints)
	if err != nil {
		return "", err
	}
	return entity.MergeConstraints(base, top).String(), nil
}

// asRead is an assert that the model is Alive, with the constraints it had.
func (d modelDoc) asRead() bson.D {
	if d.Constraints == "" {
		return bson.D{{"life", entity.Alive}, {"constraints", bson.D{{"$exists", false}}}}
	}
	return bson.D{{"life", entity.Alive}, {"constraints", d.Constraints}}
}

// assertModelAs is assertModelAlive for what captures the model's constraints.
func (o *ops) assertModelAs(d modelDoc) { o.assert(modelC, modelC, d.asRead()) }

// Constraints returns what is demanded of the machines of all units that say
// nothing else, in the form that users write.
func (st *State) Constraints(ctx context.Context) (string, error) {
	doc, err := st.model()
	return doc.Constraints, err
}

// SetConstraints replaces the model's constraints. Units and machines that are
// there keep what they were added with.
func (st *State) SetConstraints(ctx context.Context, constraints string) error {
	checked, err := checkConstraints(constraints)
	if err != nil {
		return err
	}
	constraints = checked.String()
	err = st.change(ctx, func(o *ops) error {
		doc, err := st.aliveModel()
		if err != nil {
			return err
		}
		if doc.Constraints == constraints {
			return mongo.ErrNothing
		}
		change := bson.D{{"$set", bson.D{{"constraints", constraints}}}}
		if constraints == "" {
			change = bson.D{{"$unset", bson.D{{"constraints", 1}}}}
		}
		o.update(modelC, modelC, doc.asRead(), change)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot set constraints: %w", err)
	}
	return nil
}

// noSubordinate refuses what is about the machines of a service that has none.
func (s *Service) noSubordinate() error {
	if !s.doc.Subordinate {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "constraints do not apply to subordinate services"),
		"Its units run on the machines of the services that it is related to.")
}

// Constraints returns what is demanded of the machines of units that are added
// to the service from now on, in the form that users write. What it leaves open
// is the model's. A subordinate service has none, and is refused.
func (s *Service) Constraints(ctx context.Context) (string, error) {
	if err := s.noSubordinate(); err != nil {
		return "", err
	}
	return s.st.constraints(serviceKey(s.doc.Name))
}

// SetConstraints replaces the service's constraints. Its units, and their
// machines, keep what they were added with.
func (s *Service) SetConstraints(ctx context.Context, constraints string) error {
	checked, err := checkConstraints(constraints)
	if err != nil {
		return err
	}
	constraints = checked.String()
	return s.st.change(ctx, func(o *ops) error {
		if err := s.refresh(ctx); err != nil {
			return err
		}
		if err := s.noSubordinate(); err != nil {
			return err
		}
		if s.doc.Life != entity.Alive {
			return entity.Errorf(entity.NotAlive, "cannot set constraints: service %q is not alive", s.doc.Name)
		}
		key := serviceKey(s.doc.Name)
		was, err := s.st.constraints(key)
		if err != nil {
			return err
		}
		if was == constraints {
			return mongo.ErrNothing
		}
		o.assertLife(servicesC, s.doc.Name, entity.Alive)
		o.update(constraintsC, key, bson.D{{"value", was}}, bson.D{{"$set", bson.D{{"value", constraints}}}})
		return nil
	})
}
