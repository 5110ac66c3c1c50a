package networks

import (
	"context"
	"fmt"
	"slices"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// Demands returns what constraints, and bindings to spaces with these names, demand of a machine. Bindings to alpha, which is
// whatever the cloud gives, demand nothing. The error is entity.NotFound for a space that does not exist, and entity.Invalid
// if one is demanded and excluded.
func Demands(doc modeldb.Networks, cons constraints.Value, bound []string) (all entity.MachineSpaces, err error) {
	in, out := cons.Spaces()
	for _, name := range bound {
		if name != entity.AlphaSpace {
			in = append(in, name)
		}
	}
	if all.In, err = named(doc, in); err != nil {
		return all, err
	}
	if all.Out, err = named(doc, out); err != nil {
		return all, err
	}
	for _, space := range all.In {
		if slices.Contains(out, space.Name) {
			why := "demanded by the constraints"
			if slices.Contains(bound, space.Name) {
				why = "bound"
			}
			return all, entity.WithHint(entity.Errorf(entity.Invalid,
				"space %q is excluded by the constraints, and %s", space.Name, why),
				"Take it out of one of them: constraints are written as in spaces=db,^dmz")
		}
	}
	return all, nil
}

// named returns the spaces with these names, each once.
func named(doc modeldb.Networks, names []string) (all []entity.Space, err error) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		space, err := Named(doc, name)
		if err != nil {
			return nil, err
		}
		all = append(all, space)
	}
	return all, nil
}

// Demand returns what constraints, and the bindings of services, demand of a machine, and asserts that these spaces and their
// subnets stay: the transaction stores the constraints, or places a unit by them.
func Demand(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, cons constraints.Value,
	services ...modeldb.Service) (entity.MachineSpaces, modeldb.Networks, error) {
	doc, err := db.Networks(ctx)
	if err != nil {
		return entity.MachineSpaces{}, doc, err
	}
	want, err := DemandsOf(doc, cons, services...)
	if err == nil && !want.IsEmpty() {
		Use(o, doc)
	}
	return want, doc, err
}

// DemandsOf is Demand without the assertion.
func DemandsOf(doc modeldb.Networks, cons constraints.Value,
	services ...modeldb.Service) (entity.MachineSpaces, error) {
	var bound []string
	for _, s := range services {
		for _, b := range s.Bindings {
			bound = append(bound, doc.NameOf(b.Space))
		}
	}
	return Demands(doc, cons, bound)
}

// Misses returns what keeps a machine with these addresses from meeting demands, as in `it has no address in space "db"`; ""
// if nothing does, and while it has no address, because then it is not known which it will have.
func Misses(doc modeldb.Networks, want entity.MachineSpaces, addresses []string) string {
	if len(addresses) == 0 {
		return ""
	}
	for _, space := range want.In {
		if doc.InSpace(space.ID, addresses) == "" {
			return fmt.Sprintf("it has no address in space %q", space.Name)
		}
	}
	for _, space := range want.Out {
		for _, a := range addresses {
			// An address that is in no subnet is of the machine's own, such as that of a bridge on it.
			if doc.SpaceOf(a) == space.ID && entity.SmallestSubnet(space.Subnets, a) >= 0 {
				return fmt.Sprintf("it has the address %s in space %q, which the constraints exclude", a, space.Name)
			}
		}
	}
	return ""
}
