package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
)

// keepConstraints stores the constraints that a new unit or machine was added with; "" is
// not stored.
func (o *ops) keepConstraints(key, constraints string) {
	if constraints != "" {
		o.Insert(modeldb.ConstraintsC, key, modeldb.Constraints{key, constraints})
	}
}

// constraintsOps replaces the constraints of a machine.
func (st *State) constraintsOps(o *ops, key, constraints string) error {
	if _, err := checkConstraints(constraints); err != nil {
		return err
	}
	was, err := st.db.Constraints(key)
	switch {
	case err != nil || was == constraints:
		return err
	case was == "":
		o.keepConstraints(key, constraints)
	case constraints == "":
		o.Remove(modeldb.ConstraintsC, key, bson.D{{"value", was}})
	default:
		o.Update(modeldb.ConstraintsC, key, bson.D{{"value", was}}, bson.D{{"$set", bson.D{{"value", constraints}}}})
	}
	return nil
}

// checkConstraints parses constraints. Those that exclude each other on any cloud are
// entity.Invalid; a key that one cloud ignores is not.
func checkConstraints(text string) (constraints.Value, error) {
	c, err := constraints.Parse(text)
	if err == nil {
		_, err = constraints.DefaultRules().Check(c)
	}
	return c, err
}

// mergeConstraints returns the model's constraints with over laid over them: a key of
// over replaces the model's, and removes those that conflict with it.
func mergeConstraints(d modeldb.Model, over string) (string, error) {
	top, err := checkConstraints(over)
	if err != nil {
		return "", err
	}
	base, err := constraints.Parse(d.Constraints)
	if err != nil {
		return "", err
	}
	return constraints.Merge(base, top).String(), nil
}

// assertModelAs is assertModelAlive for operations that depend on the model's
// constraints.
func (o *ops) assertModelAs(d modeldb.Model) { o.Assert(modeldb.ModelC, modeldb.ModelC, d.AsRead()) }

// Constraints returns the model's constraints, as users write them. They apply to every
// machine unless a service's or machine's own replace them.
func (s Settings) Constraints(ctx context.Context) (string, error) {
	doc, err := s.st.db.Model()
	return doc.Constraints, err
}

// SetConstraints replaces the model's constraints. Existing units and machines keep those
// that they were added with.
func (s Settings) SetConstraints(ctx context.Context, constraints string) error {
	checked, err := checkConstraints(constraints)
	if err != nil {
		return err
	}
	constraints = checked.String()
	err = s.st.change(ctx, func(o *ops) error {
		doc, err := s.st.db.AliveModel()
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
		o.Update(modeldb.ModelC, modeldb.ModelC, doc.AsRead(), change)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot set constraints: %w", err)
	}
	return nil
}

// noSubordinate refuses constraints for a subordinate service, which has no machines of
// its own.
func (s *Service) noSubordinate() error {
	if !s.doc.Subordinate {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "constraints do not apply to subordinate services"),
		"Its units run on the machines of the services that it is related to.")
}

// Constraints returns the service's own constraints, as users write them; they apply to
// units added from now on. The error is entity.Invalid for a subordinate service.
func (s *Service) Constraints(ctx context.Context) (string, error) {
	if err := s.noSubordinate(); err != nil {
		return "", err
	}
	return s.st.db.Constraints(modeldb.ServiceKey(s.doc.Name))
}

// SetConstraints replaces the service's constraints. Existing units, and their machines,
// keep those that they were added with.
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
		key := modeldb.ServiceKey(s.doc.Name)
		was, err := s.st.db.Constraints(key)
		if err != nil {
			return err
		}
		if was == constraints {
			return mongo.ErrNothing
		}
		o.AssertLife(modeldb.ServicesC, s.doc.Name, entity.Alive)
		o.Update(modeldb.ConstraintsC, key, bson.D{{"value", was}}, bson.D{{"$set", bson.D{{"value", constraints}}}})
		return nil
	})
}
