package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/networks"
	"juju/state/mongo"
)

// constraintsOps replaces the constraints of a machine.
func (st *State) constraintsOps(ctx context.Context, o *ops, key string, c constraints.Value) error {
	if err := checkConstraints(c); err != nil {
		return err
	}
	was, err := st.db.Constraints(ctx, key)
	switch {
	case err != nil || was == c.String():
		return err
	case was == "":
		o.KeepConstraints(key, c)
	case c.IsEmpty():
		o.Remove(modeldb.ConstraintsC, key, bson.D{{"value", was}})
	default:
		o.Update(modeldb.ConstraintsC, key, bson.D{{"value", was}}, bson.D{{"$set", bson.D{{"value", c.String()}}}})
	}
	return nil
}

// checkConstraints rejects constraints that conflict on every cloud, with entity.Invalid.
func checkConstraints(c constraints.Value) error {
	_, err := constraints.DefaultRules().Check(c)
	return err
}

// mergeConstraints merges the model's constraints with over, whose keys win and remove keys that conflict with them.
func mergeConstraints(d modeldb.Model, over constraints.Value) (constraints.Value, error) {
	if err := checkConstraints(over); err != nil {
		return over, err
	}
	base, err := constraints.Parse(d.Constraints)
	return constraints.Merge(base, over), err
}

// assertModelAs is AssertModelAlive for operations that depend on the model's constraints.
func (o *ops) assertModelAs(d modeldb.Model) { o.Assert(modeldb.ModelC, modeldb.ModelC, d.AsRead()) }

// Constraints returns the model's constraints. They apply to every machine unless overridden by the service's or
// machine's own.
func (s Settings) Constraints(ctx context.Context) (constraints.Value, error) {
	doc, err := s.st.db.Model(ctx)
	if err != nil {
		return constraints.Value{}, err
	}
	return constraints.Parse(doc.Constraints)
}

// SetConstraints replaces the model's constraints. Existing units and machines keep theirs.
func (s Settings) SetConstraints(ctx context.Context, c constraints.Value) error {
	if err := checkConstraints(c); err != nil {
		return err
	}
	constraints := c.String()
	err := s.st.change(ctx, func(o *ops) error {
		doc, err := s.st.db.AliveModel(ctx)
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
		if _, _, err := networks.Demand(ctx, s.st.db, o.Ops, c); err != nil {
			return err
		}
		o.Update(modeldb.ModelC, modeldb.ModelC, doc.AsRead(), change)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot set constraints: %w", err)
	}
	return nil
}

// noSubordinate rejects constraints for a subordinate service, which has no machines of its own.
func (s *Service) noSubordinate() error {
	if !s.doc.Subordinate {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "constraints do not apply to subordinate services"),
		"Its units run on the machines of the services that it is related to.")
}

// Constraints returns the service's own constraints; they apply to units added from now on.
// The error is entity.Invalid for a subordinate service.
func (s *Service) Constraints(ctx context.Context) (constraints.Value, error) {
	if err := s.noSubordinate(); err != nil {
		return constraints.Value{}, err
	}
	text, err := s.st.db.Constraints(ctx, modeldb.ServiceKey(s.doc.Name))
	if err != nil {
		return constraints.Value{}, err
	}
	return constraints.Parse(text)
}

// SetConstraints replaces the service's constraints. Existing units and their machines keep theirs.
func (s *Service) SetConstraints(ctx context.Context, c constraints.Value) error {
	if err := checkConstraints(c); err != nil {
		return err
	}
	constraints := c.String()
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
		was, err := s.st.db.Constraints(ctx, key)
		if err != nil {
			return err
		}
		if was == constraints {
			return mongo.ErrNothing
		}
		if _, _, err := networks.Demand(ctx, s.st.db, o.Ops, c); err != nil {
			return err
		}
		// The value that was read is asserted too: of two users who change it at once, the later one reads again.
		o.AssertLife(modeldb.ServicesC, s.doc.Name, entity.Alive)
		o.Update(modeldb.ConstraintsC, key, bson.D{{"value", was}}, bson.D{{"$set", bson.D{{"value", constraints}}}})
		return nil
	})
}
