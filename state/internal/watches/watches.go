package watches

import (
	"context"
	"slices"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
	"juju/state/internal/modeltxn"
	"juju/state/watcher"
)

// Watches are the watches of a model. Each starts with an event; its channel is closed when the context or the model
// ends.
type Watches struct {
	db  *modeltxn.DB
	hub *watcher.Hub
}

// New returns the watches of the model whose changes reach a hub.
func New(db *modeltxn.DB, hub *watcher.Hub) Watches { return Watches{db, hub} }

// Machine fires when the machine, what is deployed on it, or the model's settings may have changed.
func (w Watches) Machine(ctx context.Context, id string) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.hub, watcher.Doc(modeldb.MachinesC, id), watcher.Doc(modeldb.ModelC, modeldb.ModelC),
		watcher.Prefix(modeldb.DeploymentsC, entity.MachineTag(id).String()+"#")), nil
}

// Machines sends the ids of machines that were added or removed, whose life has changed, or whose instance should be
// retried.
func (w Watches) Machines(ctx context.Context) (<-chan []string, error) {
	return watcher.Strings(ctx, w.hub, watcher.Listing[wanted]{
		Topics: []watcher.Topic{watcher.Collection(modeldb.MachinesC)},
		List:   func(ids []string) (map[string]wanted, error) { return w.wanted(ctx, ids) },
	})
}

// lives reads the lives of the documents with these ids that exist, or of all if ids is nil.
func (w Watches) lives(ctx context.Context, collection string, ids []string) (map[string]entity.Life, error) {
	var query bson.D
	if ids != nil {
		query = bson.D{{"_id", bson.D{{"$in", ids}}}}
	}
	var docs []struct {
		ID   string      `bson:"_id"`
		Life entity.Life `bson:"life"`
	}
	if err := w.db.All(ctx, collection, query, &docs); err != nil {
		return nil, err
	}
	lives := map[string]entity.Life{}
	for _, d := range docs {
		lives[d.ID] = d.Life
	}
	return lives, nil
}

// DeployedBy returns the names of the units that a machine or principal deploys.
func DeployedBy(ctx context.Context, db *modeltxn.DB, parent entity.Tag) ([]string, error) {
	var docs []modeldb.Deployment
	if err := db.All(ctx, modeldb.DeploymentsC, bson.D{{"parent", parent.String()}}, &docs); err != nil {
		return nil, err
	}
	names := make([]string, len(docs))
	for i, d := range docs {
		names[i] = d.Unit
	}
	return names, nil
}

// Deployed sends the names of units that were added to or removed from those that a
// machine or principal deploys, or whose life has changed.
func (w Watches) Deployed(ctx context.Context, parent entity.Tag) (<-chan []string, error) {
	prefix := parent.String() + "#"
	return watcher.Strings(ctx, w.hub, watcher.Listing[entity.Life]{
		Topics: []watcher.Topic{watcher.Prefix(modeldb.DeploymentsC, prefix)},
		IDs:    func(c watcher.Change) []string { return []string{strings.TrimPrefix(c.ID, prefix)} },
		Follow: func(unit string) watcher.Topic { return watcher.Doc(modeldb.UnitsC, unit) },
		List: func(units []string) (map[string]entity.Life, error) {
			mine, err := DeployedBy(ctx, w.db, parent)
			if err != nil {
				return nil, err
			}
			if units != nil {
				mine = slices.DeleteFunc(mine, func(u string) bool { return !slices.Contains(units, u) })
			}
			return w.lives(ctx, modeldb.UnitsC, mine)
		},
	})
}

// Unit fires when anything in UnitInfo, or the model's settings, may have changed. Each watch costs the controller
// 10 kB, so idle agents have few.
func (w Watches) Unit(ctx context.Context, name string) (<-chan struct{}, error) {
	u, err := w.db.Unit(ctx, name)
	if err != nil {
		return nil, err
	}
	id, err := w.db.MachineOf(ctx, u)
	if err != nil {
		return nil, err
	}
	return watcher.Notify(ctx, w.hub, unitTopics(name, u.Service, u.Principal, id)...), nil
}

