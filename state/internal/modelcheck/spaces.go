package modelcheck

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// spaces returns the values that the spaces have in a field, also alpha's.
func spaces(v *view, field, alpha string) []string {
	all := []string{alpha}
	for _, s := range v.Get(modeldb.NetworksC, modeldb.NetworksC).Docs("spaces") {
		all = append(all, s.Text(field))
	}
	return all
}

// judgeBindings finds bindings of a service to spaces that are gone.
func judgeBindings(v *view, service string) *check.Wrong {
	var gone []string
	var which []bson.M
	there := spaces(v, "id", entity.AlphaSpaceID)
	for _, b := range v.Get(modeldb.ServicesC, service).Docs("bindings") {
		if id := b.Text("space"); !slices.Contains(there, id) && !slices.Contains(gone, id) {
			gone, which = append(gone, id), append(which, bson.M{"space": b["space"]})
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return check.Update(check.DocID{modeldb.ServicesC, service}, "it is bound to spaces that are gone: "+strings.Join(gone, ", "),
		"bind it to alpha instead", bson.D{{"$pull", bson.D{{"bindings", bson.D{{"$or", which}}}}}})
}

// judgeExposed finds a service that is exposed to spaces that are gone, which lets nobody in. There is no repair: without its
// networks, an endpoint would be exposed to everyone.
func judgeExposed(v *view, service string) *check.Wrong {
	there := spaces(v, "name", entity.AlphaSpace)
	for _, x := range v.Get(modeldb.ServicesC, service).Docs("exposures") {
		for _, name := range x.Texts("spaces") {
			if !slices.Contains(there, name) {
				return &check.Wrong{Where: check.DocID{modeldb.ServicesC, service},
					What: fmt.Sprintf("it is exposed to the space %q, which is gone: expose or unexpose it", name)}
			}
		}
	}
	return nil
}

// judgeConstraints finds constraints that name spaces that are gone: nothing could be placed by them.
func judgeConstraints(collection, field string) func(v *view, id string) *check.Wrong {
	return func(v *view, id string) *check.Wrong {
		where := check.DocID{collection, id}
		now, err := constraints.Parse(v.Get(collection, id).Text(field))
		if err != nil {
			return &check.Wrong{Where: where, What: fmt.Sprintf("its constraints are damaged: %v", err)}
		}
		var gone []string
		there := spaces(v, "name", entity.AlphaSpace)
		in, out := now.Spaces()
		for _, name := range append(in, out...) {
			if !slices.Contains(there, name) {
				gone, now = append(gone, name), now.RenameSpace(name, "")
			}
		}
		if len(gone) == 0 {
			return nil
		}
		return check.Update(where, "its constraints name spaces that are gone: "+strings.Join(gone, ", "),
			"take them out, as remove-space --force does", bson.D{{"$set", bson.D{{field, now.String()}}}})
	}
}

// judgeSubnets finds subnets of spaces that are gone.
func judgeSubnets(v *view, id string) *check.Wrong {
	there, fixed := spaces(v, "id", entity.AlphaSpaceID), bson.D{}
	for i, s := range v.Get(modeldb.NetworksC, id).Docs("subnets") {
		if !slices.Contains(there, s.Text("space")) {
			fixed = append(fixed, bson.DocElem{Name: fmt.Sprintf("subnets.%d.space", i), Value: entity.AlphaSpaceID})
		}
	}
	if len(fixed) == 0 {
		return nil
	}
	return check.Update(check.DocID{modeldb.NetworksC, id}, fmt.Sprintf("it has subnets of spaces that are gone: %d", len(fixed)),
		"give them to alpha", bson.D{{"$set", fixed}, {"$inc", bson.D{{"version", 1}}}})
}
