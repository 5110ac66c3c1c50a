package watches

import (
	"cmp"
	"context"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/watcher"
)

// A Scope is where units see their counterparts in a relation: one for each end, or in a container relation for each end
// and principal.
type Scope struct {
	relation int
	prefix   string // of the ids of its documents
	seen     string // of the ids of the counterparts'
	other    string // the counterparts' service
}

func scopeOf(relation int, container, role, other string) Scope {
	prefix := modeldb.ScopePrefix(relation, container)
	return Scope{relation, prefix, prefix + string(charm.Role(role).Counterpart()) + "#", other}
}

// ScopeOf returns the scope of a unit in a relation.
func (Watches) ScopeOf(unit entity.UnitInfo, rel entity.RelationInfo) Scope {
	container := ""
	if rel.Scope == string(charm.ScopeContainer) {
		container = cmp.Or(unit.Principal, unit.Name)
	}
	return scopeOf(rel.ID, container, rel.Role, rel.Remote)
}

// Topic is the topic of those who enter and leave the scope, at both ends.
func (s Scope) Topic() watcher.Topic { return watcher.Prefix(modeldb.ScopesC, s.prefix) }

// Member returns the counterpart that has entered or left.
func (s Scope) Member(c watcher.Change) (name string, ok bool) {
	return strings.CutPrefix(c.ID, s.seen)
}

// Members returns the versions of the settings of the counterparts, only of those in units unless that is nil. In a peer
// relation the unit itself is one of them.
func (w Watches) Members(ctx context.Context, s Scope, units []string) (map[string]int64, error) {
	// The range is from the prefix, which ends with "#", to the prefix with the next character: a container relation has
	// one scope for each principal.
	query := bson.D{{"_id", bson.D{{"$gte", s.seen}, {"$lt", s.seen[:len(s.seen)-1] + "$"}}}}
	if units != nil {
		ids := make([]string, len(units))
		for i, u := range units {
			ids[i] = s.seen + u
		}
		query = bson.D{{"_id", bson.D{{"$in", ids}}}}
	}
	var scopes []modeldb.Scope
	if err := w.db.All(ctx, modeldb.ScopesC, query, &scopes); err != nil {
		return nil, err
	}
	versions, keys := map[string]int64{}, []string{}
	for _, in := range scopes {
		keys = append(keys, modeldb.RelationSettingsKey(s.relation, in.Member()))
	}
	var settings []modeldb.Settings
	if err := w.db.All(ctx, modeldb.SettingsC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &settings); err != nil {
		return nil, err
	}
	for _, one := range settings {
		versions[strings.TrimPrefix(one.ID, modeldb.RelationKey(s.relation)+"#")] = one.Version
	}
	// A unit that left between the two reads still has settings; one that joined is not in keys. Either way, another
	// event follows.
	return versions, nil
}

// Application returns the version of the settings of the counterparts' service; 0 if it has none.
func (w Watches) Application(ctx context.Context, s Scope) (int64, error) {
	settings, err := w.db.Settings(ctx, modeldb.RelationSettingsKey(s.relation, s.other))
	if entity.IsNotFound(err) {
		return 0, nil
	}
	return settings.Version, err
}

// AgentTopics returns what a unit's agent watches to read again what it knows of the unit and its relations. The unit of a
// subordinate is on its principal's machine. Settings in relations are not among them.
func (w Watches) AgentTopics(unit entity.UnitInfo, machine string, relations []entity.RelationInfo) []watcher.Topic {
	topics := append(unitTopics(unit.Name, unit.Service, unit.Principal, machine),
		relationTopics(unit.Service, unit.Principal)...)
	for _, rel := range relations {
		topics = append(topics, w.ScopeOf(unit, rel).Topic())
	}
	return topics
}