// unitTopics returns what a unit's information is read from.
func unitTopics(name, service, principal, machine string) []watcher.Topic {
	topics := []watcher.Topic{
		watcher.Doc(modeldb.ModelC, modeldb.ModelC),
		watcher.Doc(modeldb.UnitsC, name),
		watcher.Doc(modeldb.ServicesC, service),
		watcher.Doc(modeldb.NetworksC, modeldb.NetworksC), // the spaces to which it is bound
		watcher.Doc(modeldb.SettingsC, modeldb.ServiceKey(service)),
		watcher.Doc(modeldb.SettingsC, modeldb.LeaderSettingsKey(service)),
		watcher.Prefix(modeldb.DeploymentsC, entity.UnitTag(name).String()+"#"), // the unit's subordinates
		watcher.Prefix(modeldb.TasksC, entity.UnitTag(name).String()+"#"),
		watcher.Prefix(modeldb.AttachmentsC, modeldb.AttachmentID(name, "")), // its storage
		watcher.Prefix(modeldb.SecretsC, modeldb.SecretConsumerID(name, "")), // the secrets that it reads
		watcher.Doc(modeldb.SecretsC, modeldb.UnitKey(name)),                 // its own
		watcher.Doc(modeldb.SecretsC, modeldb.ServiceKey(service)),
	}
	if principal != "" {
		topics = append(topics, watcher.Prefix(modeldb.EndpointsC, service+"#"))
	}
	if machine != "" {
		topics = append(topics, watcher.Doc(modeldb.MachinesC, machine)) // the machine's addresses
	}
	return topics
}

// Rollouts sends the names of services whose rollout has begun, stopped, been resumed or ended.
func (w Watches) Rollouts(ctx context.Context) (<-chan []string, error) {
	return watcher.Strings(ctx, w.hub, watcher.Listing[string]{
		Topics: []watcher.Topic{watcher.Collection(modeldb.ServicesC)},
		List: func(services []string) (map[string]string, error) {
			query := bson.D{{"rollout", bson.D{{"$exists", true}}}, {"rollout.stopped", bson.D{{"$exists", false}}}}
			if services != nil {
				query = append(query, bson.DocElem{Name: "_id", Value: bson.D{{"$in", services}}})
			}
			docs, err := w.db.Services(ctx, query)
			all := map[string]string{}
			for _, d := range docs {
				all[d.Name] = d.Rollout.ID + d.Rollout.Since.String()
			}
			return all, err
		},
	})
}

// Rollout fires when the next step of a service's rollout may be due. It fires for every status in the model, so a model
// has few of these watches, and none while there is no rollout.
func (w Watches) Rollout(ctx context.Context, service string) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.hub, watcher.Doc(modeldb.ServicesC, service), watcher.Prefix(modeldb.UnitsC, service+"/"),
		watcher.Collection(modeldb.StatusesC)), nil
}

// Relations fires when the result of Unit.Relations may have changed. It does not fire when the unit enters or leaves a
// relation, which its own agent does; if force has removed the unit from the scope, the agent's leaving has no effect.
func (w Watches) Relations(ctx context.Context, unit string) (<-chan struct{}, error) {
	u, err := w.db.Unit(ctx, unit)
	if err != nil {
		return nil, err
	}
	return watcher.Notify(ctx, w.hub, relationTopics(u.Service, u.Principal)...), nil
}

// relationTopics returns what the relations of a service's unit are read from.
func relationTopics(service, principal string) []watcher.Topic {
	topics := []watcher.Topic{watcher.Prefix(modeldb.EndpointsC, service+"#")}
	if principal != "" {
		// The principal's other subordinates, which it may be related to.
		topics = append(topics, watcher.Prefix(modeldb.DeploymentsC, entity.UnitTag(principal).String()+"#"))
	}
	return topics
}

