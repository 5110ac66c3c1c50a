package networks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/limits"
	"juju/state/mongo"
)

// Networks are the spaces of a model, and the subnets of its cloud.
type Networks struct{ db *modeltxn.DB }

// Of returns the networks of a model.
func Of(db *modeltxn.DB) Networks { return Networks{db} }

// Known reports whether the cloud has ever told its subnets.
func (n Networks) Known(ctx context.Context) (bool, error) {
	doc, err := n.db.Networks(ctx)
	return !doc.Missing, err
}

// Spaces returns all spaces with their subnets, alpha first.
func (n Networks) Spaces(ctx context.Context) ([]entity.Space, error) {
	doc, err := n.db.Networks(ctx)
	return doc.AllSpaces(), err
}

// Demands is Demands for the model as it is.
func (n Networks) Demands(ctx context.Context, cons constraints.Value, bound []string) (entity.MachineSpaces, error) {
	doc, err := n.db.Networks(ctx)
	if err != nil {
		return entity.MachineSpaces{}, err
	}
	return Demands(doc, cons, bound)
}

// Unused returns how many machines that never had a unit are known to meet a demand.
func (n Networks) Unused(ctx context.Context, want entity.MachineSpaces) (count int, err error) {
	doc, err := n.db.Networks(ctx)
	if err != nil {
		return 0, err
	}
	machines, err := n.db.Machines(ctx, bson.D{{"clean", true}, {"life", entity.Alive}, {"container", bson.D{{"$exists", false}}}})
	for _, m := range machines {
		if len(m.Addresses) > 0 && Misses(doc, want, m.Addresses) == "" {
			count++
		}
	}
	return count, err
}

// Named returns the space with a name. The error is entity.NotFound if there is none.
func Named(doc modeldb.Networks, name string) (entity.Space, error) {
	space, ok := doc.SpaceNamed(name)
	if !ok {
		return space, entity.WithHint(entity.Errorf(entity.NotFound, "space %q not found", name),
			"To list the spaces: juju spaces. To add one: juju add-space %s", name)
	}
	return space, nil
}

// change runs a transaction that changes the spaces or subnets. If that changes which subnets a space has, the units of services
// with bindings publish their addresses anew.
func (n Networks) change(ctx context.Context, edit func(o *modeltxn.Ops, doc *modeldb.Networks) error) error {
	token := mongo.NewID()
	return n.db.Change(ctx, func(o *modeltxn.Ops) error {
		if _, err := n.db.AliveModel(ctx); err != nil {
			return err
		}
		doc, err := n.db.Networks(ctx)
		if err != nil {
			return err
		}
		now := doc.Clone()
		if err := edit(o, &now); err != nil {
			return err
		}
		if err := limits.Subnets.Check(len(now.Subnets)); err != nil {
			return err
		}
		if err := limits.Spaces.Check(len(now.Spaces)); err != nil {
			return err
		}
		same := func(a, b modeldb.Subnet) bool { return a.CIDR == b.CIDR && a.Space == b.Space }
		if !slices.EqualFunc(doc.Subnets, now.Subnets, same) || len(now.Spaces) < len(doc.Spaces) {
			services, err := n.db.Services(ctx, bson.D{{"bindings", bson.D{{"$exists", true}}}})
			if err != nil {
				return err
			}
			for _, s := range services {
				publish(o, token+s.Name, s.Name)
			}
		}
		o.AssertModelAlive()
		if doc.Missing {
			now.ID, now.Version = modeldb.NetworksC, 1
			o.Insert(modeldb.NetworksC, modeldb.NetworksC, now)
			return nil
		}
		o.Update(modeldb.NetworksC, modeldb.NetworksC, doc.AsRead(), bson.D{
			{"$set", bson.D{{"spaces", now.Spaces}, {"subnets", now.Subnets}, {"last", now.Last}}}, {"$inc", bson.D{{"version", 1}}}})
		return nil
	})
}

// Reload records the subnets that the cloud tells. New ones are alpha's, and the others keep their spaces; those that the
// cloud has no longer are forgotten.
func (n Networks) Reload(ctx context.Context, subnets []entity.Subnet) error {
	return n.change(ctx, func(_ *modeltxn.Ops, doc *modeldb.Networks) error {
		before := map[string]modeldb.Subnet{}
		for _, s := range doc.Subnets {
			before[s.CIDR] = s
		}
		same := !doc.Missing && len(doc.Subnets) == len(subnets)
		doc.Subnets = []modeldb.Subnet{}
		for _, s := range subnets {
			was, known := before[s.CIDR]
			now := modeldb.Subnet{Subnet: s, Space: was.Space}
			if now.ID = was.ID; !known {
				doc.Last++
				now.ID, now.Space = strconv.Itoa(doc.Last), entity.AlphaSpaceID
			}
			doc.Subnets = append(doc.Subnets, now)
			same = same && known && was.ProviderID == s.ProviderID && was.Network == s.Network &&
				slices.Equal(was.Zones, s.Zones)
		}
		if same {
			return mongo.ErrNothing
		}
		return nil
	})
}

