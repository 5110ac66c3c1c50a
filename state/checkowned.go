package state

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
)

func lostStatus(v *view, id string, _ row) any {
	return newStatusDoc(id, entity.Status{Status: entity.StatusUnknown, Message: "its status was lost"}, v.now)
}

func noConstraints(_ *view, id string, _ row) any { return constraintsDoc{id, ""} }

func noSettings(_ *view, id string, _ row) any {
	return settingsDoc{ID: id, Settings: map[string]any{}}
}

// remade makes the documents that every entity of a kind has, by collection, and what the
// repair's message adds. judgeEnds makes relations' endpoints.
var remade = map[string]struct {
	empty func(v *view, id string, owner row) any
	mind  string
}{
	statusesC:    {lostStatus, ""},
	constraintsC: {noConstraints, ""},
	settingsC:    {noSettings, "the charm's defaults apply"},
	deploymentsC: {func(_ *view, _ string, u row) any {
		return deploymentDoc{Parent: deployerOf(u).String(), Unit: u.text("_id")}
	}, ""},
}

func deployerOf(r row) entity.Tag {
	return unitDoc{Principal: r.text("principal"), Machine: r.text("machine")}.deployer()
}

// ownedRules check that the documents exist that each entity always has.
func ownedRules() (rules []rule) {
	for _, collection := range livingC {
		rules = append(rules, rule{of: collection, judge: func(v *view, owner string) *wrong {
			e, ok := v.entityIn(collection, owner)
			if !ok {
				return nil
			}
			for _, doc := range lifecycle.RowOf(e.kind).Owns {
				if doc.Held != lifecycle.Always {
					continue
				}
				for _, id := range e.owned(doc) {
					if v.get(doc.In, id) != nil {
						continue
					}
					repair := "write an empty one"
					if mind := remade[doc.In].mind; mind != "" {
						repair += "; " + mind
					}
					return toInsert(docID{doc.In, id}, "it is missing", repair, remade[doc.In].empty(v, id, e.doc))
				}
			}
			return nil
		}})
	}
	return rules
}

// judgeDeployment finds deployments under another deployer than the unit's.
func judgeDeployment(v *view, id string) *wrong {
	d := v.get(deploymentsC, id)
	if d == nil {
		return nil
	}
	u := v.get(unitsC, d.text("unit"))
	if u == nil {
		return nil // for another rule
	}
	if is := deployerOf(u).String(); is != d.text("parent") || id != is+"#"+d.text("unit") {
		return toRemove(docID{deploymentsC, id}, fmt.Sprintf("unit %s is deployed by %q", d.text("unit"), is), "remove it")
	}
	return nil
}

// judgeEnds finds relations whose endpoint documents are missing, or differ in life or
// strength.
func judgeEnds(v *view, key string) *wrong {
	r := v.get(relationsC, key)
	if r == nil {
		return nil
	}
	for _, end := range r.docs("endpoints") {
		id := endpointID(end.text("service"), key)
		e := v.get(endpointsC, id)
		where := docID{endpointsC, id}
		switch {
		case e == nil:
			return toInsert(where, "it is missing", "write it like the relation",
				endpointDoc{Service: end.text("service"), Relation: key, Life: r.life(), Strength: r.strength()})
		case e.life() != r.life() || e.strength() != r.strength():
			return toUpdate(where, fmt.Sprintf("it is %v (%v) and its relation %v (%v)", e.life(), e.strength(), r.life(),
				r.strength()),
				"make it like the relation", bson.D{{"$set", bson.D{{"life", r.life()}, {"strength", r.strength()}}}})
		}
	}
	return nil
}

// judgeEndpoint finds endpoint documents that their relation does not have.
func judgeEndpoint(v *view, id string) *wrong {
	e := v.get(endpointsC, id)
	if e == nil {
		return nil
	}
	r := v.get(relationsC, e.text("relation"))
	if r == nil {
		return nil // for another rule
	}
	has := slices.ContainsFunc(r.docs("endpoints"), func(end row) bool { return end.text("service") == e.text("service") })
	if has && id == endpointID(e.text("service"), e.text("relation")) {
		return nil
	}
	return toRemove(docID{endpointsC, id}, fmt.Sprintf("relation %q has no such endpoint", e.text("relation")),
		"remove it")
}

// judgeScope finds scopes whose unit has no settings in the relation.
func judgeScope(v *view, id string) *wrong {
	s := v.get(scopesC, id)
	if s == nil {
		return nil
	}
	n := s.number("relation")
	key := relationSettingsKey(n, s.text("unit"))
	if v.get(settingsC, key) != nil {
		return nil
	}
	return toInsert(docID{settingsC, key}, "it is missing",
		"write an empty one; what the unit set in the relation is lost",
		settingsDoc{ID: key, Relation: &n, Container: containerOf(id), Settings: map[string]any{}})
}

// containerOf returns the principal in the id of a container relation's scope, "" for
// other scopes.
func containerOf(scope string) string {
	prefix, _, _ := strings.Cut(scope, "#")
	_, tag, _ := strings.Cut(prefix, "-")
	if t, err := entity.ParseTag(tag); err == nil && t.Kind == entity.KindUnit {
		return t.ID
	}
	return ""
}

// judgeSettings finds a relation's settings that the cleanup of relation settings would
// not find.
func judgeSettings(v *view, id string) *wrong {
	s, n := v.get(settingsC, id), relationOf(id)
	if s == nil || n < 0 || s.number("relation") == n && s["relation"] != nil {
		return nil
	}
	return toUpdate(docID{settingsC, id}, "it does not name its relation", "set that from its id",
		bson.D{{"$set", bson.D{{"relation", n}}}})
}

// judgePorts finds open ports of units that do not exist, or are on another machine.
func judgePorts(v *view, machine string) *wrong {
	p := v.get(portsC, machine)
	if p == nil {
		return nil
	}
	var gone []string
	for _, open := range p.docs("ports") {
		name := open.text("unit")
		u := v.get(unitsC, name)
		on := u.text("machine")
		if principal := u.text("principal"); principal != "" {
			on = v.get(unitsC, principal).text("machine")
		}
		if (u == nil || on != machine) && !slices.Contains(gone, name) {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	return toUpdate(docID{portsC, machine}, "units that are not on the machine have open ports: "+strings.Join(gone, ", "),
		"close them",
		bson.D{{"$pull", bson.D{{"ports", bson.D{{"unit", bson.D{{"$in", gone}}}}}}}, {"$inc", bson.D{{"version", 1}}}})
}
