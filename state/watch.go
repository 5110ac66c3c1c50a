package state

import (
	"context"
	"maps"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/watcher"
)

// What the watches here promise stands in the documentation of package watcher.
// Each ends with its context.

// Watches tells of changes in a model. A watch begins with an event, and its channel
// is closed when it ends: with its context, or with the model.
type Watches struct{ st *State }

// Watches returns the watches of the model.
func (st *State) Watches() Watches { return Watches{st} }

// Machine fires when the machine, or what is deployed on it, may have changed.
func (w Watches) Machine(ctx context.Context, id string) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.st.hub, watcher.Doc(machinesC, id),
		watcher.Prefix(deploymentsC, entity.MachineTag(id).String()+"#")), nil
}

// Machines names machines that came, went, whose life has changed, or for
// which another try to start an instance was asked.
func (w Watches) Machines(ctx context.Context) (<-chan []string, error) {
	return watcher.Strings(ctx, w.st.hub, watcher.Listing[wanted]{
		Topics: []watcher.Topic{watcher.Collection(machinesC)},
		List:   w.st.wanted,
	})
}

// lives reads the lives of the documents that exist; of all for no ids.
func (st *State) lives(collection string, ids []string) (map[string]entity.Life, error) {
	var query bson.D
	if ids != nil {
		query = bson.D{{"_id", bson.D{{"$in", ids}}}}
	}
	var docs []struct {
		ID   string      `bson:"_id"`
		Life entity.Life `bson:"life"`
	}
	if err := st.db.All(collection, query, &docs); err != nil {
		return nil, err
	}
	lives := map[string]entity.Life{}
	for _, d := range docs {
		lives[d.ID] = d.Life
	}
	return lives, nil
}

// deployed returns the names of the units in the charge of a machine or principal.
func (st *State) deployed(parent entity.Tag) ([]string, error) {
	var docs []deploymentDoc
	if err := st.db.All(deploymentsC, bson.D{{"parent", parent.String()}}, &docs); err != nil {
		return nil, err
	}
	names := make([]string, len(docs))
	for i, d := range docs {
		names[i] = d.Unit
	}
	return names, nil
}

// DeployedUnits returns the units in the charge of a machine or of a principal,
// in natural order.
func (st *State) DeployedUnits(ctx context.Context, parent entity.Tag) ([]entity.AgentUnit, error) {
	names, err := st.deployed(parent)
	if err != nil {
		return nil, err
	}
	units, err := st.units(bson.D{{"_id", bson.D{{"$in", names}}}})
	all := make([]entity.AgentUnit, len(units))
	for i, u := range units {
		all[i] = entity.AgentUnit{Name: u.doc.Name, Life: u.doc.Life}
	}
	return all, err
}

// Deployed names the units in the charge of a machine or principal that
// were given to it, taken from it, or whose life has changed.
func (w Watches) Deployed(ctx context.Context, parent entity.Tag) (<-chan []string, error) {
	prefix := parent.String() + "#"
	return watcher.Strings(ctx, w.st.hub, watcher.Listing[entity.Life]{
		Topics: []watcher.Topic{watcher.Prefix(deploymentsC, prefix)},
		IDs:    func(c watcher.Change) []string { return []string{strings.TrimPrefix(c.ID, prefix)} },
		Follow: func(unit string) watcher.Topic { return watcher.Doc(unitsC, unit) },
		List: func(units []string) (map[string]entity.Life, error) {
			mine, err := w.st.deployed(parent)
			if err != nil {
				return nil, err
			}
			if units != nil {
				mine = slices.DeleteFunc(mine, func(u string) bool { return !slices.Contains(units, u) })
			}
			return w.st.lives(unitsC, mine)
		},
	})
}

// Unit fires when anything in UnitInfo may have changed.
func (w Watches) Unit(ctx context.Context, name string) (<-chan struct{}, error) {
	u, err := w.st.Unit(ctx, name)
	if err != nil {
		return nil, err
	}
	topics := []watcher.Topic{
		watcher.Doc(unitsC, name),
		watcher.Doc(servicesC, u.doc.Service),
		watcher.Doc(settingsC, serviceKey(u.doc.Service)),
		watcher.Prefix(deploymentsC, entity.UnitTag(name).String()+"#"), // its subordinates
	}
	if u.doc.Principal != "" {
		topics = append(topics, watcher.Prefix(endpointsC, u.doc.Service+"#"))
	}
	if id, err := u.machineOf(ctx); err != nil {
		return nil, err
	} else if id != "" {
		topics = append(topics, watcher.Doc(machinesC, id)) // its addresses
	}
	return watcher.Notify(ctx, w.st.hub, topics...), nil
}

// Relations fires when what Unit.Relations returns may have changed, but for
// the unit's own entering and leaving, which its agent does itself; or force, and
// then the agent that leaves once more does nothing.
func (w Watches) Relations(ctx context.Context, unit string) (<-chan struct{}, error) {
	u, err := w.st.Unit(ctx, unit)
	if err != nil {
		return nil, err
	}
	topics := []watcher.Topic{watcher.Prefix(endpointsC, u.doc.Service+"#")}
	if u.doc.Principal != "" {
		// Those who are beside it, whom it may be related to.
		topics = append(topics, watcher.Prefix(deploymentsC, entity.UnitTag(u.doc.Principal).String()+"#"))
	}
	return watcher.Notify(ctx, w.st.hub, topics...), nil
}