// RelationUnits sends the counterparts of the unit that are in the relation, with the
// versions of their settings, those that have left it, and the version of their service's
// settings.
func (w Watches) RelationUnits(ctx context.Context, unit string,
	relation int) (<-chan entity.RelationUnitsChange, error) {
	u, err := w.db.Unit(ctx, unit)
	if err != nil {
		return nil, err
	}
	r, err := w.db.RelationByID(ctx, relation)
	if err != nil {
		return nil, err
	}
	end, err := r.Endpoint(u.Service)
	if err != nil {
		return nil, err
	}
	scope := scopeOf(relation, r.Container(u), end.Role, r.Counterpart(u.Service).Service)
	// The members are keyed by unit, and their service is treated as a member that never leaves.
	application := modeldb.RelationSettingsKey(relation, scope.other)
	return watcher.Events(ctx, w.hub, watcher.Listing[int64]{
		Topics: []watcher.Topic{scope.Topic(), watcher.Doc(modeldb.SettingsC, application)},
		IDs: func(c watcher.Change) []string {
			if c.Collection == modeldb.SettingsC {
				return []string{strings.TrimPrefix(c.ID, modeldb.RelationKey(relation)+"#")}
			}
			if member, ok := scope.Member(c); ok && member != unit {
				return []string{member}
			}
			return nil
		},
		Follow: func(member string) watcher.Topic {
			return watcher.Doc(modeldb.SettingsC, modeldb.RelationSettingsKey(relation, member))
		},
		List: func(names []string) (map[string]int64, error) {
			all, err := w.Members(ctx, scope, names)
			if delete(all, unit); err != nil || len(names) > 0 && !slices.Contains(names, scope.other) {
				return all, err
			}
			version, err := w.Application(ctx, scope)
			if version > 0 {
				all[scope.other] = version
			}
			return all, err
		},
	}, func(names []string, sent, now watcher.Facts[int64]) (entity.RelationUnitsChange, bool) {
		change := entity.RelationUnitsChange{Changed: map[string]int64{}}
		for _, name := range names {
			was, knew := sent(name)
			version, in := now(name)
			switch {
			case in && knew && was == version:
			case name == scope.other:
				change.Application = version
			case in:
				change.Changed[name] = version
			case knew:
				change.Departed = append(change.Departed, name)
			}
		}
		return change, len(change.Changed)+len(change.Departed) > 0 || change.Application != 0
	})
}

// Live follows all parts of the model, and names those that there are. The caller must close it.
func (w Watches) Live(ctx context.Context) (*modelstatus.Live, []entity.PartKey, error) {
	return modelstatus.Follow(ctx, w.db, w.hub)
}

// Summary fires when anything that Status reads, or the model's annotations, may have changed.
func (w Watches) Summary(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.hub, append(statusTopics(), watcher.Doc(modeldb.AnnotationsC, modeldb.ModelKey))...), nil
}

// Status fires when anything that Status reads, or the model's cleanups, may have changed.
func (w Watches) Status(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, w.hub, statusTopics()...), nil
}

func statusTopics() (topics []watcher.Topic) {
	for _, c := range []string{modeldb.ModelC, modeldb.MachinesC, modeldb.ServicesC, modeldb.UnitsC, modeldb.RelationsC, modeldb.StatusesC, modeldb.PortsC, modeldb.ConstraintsC,
		modeldb.CharmsC, modeldb.LeadersC, modeldb.CleanupsC, modeldb.OffersC, modeldb.RemotesC,
		modeldb.StorageC, modeldb.AttachmentsC} {
		topics = append(topics, watcher.Collection(c))
	}
	return topics
}

// A wanted has the fields of a machine whose changes wake the provisioner.
type wanted struct {
	ID      string      `bson:"_id"`
	Life    entity.Life `bson:"life"`
	Retries int         `bson:"retries,omitempty"`
}

// wanted reads these fields of the machines with these ids that exist, or of all if ids is nil.
func (w Watches) wanted(ctx context.Context, ids []string) (map[string]wanted, error) {
	var query bson.D
	if ids != nil {
		query = bson.D{{"_id", bson.D{{"$in", ids}}}}
	}
	var docs []wanted
	if err := w.db.All(ctx, modeldb.MachinesC, query, &docs); err != nil {
		return nil, err
	}
	all := make(map[string]wanted, len(docs))
	for _, d := range docs {
		all[d.ID] = d
	}
	return all, nil
}
