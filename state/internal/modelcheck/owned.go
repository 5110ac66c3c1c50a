package modelcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
)

func lostStatus(v *view, id string, _ check.Row) any {
	return modeldb.NewStatus(id, entity.Status{Status: entity.StatusUnknown, Message: "its status was lost"}, v.Now)
}

func noConstraints(_ *view, id string, _ check.Row) any { return modeldb.Constraints{id, ""} }

func noSettings(_ *view, id string, _ check.Row) any {
	return modeldb.Settings{ID: id, Settings: map[string]any{}}
}

// remade creates the documents that every entity of a kind has, by collection, with an
// addition to the repair's message. judgeEnds creates relations' endpoints.
var remade = map[string]struct {
	empty func(v *view, id string, owner check.Row) any
	mind  string
}{
	modeldb.StatusesC:    {lostStatus, ""},
	modeldb.ConstraintsC: {noConstraints, ""},
	modeldb.SettingsC:    {noSettings, "the charm's defaults apply"},
	modeldb.DeploymentsC: {func(_ *view, _ string, u check.Row) any {
		return modeldb.Deployment{Parent: deployerOf(u).String(), Unit: u.Text("_id")}
	}, ""},
}

func deployerOf(r check.Row) entity.Tag {
	return modeldb.Unit{Principal: r.Text("principal"), Machine: r.Text("machine")}.Deployer()
}

// ownedRules check that the documents that an entity always has exist.
func ownedRules() (rules []rule) {
	for _, collection := range livingC {
		rules = append(rules, rule{of: collection, judge: func(v *view, owner string) *check.Wrong {
			e, ok := v.entityIn(collection, owner)
			if !ok {
				return nil
			}
			for _, doc := range lifecycle.RowOf(e.kind).Owns {
				if doc.Held != lifecycle.Always {
					continue
				}
				for _, id := range e.owned(doc) {
					if v.Get(doc.In, id) != nil {
						continue
					}
					repair := "write an empty one"
					if mind := remade[doc.In].mind; mind != "" {
						repair += "; " + mind
					}
					return check.Insert(check.DocID{doc.In, id}, "it is missing", repair, remade[doc.In].empty(v, id, e.doc))
				}
			}
			return nil
		}})
	}
	return rules
}

// judgeDeployment finds deployments whose deployer is not the unit's.
func judgeDeployment(v *view, id string) *check.Wrong {
	d := v.Get(modeldb.DeploymentsC, id)
	if d == nil {
		return nil
	}
	u := v.Get(modeldb.UnitsC, d.Text("unit"))
	if u == nil {
		return nil // another rule covers it
	}
	if is := deployerOf(u).String(); is != d.Text("parent") || id != is+"#"+d.Text("unit") {
		return check.Remove(check.DocID{modeldb.DeploymentsC, id},
			fmt.Sprintf("unit %s is deployed by %q", d.Text("unit"), is), "remove it")
	}
	return nil
}

// judgeEnds finds relations whose endpoint documents are missing, or differ in life or
// strength.
func judgeEnds(v *view, key string) *check.Wrong {
	r := v.Get(modeldb.RelationsC, key)
	if r == nil {
		return nil
	}
	for _, end := range r.Docs("endpoints") {
		id := modeldb.EndpointID(end.Text("service"), key)
		e := v.Get(modeldb.EndpointsC, id)
		where := check.DocID{modeldb.EndpointsC, id}
		switch {
		case e == nil:
			return check.Insert(where, "it is missing", "write it like the relation",
				modeldb.RelationEnd{Service: end.Text("service"), Relation: key, Life: r.Life(), Strength: r.Strength()})
		case e.Life() != r.Life() || e.Strength() != r.Strength():
			return check.Update(where, fmt.Sprintf("it is %v (%v) and its relation %v (%v)", e.Life(), e.Strength(), r.Life(),
				r.Strength()),
				"make it like the relation", bson.D{{"$set", bson.D{{"life", r.Life()}, {"strength", r.Strength()}}}})
		}
	}
	return nil
}

// judgeEndpoint finds endpoint documents that don't belong to their relation.
func judgeEndpoint(v *view, id string) *check.Wrong {
	e := v.Get(modeldb.EndpointsC, id)
	if e == nil {
		return nil
	}
	r := v.Get(modeldb.RelationsC, e.Text("relation"))
	if r == nil {
		return nil // another rule covers it
	}
	has := slices.ContainsFunc(r.Docs("endpoints"), func(end check.Row) bool {
		return end.Text("service") == e.Text("service")
	})
	if has && id == modeldb.EndpointID(e.Text("service"), e.Text("relation")) {
		return nil
	}
	return check.Remove(check.DocID{modeldb.EndpointsC, id}, fmt.Sprintf("relation %q has no such endpoint", e.Text("relation")),
		"remove it")
}

// judgeScope finds scopes whose unit has no settings in the relation.
func judgeScope(v *view, id string) *check.Wrong {
	s := v.Get(modeldb.ScopesC, id)
	if s == nil || s.Text("role") == modeldb.Counterpart {
		return nil
	}
	n := s.Number("relation")
	key := modeldb.RelationSettingsKey(n, cmp.Or(s.Text("unit"), s.Text("remote")))
	if v.Get(modeldb.SettingsC, key) != nil {
		return nil
	}
	return check.Insert(check.DocID{modeldb.SettingsC, key}, "it is missing",
		"write an empty one; what the unit set in the relation is lost",
		modeldb.Settings{ID: key, Relation: &n, Container: containerOf(id), Settings: map[string]any{}})
}

// containerOf returns the principal in the id of a container relation's scope, or "" for
// other scopes.
func containerOf(scope string) string {
	prefix, _, _ := strings.Cut(scope, "#")
	_, tag, _ := strings.Cut(prefix, "-")
	if t, err := entity.ParseTag(tag); err == nil && t.Kind == entity.KindUnit {
		return t.ID
	}
	return ""
}

// judgeSettings finds settings of a relation that the cleanup of relation settings would
// miss.
func judgeSettings(v *view, id string) *check.Wrong {
	s, n := v.Get(modeldb.SettingsC, id), relationOf(id)
	if s == nil || n < 0 || s.Number("relation") == n && s["relation"] != nil {
		return nil
	}
	return check.Update(check.DocID{modeldb.SettingsC, id}, "it does not name its relation", "set that from its id",
		bson.D{{"$set", bson.D{{"relation", n}}}})
}

// judgePorts finds open ports of units that do not exist, or are on another machine.
func judgePorts(v *view, machine string) *check.Wrong {
	p := v.Get(modeldb.PortsC, machine)
	if p == nil {
		return nil
	}
	var gone []string
	for _, open := range p.Docs("ports") {
		name := open.Text("unit")
		u := v.Get(modeldb.UnitsC, name)
		on := u.Text("machine")
		if principal := u.Text("principal"); principal != "" {
			on = v.Get(modeldb.UnitsC, principal).Text("machine")
		}
		if (u == nil || on != machine) && !slices.Contains(gone, name) {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	return check.Update(check.DocID{modeldb.PortsC, machine},
		"units that are not on the machine have open ports: "+strings.Join(gone, ", "),
		"close them",
		bson.D{{"$pull", bson.D{{"ports", bson.D{{"unit", bson.D{{"$in", gone}}}}}}}, {"$inc", bson.D{{"version", 1}}}})
}