// RelationUnits tells which counterparts of the unit are in the relation,
// with the versions of their settings, and which have left it.
func (w Watches) RelationUnits(ctx context.Context, unit string, relation int) (<-chan entity.RelationUnitsChange, error) {
	ru, err := w.st.relationUnit(ctx, unit, relation)
	if err != nil {
		return nil, err
	}
	prefix := scopePrefix(relation, ru.container())
	seen := prefix + counterpartRole(ru.end.Role) + "#"
	// The shape is that of a Strings watch whose values are sent along; the
	// members are named by their units.
	versions := map[string]int64{}
	list := func(units []string) (map[string]int64, error) { return w.st.members(relation, seen, unit, units) }
	ctx, cancel := context.WithCancel(ctx)
	changed, err := watcher.Strings(ctx, w.st.hub, watcher.Listing[int64]{
		Topics: []watcher.Topic{watcher.Prefix(scopesC, prefix)},
		IDs: func(c watcher.Change) []string {
			if c.Collection == settingsC {
				return []string{strings.TrimPrefix(c.ID, relationKey(relation)+"#")}
			}
			if member, ok := strings.CutPrefix(c.ID, seen); ok && member != unit {
				return []string{member}
			}
			return nil
		},
		Follow: func(member string) watcher.Topic {
			return watcher.Doc(settingsC, relationSettingsKey(relation, member))
		},
		List: list,
	})
	if err != nil {
		cancel()
		return nil, err
	}
	out := make(chan entity.RelationUnitsChange)
	go func() {
		defer cancel()
		defer close(out)
		var pending entity.RelationUnitsChange
		var send chan<- entity.RelationUnitsChange
		first := true
		for {
			select {
			case <-ctx.Done():
				return
			case names, ok := <-changed:
				if !ok {
					return
				}
				now := map[string]int64{}
				if len(names) > 0 {
					if now, err = list(names); err != nil {
						return
					}
				}
				pending = mergeMembers(pending, versions, names, now)
				if first || len(pending.Changed)+len(pending.Departed) > 0 {
					send = out
				}
			case send <- pending:
				pending, send, first = entity.RelationUnitsChange{}, nil, false
			}
		}
	}()
	return out, nil
}

// mergeMembers adds to an event that nobody has read yet what has become of the
// named units; known is what was told of, and is brought up to date.
func mergeMembers(event entity.RelationUnitsChange, known map[string]int64, names []string, now map[string]int64) entity.RelationUnitsChange {
	if event.Changed == nil {
		event.Changed = map[string]int64{}
	}
	departed := map[string]bool{}
	for _, d := range event.Departed {
		departed[d] = true
	}
	for _, name := range names {
		version, in := now[name]
		was, knew := known[name]
		switch {
		case in && (!knew || was != version):
			known[name] = version
			event.Changed[name] = version
			delete(departed, name)
		case !in && knew:
			delete(known, name)
			delete(event.Changed, name)
			departed[name] = true
		}
	}
	event.Departed = slices.Sorted(maps.Keys(departed))
	return event
}

// members returns the versions of the settings of the units in a scope; of those
// named only, unless units is nil.
func (st *State) members(relation int, prefix, except string, units []string) (map[string]int64, error) {
	// From the prefix, which ends with "#", to what would end with the next
	// character: a container relation has as many scopes as there are principals.
	query := bson.D{{"_id", bson.D{{"$gte", prefix}, {"$lt", prefix[:len(prefix)-1] + "$"}}}}
	if units != nil {
		ids := make([]string, len(units))
		for i, u := range units {
			ids[i] = prefix + u
		}
		query = bson.D{{"_id", bson.D{{"$in", ids}}}}
	}
	var scopes []scopeDoc
	if err := st.db.All(scopesC, query, &scopes); err != nil {
		return nil, err
	}
	versions, keys := map[string]int64{}, []string{}
	for _, s := range scopes {
		if s.Unit != except {
			keys = append(keys, relationSettingsKey(relation, s.Unit))
		}
	}
	var settings []settingsDoc
	if err := st.db.All(settingsC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &settings); err != nil {
		return nil, err
	}
	for _, s := range settings {
		versions[strings.TrimPrefix(s.ID, relationKey(relation)+"#")] = s.Version
	}
	// A unit that left between the two reads has settings still; one that came is
	// not in keys. Either way the change is on its way.
	return versions, nil
}

// Status fires when anything that Status reads may have changed, or the model's
// cleanups.
func (w Watches) Status(ctx context.Context) (<-chan struct{}, error) {
	var topics []watcher.Topic
	for _, c := range []string{modelC, machinesC, servicesC, unitsC, relationsC, statusesC, portsC, constraintsC,
		charmsC, leadersC, cleanupsC} {
		topics = append(topics, watcher.Collection(c))
	}
	return watcher.Notify(ctx, w.st.hub, topics...), nil
}
