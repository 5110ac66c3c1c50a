package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/networks"
)

// demands returns in which spaces a machine without an instance must have an address, or none, and who demands that, as the end
// of a sentence; "" if it may be in any.
func (x *explainer) demands(ctx context.Context, m modeldb.Machine) (string, error) {
	text, err := x.db.Constraints(ctx, modeldb.MachineKey(m.ID))
	if err != nil {
		return "", err
	}
	own, err := constraints.Parse(text)
	if err != nil {
		return "", err
	}
	doc, err := x.db.Networks(ctx)
	if err != nil {
		return "", err
	}
	var all []string
	add := func(some, name, why string) {
		if _, ok := doc.SpaceNamed(name); !ok {
			why += "; there is no such space"
		}
		if one := fmt.Sprintf("%s address in space %q (%s)", some, name, why); !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	in, out := own.Spaces()
	for _, name := range in {
		add("an", name, "its constraints")
	}
	for _, name := range out {
		add("no", name, "its constraints")
	}
	units, err := x.db.Units(ctx, bson.D{{"machine", m.ID}})
	if err != nil {
		return "", err
	}
	slices.SortFunc(units, func(a, b modeldb.Unit) int { return entity.CompareNatural(a.Service, b.Service) })
	for _, u := range slices.CompactFunc(units, func(a, b modeldb.Unit) bool { return a.Service == b.Service }) {
		service, err := x.db.Service(ctx, u.Service)
		if err != nil {
			return "", err
		}
		for _, b := range service.Bindings {
			if name := doc.NameOf(b.Space); name != entity.AlphaSpace {
				add("an", name, fmt.Sprintf("bindings of service %q", u.Service))
			}
		}
	}
	if len(all) == 0 {
		return "", nil
	}
	return "; it must have " + strings.Join(all, ", "), nil
}

// outside explains that the endpoints of a unit use an address outside the spaces to which they were bound by force.
func (x *explainer) outside(ctx context.Context, u modeldb.Unit, service modeldb.Service, depth int) error {
	if depth > 0 || len(service.Bindings) == 0 {
		return nil
	}
	on := u
	if u.Principal != "" {
		var err error
		if on, err = x.db.Unit(ctx, u.Principal); err != nil {
			return err
		}
	}
	if on.Machine == "" {
		return nil
	}
	m, err := x.db.Machine(ctx, on.Machine)
	if err != nil {
		return err
	}
	doc, err := x.db.Networks(ctx)
	for _, space := range networks.Lacks(doc, service, m) {
		x.add(entity.Reason{Depth: depth, Of: entity.UnitTag(u.Name).String(), By: entity.ByUser,
			Text: fmt.Sprintf("machine %s of unit %q has no address in space %q, to which service %q is bound: the unit uses another one",
				m.ID, u.Name, space, service.Name),
			Hint: fmt.Sprintf("bind it to a space that the machine is in: juju bind %s SPACE; or replace the unit: juju add-unit %[1]s, juju destroy-unit %s",
				service.Name, u.Name)})
	}
	return err
}