// AddSpace adds a space with subnets, which leave the spaces that they are in. Like MoveSubnets, it asks nothing of what is
// bound to these.
func (n Networks) AddSpace(ctx context.Context, name string, cidrs []string) error {
	err := n.change(ctx, func(o *modeltxn.Ops, doc *modeldb.Networks) error {
		if !entity.IsValidSpace(name) {
			return invalidName(name)
		}
		if _, ok := doc.SpaceNamed(name); ok {
			return entity.Errorf(entity.AlreadyExists, "space %q already exists", name)
		}
		doc.Last++
		id := strconv.Itoa(doc.Last)
		doc.Spaces = append(doc.Spaces, modeldb.Space{ID: id, Name: name})
		_, err := move(doc, id, cidrs)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot add space %q: %w", name, err)
	}
	return nil
}

func invalidName(name string) error {
	return entity.WithHint(entity.Errorf(entity.Invalid, "%q is not a valid space name", name),
		"A name has small letters, digits and single hyphens between them: db, dmz-2")
}

// stillFulfilled returns an error if a machine of a service has no address any more in a space to which it is bound.
func (n Networks) stillFulfilled(ctx context.Context, o *modeltxn.Ops, doc modeldb.Networks) error {
	services, err := n.db.Services(ctx, bson.D{{"bindings", bson.D{{"$exists", true}}}})
	if err != nil {
		return err
	}
	was, err := n.db.Networks(ctx)
	if err != nil {
		return err
	}
	places, err := placesOf(ctx, n.db, o, services...)
	if err != nil {
		return err
	}
	for _, s := range services {
		before := fulfilled(was, s, places[s.Name])
		if err := fulfilled(doc, s, places[s.Name]); err != nil && before == nil {
			return fmt.Errorf("service %q would be on %w", s.Name, err)
		}
	}
	return nil
}

// MoveSubnets moves subnets to a space. The error is entity.Invalid, and names the machines, if some would then have no
// address in a space to which a service on them is bound, unless force is set.
func (n Networks) MoveSubnets(ctx context.Context, name string, cidrs []string,
	force bool) (moved []entity.MovedSubnet, err error) {
	err = n.change(ctx, func(o *modeltxn.Ops, doc *modeldb.Networks) error {
		space, err := Named(*doc, name)
		if err != nil {
			return err
		}
		if moved, err = move(doc, space.ID, cidrs); err == nil && len(moved) == 0 {
			return mongo.ErrNothing
		}
		if err == nil && !force {
			err = n.stillFulfilled(ctx, o, *doc)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot move subnets to space %q: %w", name, err)
	}
	return moved, nil
}

// move moves subnets to a space, and returns those that were in another one.
func move(doc *modeldb.Networks, space string, cidrs []string) (moved []entity.MovedSubnet, err error) {
	for _, cidr := range cidrs {
		normal, err := entity.NormalCIDR(cidr)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(doc.Subnets, func(s modeldb.Subnet) bool { return s.CIDR == normal })
		if i < 0 {
			return nil, entity.WithHint(entity.Errorf(entity.NotFound, "subnet %q not found", cidr),
				"To list the subnets: juju subnets. To have the cloud tell them anew: juju reload-spaces")
		}
		if was := doc.Subnets[i].Space; was != space {
			moved = append(moved, entity.MovedSubnet{CIDR: normal, From: doc.NameOf(was), To: doc.NameOf(space)})
			doc.Subnets[i].Space = space
		}
	}
	return moved, nil
}

// RenameSpace renames a space, also in the constraints that name it and where services are exposed to it. Bindings keep to it by its id.
func (n Networks) RenameSpace(ctx context.Context, from, to string) error {
	err := n.change(ctx, func(o *modeltxn.Ops, doc *modeldb.Networks) error {
		if from == entity.AlphaSpace {
			return entity.Errorf(entity.NotSupported, "the %q space cannot be renamed", from)
		}
		space, err := Named(*doc, from)
		if err != nil {
			return err
		}
		if !entity.IsValidSpace(to) {
			return invalidName(to)
		}
		if _, ok := doc.SpaceNamed(to); ok {
			return entity.Errorf(entity.AlreadyExists, "space %q already exists", to)
		}
		for i := range doc.Spaces {
			if doc.Spaces[i].ID == space.ID {
				doc.Spaces[i].Name = to
			}
		}
		o.Assert(modeldb.NetworksC, modeldb.NetworksC, bson.D{{"uses", doc.Uses}})
		exposed, err := n.exposed(ctx, from)
		if err != nil {
			return err
		}
		for _, s := range exposed {
			renameExposed(o, s, from, to)
		}
		return n.constraintsOps(ctx, o, from, to)
	})
	if err != nil {
		return fmt.Errorf("cannot rename space %q: %w", from, err)
	}
	return nil
}

// RemoveSpace removes a space, whose subnets become alpha's. The error is entity.InUse while a binding or a constraint of a
// service or the model names it, unless force is set: then bindings to it become those of alpha, and constraints lose its
// name. The constraints of machines, which are chosen already, never keep it.
func (n Networks) RemoveSpace(ctx context.Context, name string, force bool) error {
	err := n.change(ctx, func(o *modeltxn.Ops, doc *modeldb.Networks) error {
		if name == entity.AlphaSpace {
			return entity.Errorf(entity.NotSupported, "the %q space cannot be removed", name)
		}
		space, err := Named(*doc, name)
		if err != nil {
			return err
		}
		bound, err := n.bound(ctx, *doc, space.ID)
		if err != nil {
			return err
		}
		use, err := n.usesOf(ctx, *doc, space, bound)
		if err != nil {
			return err
		}
		if !force && len(use.Bound)+len(use.Constrained) > 0 {
			return inUse(name, use)
		}
		exposed, err := n.exposed(ctx, name)
		if err != nil {
			return err
		}
		if !force && len(exposed) > 0 {
			return entity.WithHint(entity.Errorf(entity.InUse, "service %q is exposed to it", exposed[0].Name),
				"Change that first (juju expose, juju unexpose), or unexpose what is exposed to it alone: juju remove-space %s --force", name)
		}
		for _, s := range exposed {
			renameExposed(o, s, name, "")
		}
		for _, s := range bound {
			var kept []modeldb.Binding
			for _, b := range s.Bindings {
				if b.Space != space.ID {
					kept = append(kept, b)
				}
			}
			o.Update(modeldb.ServicesC, s.Name, bson.D{s.KeepsBindings()}, bson.D{SetBindings(kept)})
		}
		doc.Spaces = slices.DeleteFunc(doc.Spaces, func(s modeldb.Space) bool { return s.ID == space.ID })
		for i := range doc.Subnets {
			if doc.Subnets[i].Space == space.ID {
				doc.Subnets[i].Space = entity.AlphaSpaceID
			}
		}
		o.Assert(modeldb.NetworksC, modeldb.NetworksC, bson.D{{"uses", doc.Uses}})
		return n.constraintsOps(ctx, o, name, "")
	})
	if err != nil {
		return fmt.Errorf("cannot remove space %q: %w", name, err)
	}
	return nil
}

// exposed returns the services that are exposed to a space.
func (n Networks) exposed(ctx context.Context, space string) ([]modeldb.Service, error) {
	return n.db.Services(ctx, bson.D{{"exposures.spaces", space}})
}

// renameExposed renames a space where a service is exposed to it, or takes it out if to is "". What was exposed to it alone is
// exposed no more then: without any network it would be exposed to everyone.
func renameExposed(o *modeltxn.Ops, s modeldb.Service, from, to string) {
	all := entity.ExposedEndpoints{}
	for name, e := range s.ExposedEndpoints() {
		i := slices.Index(e.Spaces, from)
		if e.Spaces = slices.Clone(e.Spaces); i >= 0 && to == "" {
			e.Spaces = slices.Delete(e.Spaces, i, i+1)
		} else if i >= 0 {
			e.Spaces[i] = to
		}
		if len(e.Spaces)+len(e.CIDRs) > 0 {
			all[name] = e.Normal()
		}
	}
	o.Update(modeldb.ServicesC, s.Name, s.KeepsExposed(), modeldb.SetExposed(all))
}

func inUse(name string, use entity.SpaceUse) error {
	var by []string
	if len(use.Bound) > 0 {
		by = append(by, "by the bindings of "+strings.Join(use.Bound, ", "))
	}
	if len(use.Constrained) > 0 {
		var owners []string
		for _, tag := range use.Constrained {
			if tag.Kind == entity.KindModel {
				owners = append(owners, "the model")
			} else {
				owners = append(owners, tag.ID)
			}
		}
		by = append(by, "by the constraints of "+strings.Join(owners, ", "))
	}
	return entity.WithHint(entity.Errorf(entity.InUse, "it is used %s", strings.Join(by, " and ")),
		"Change these first (juju bind, juju set-constraints), or remove it from them too: juju remove-space %s --force",
		name)
}

// Uses returns what keeps a space from being removed.
func (n Networks) Uses(ctx context.Context, name string) (entity.SpaceUse, error) {
	doc, err := n.db.Networks(ctx)
	if err != nil {
		return entity.SpaceUse{}, err
	}
	space, err := Named(doc, name)
	if err != nil {
		return entity.SpaceUse{}, err
	}
	bound, err := n.bound(ctx, doc, space.ID)
	if err != nil {
		return entity.SpaceUse{}, err
	}
	return n.usesOf(ctx, doc, space, bound)
}

// usesOf returns what uses a space: the services that are bound to it, and what else does.
func (n Networks) usesOf(ctx context.Context, doc modeldb.Networks, space entity.Space,
	bound []modeldb.Service) (use entity.SpaceUse, err error) {
	for _, s := range bound {
		use.Bound = append(use.Bound, s.Name)
	}
	owners, err := n.constrained(ctx, space.Name)
	if err != nil {
		return use, err
	}
	for key := range owners {
		if kind, name := lifecycle.ParseKey(key); kind == lifecycle.Service {
			use.Constrained = append(use.Constrained, entity.ServiceTag(name))
		} else if key == modeldb.ModelKey {
			use.Constrained = append(use.Constrained, entity.ModelTag(n.db.UUID))
		}
	}
	machines, err := n.db.Machines(ctx, nil)
	for _, m := range machines {
		if doc.InSpace(space.ID, m.Addresses) != "" {
			use.Machines++
		}
	}
	slices.SortFunc(use.Constrained, func(a, b entity.Tag) int { return entity.CompareNatural(a.String(), b.String()) })
	return use, err
}

// bound returns the services with an endpoint that is bound to a space.
func (n Networks) bound(ctx context.Context, doc modeldb.Networks, space string) (found []modeldb.Service, err error) {
	services, err := n.db.Services(ctx, nil)
	for _, s := range services {
		ch, err := n.db.Charm(ctx, s.CharmURL)
		if err != nil {
			return nil, err
		}
		for _, endpoint := range append(ch.Meta.Endpoints(), "", charm.ImplicitRelation().Name) {
			if doc.NameOf(s.SpaceFor(endpoint)) == doc.NameOf(space) {
				found = append(found, s)
				break
			}
		}
	}
	return found, err
}

// constrained returns the constraints that name a space, by the keys of their owners.
func (n Networks) constrained(ctx context.Context, space string) (map[string]constraints.Value, error) {
	model, err := n.db.Model(ctx)
	if err != nil {
		return nil, err
	}
	all := []modeldb.Constraints{{Key: modeldb.ModelKey, Value: model.Constraints}}
	var docs []modeldb.Constraints
	if err := n.db.All(ctx, modeldb.ConstraintsC, bson.D{{"value", bson.RegEx{Pattern: `(^| )spaces=`}}}, &docs); err != nil {
		return nil, err
	}
	found := map[string]constraints.Value{}
	for _, doc := range append(all, docs...) {
		value, err := constraints.Parse(doc.Value)
		if err != nil {
			return nil, err
		}
		if in, out := value.Spaces(); slices.Contains(in, space) || slices.Contains(out, space) {
			found[doc.Key] = value
		}
	}
	return found, nil
}

// constraintsOps renames a space in all constraints that name it, or removes it from them if to is "".
func (n Networks) constraintsOps(ctx context.Context, o *modeltxn.Ops, from, to string) error {
	found, err := n.constrained(ctx, from)
	if err != nil {
		return err
	}
	for key, was := range found {
		now := was.RenameSpace(from, to)
		switch {
		case key == modeldb.ModelKey:
			o.Update(modeldb.ModelC, modeldb.ModelC, bson.D{{"constraints", was.String()}}, bson.D{{"$set", bson.D{{"constraints", now.String()}}}})
		default:
			o.Update(modeldb.ConstraintsC, key, bson.D{{"value", was.String()}}, bson.D{{"$set", bson.D{{"value", now.String()}}}})
		}
	}
	return nil
}
