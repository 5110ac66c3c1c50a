package modelstatus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/mongo/cursor"
	"juju/state/watcher"
)

// A Live holds the documents of a model and keeps them up to date, so that a change costs the reading of the documents
// that it changed. What it says of an entity is what Read says. It is for one goroutine.
type Live struct {
	db  *modeltxn.DB
	sub *watcher.Subscription
	all *everything

	ofService   map[string][]string // the units of each service, in natural order
	settings    map[string]modeldb.Settings
	annotations map[string]modeldb.Annotations
	tasks       map[string]modeldb.Task // what changes of them, and no text
}

// liveCollections are those that a Live follows.
var liveCollections = []string{modeldb.ModelC, modeldb.MachinesC, modeldb.ServicesC, modeldb.UnitsC, modeldb.RelationsC,
	modeldb.StatusesC, modeldb.PortsC, modeldb.ConstraintsC, modeldb.CharmsC, modeldb.LeadersC, modeldb.AttachmentsC,
	modeldb.SettingsC, modeldb.AnnotationsC, modeldb.TasksC, modeldb.OffersC, modeldb.RemotesC}

// Follow returns a Live, which the caller must Close, and all parts of the model.
func Follow(ctx context.Context, db *modeltxn.DB, hub *watcher.Hub) (*Live, []entity.PartKey, error) {
	topics := make([]watcher.Topic, len(liveCollections))
	for i, c := range liveCollections {
		topics[i] = watcher.Collection(c)
	}
	l := &Live{db: db, sub: hub.Subscribe(topics...)}
	keys, err := l.read(ctx)
	if err != nil {
		l.Close()
		return nil, nil, err
	}
	return l, keys, nil
}

// Wake returns a channel that receives when there may be something to Update.
func (l *Live) Wake() <-chan struct{} { return l.sub.Wake() }

// Done returns a channel that is closed when the model is: no changes come after that.
func (l *Live) Done() <-chan struct{} { return l.sub.Done() }

// Close ends the following.
func (l *Live) Close() { l.sub.Close() }

// read reads everything, and returns the keys of all parts that there are now or were before.
func (l *Live) read(ctx context.Context) ([]entity.PartKey, error) {
	touched := touched{}
	l.touchAll(touched)
	all, err := readAll(ctx, l.db)
	if err != nil {
		return nil, err
	}
	l.all, l.ofService = all, map[string][]string{}
	for _, name := range names(all.units) {
		service := all.units[name].Service
		l.ofService[service] = append(l.ofService[service], name)
	}
	mine := bson.D{{"_id", bson.D{{"$gte", modeldb.ServiceKey("")}, {"$lt", "s$"}}}}
	l.settings, l.annotations, l.tasks = map[string]modeldb.Settings{}, map[string]modeldb.Annotations{}, map[string]modeldb.Task{}
	if err := readSome(ctx, l.db, modeldb.SettingsC, mine, nil, l.settings, settingsID); err != nil {
		return nil, err
	}
	maps.DeleteFunc(l.settings, func(key string, _ modeldb.Settings) bool { return !isServiceKey(key) })
	if err := readSome(ctx, l.db, modeldb.AnnotationsC, nil, nil, l.annotations, annotationsID); err != nil {
		return nil, err
	}
	if err := readSome(ctx, l.db, modeldb.TasksC, nil, taskFields, l.tasks, taskID); err != nil {
		return nil, err
	}
	l.touchAll(touched)
	return touched.keys(), nil
}

// isServiceKey reports whether a key is a service's own: there are settings of relations, of leaders and of units too.
func isServiceKey(key string) bool {
	kind, name := lifecycle.ParseKey(key)
	return kind == lifecycle.Service && key == modeldb.ServiceKey(name)
}

func offerID(d modeldb.Offer) string             { return d.Name }
func remoteID(d modeldb.Remote) string           { return d.Name }
func settingsID(d modeldb.Settings) string       { return d.ID }
func annotationsID(d modeldb.Annotations) string { return d.Key }
func taskID(d modeldb.Task) string               { return d.ID }

// taskFields are the fields by which a task is seen to have changed. Its parameters, results and log can be large.
var taskFields = bson.D{{"number", 1}, {"status", 1}, {"started", 1}, {"completed", 1}}

// readSome reads the documents that match into a map.
func readSome[D any](ctx context.Context, db *modeltxn.DB, collection string, query, fields bson.D, into map[string]D,
	id func(D) string) error {
	var docs []D
	err := db.Reading(ctx, collection, func(c *mgo.Collection) error {
		return cursor.Find(c, query).Select(fields).All(&docs)
	})
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", collection, err)
	}
	for _, d := range docs {
		into[id(d)] = d
	}
	return nil
}

// again reads the documents with these ids anew: those that are gone leave the map.
func again[D any](ctx context.Context, db *modeltxn.DB, collection string, ids []string, fields bson.D,
	into map[string]D, id func(D) string) error {
	now := map[string]D{}
	if err := readSome(ctx, db, collection, bson.D{{"_id", bson.D{{"$in", ids}}}}, fields, now, id); err != nil {
		return err
	}
	for _, key := range ids {
		if d, exists := now[key]; exists {
			into[key] = d
		} else {
			delete(into, key)
		}
	}
	return nil
}

// touched collects the parts that may have changed.
type touched map[entity.PartKey]bool

func (t touched) add(kind entity.PartKind, id string) {
	if id != "" {
		t[entity.PartKey{Kind: kind, ID: id}] = true
	}
}

// keys returns the parts, sorted.
func (t touched) keys() []entity.PartKey {
	keys := make([]entity.PartKey, 0, len(t))
	for key := range t {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b entity.PartKey) int {
		if a.Kind != b.Kind {
			return int(a.Kind - b.Kind)
		}
		return entity.CompareNatural(a.ID, b.ID)
	})
	return keys
}

func (l *Live) touchAll(t touched) {
	if l.all == nil {
		return
	}
	t.add(entity.PartModel, l.db.UUID)
	for id := range l.all.charms {
		t.add(entity.PartCharm, id)
	}
	for id := range l.all.machines {
		t.add(entity.PartMachine, id)
	}
	for id := range l.all.services {
		t.add(entity.PartService, id)
	}
	for name := range l.all.remotes {
		t.add(entity.PartRemote, name)
	}
	for name := range l.all.offers {
		t.add(entity.PartOffer, name)
	}
	for id := range l.all.units {
		t.add(entity.PartUnit, id)
	}
	for _, r := range l.all.relations {
		t.add(entity.PartRelation, strconv.Itoa(r.ID))
	}
	for key := range l.annotations {
		t.add(entity.PartAnnotations, key)
	}
	for id := range l.tasks {
		t.add(entity.PartTask, id)
	}
}

// enlist adds a unit to its service, or removes it.
func (l *Live) enlist(u modeldb.Unit, exists bool) {
	units := l.ofService[u.Service]
	i, listed := slices.BinarySearchFunc(units, u.Name, entity.CompareNatural)
	switch {
	case exists && !listed:
		units = slices.Insert(units, i, u.Name)
	case !exists && listed:
		units = slices.Delete(units, i, i+1)
	}
	if l.ofService[u.Service] = units; len(units) == 0 {
		delete(l.ofService, u.Service)
	}
}

// Update reads what has changed since the last call, and returns the parts that may look different now.
func (l *Live) Update(ctx context.Context) ([]entity.PartKey, error) {
	changes, reset := l.sub.Take()
	if reset {
		return l.read(ctx)
	}
	ids := map[string][]string{}
	for _, c := range changes {
		ids[c.Collection] = append(ids[c.Collection], c.ID)
	}
	t := touched{}
	machines := map[string]bool{} // whose units may look different
	for _, collection := range liveCollections {
		if len(ids[collection]) == 0 {
			continue
		}
		slices.Sort(ids[collection])
		if err := l.update(ctx, collection, slices.Compact(ids[collection]), t, machines); err != nil {
			return nil, err
		}
	}
	if len(machines) > 0 {
		for name, u := range l.all.units {
			if machines[l.all.machineOf(u)] {
				t.add(entity.PartUnit, name)
			}
		}
	}
	for key := range maps.Clone(t) {
		if key.Kind == entity.PartUnit {
			t.add(entity.PartService, entity.UnitService(key.ID)) // shows the worst of its units' statuses
		}
	}
	return t.keys(), nil
}

// around calls touch before and after a read, for what was there and for what is.
func around(touch func(), read func() error) error {
	touch()
	err := read()
	touch()
	return err
}

// update reads the changed documents of a collection, and touches what they are part of.
func (l *Live) update(ctx context.Context, collection string, ids []string, t touched,
	machines map[string]bool) (err error) {
	a := l.all
	switch collection {
	case modeldb.ModelC:
		t.add(entity.PartModel, l.db.UUID)
		ran := a.model.AgentBinaries()
		a.model, err = l.db.Model(ctx)
		if entity.IsNotFound(err) {
			return nil // its hub closes
		}
		if a.model.AgentBinaries() != ran { // agents that run others have a pending upgrade
			for id := range a.machines {
				t.add(entity.PartMachine, id)
			}
			for name := range a.units {
				t.add(entity.PartUnit, name)
			}
		}
		return err
	case modeldb.MachinesC:
		for _, id := range ids {
			t.add(entity.PartMachine, id)
			machines[id] = true
		}
		t.add(entity.PartModel, l.db.UUID) // a Dying model counts them
		return again(ctx, l.db, collection, ids, nil, a.machines, func(d modeldb.Machine) string { return d.ID })
	case modeldb.ServicesC:
		for _, id := range ids {
			t.add(entity.PartService, id)
			for _, unit := range l.ofService[id] {
				t.add(entity.PartUnit, unit)
			}
		}
		for name, o := range a.offers {
			if slices.Contains(ids, o.Service) {
				t.add(entity.PartOffer, name) // tells its charm
			}
		}
		t.add(entity.PartModel, l.db.UUID)
		return again(ctx, l.db, collection, ids, nil, a.services, func(d modeldb.Service) string { return d.Name })
	case modeldb.UnitsC:
		return l.updateUnits(ctx, ids, t)
	case modeldb.RelationsC:
		return l.updateRelations(ctx, ids, t)
	case modeldb.StatusesC:
		for _, key := range ids {
			l.touchStatus(key, t, machines)
		}
		return again(ctx, l.db, collection, ids, nil, a.statuses, func(d modeldb.Status) string { return d.ID })
	case modeldb.PortsC:
		for _, id := range ids {
			machines[id] = true
			delete(a.opened, id)
		}
		return again(ctx, l.db, collection, ids, nil, a.ports, func(d modeldb.Ports) string { return d.ID })
	case modeldb.ConstraintsC:
		for _, key := range ids {
			switch kind, name := lifecycle.ParseKey(key); kind {
			case lifecycle.Machine:
				t.add(entity.PartMachine, name)
			case lifecycle.Service:
				t.add(entity.PartService, name)
			}
		}
		return again(ctx, l.db, collection, ids, nil, a.constraints, func(d modeldb.Constraints) string { return d.Key })
	case modeldb.CharmsC:
		for _, url := range ids {
			t.add(entity.PartCharm, url)
		}
		return again(ctx, l.db, collection, ids, bson.D{{"files", 0}, {"warnings", 0}}, a.charms, func(d modeldb.Charm) string { return d.URL })
	case modeldb.LeadersC:
		return around(func() {
			for _, service := range ids {
				t.add(entity.PartUnit, a.leaders[service].Holder)
			}
		}, func() error {
			return again(ctx, l.db, collection, ids, nil, a.leaders, func(d modeldb.Leader) string { return d.Service })
		})
	case modeldb.AttachmentsC:
		a.awaiting = nil
		return around(func() {
			for _, id := range ids {
				t.add(entity.PartUnit, a.attachments[id].Unit)
			}
		}, func() error {
			return again(ctx, l.db, collection, ids, nil, a.attachments, func(d modeldb.Attachment) string { return d.ID })
		})
	case modeldb.SettingsC:
		ids = slices.DeleteFunc(ids, func(id string) bool {
			if !isServiceKey(id) {
				return true
			}
			_, name := lifecycle.ParseKey(id)
			t.add(entity.PartService, name)
			return false
		})
		return again(ctx, l.db, collection, ids, nil, l.settings, settingsID)
	case modeldb.AnnotationsC:
		for _, key := range ids {
			t.add(entity.PartAnnotations, key)
		}
		return again(ctx, l.db, collection, ids, nil, l.annotations, annotationsID)
	case modeldb.OffersC:
		for _, name := range ids {
			t.add(entity.PartOffer, name)
		}
		return again(ctx, l.db, collection, ids, nil, a.offers, offerID)
	case modeldb.RemotesC:
		for _, name := range ids {
			t.add(entity.PartRemote, name)
		}
		return again(ctx, l.db, collection, ids, nil, a.remotes, remoteID)
	default: // tasks
		for _, id := range ids {
			t.add(entity.PartTask, id)
		}
		return again(ctx, l.db, collection, ids, taskFields, l.tasks, taskID)
	}
}

func (l *Live) updateUnits(ctx context.Context, ids []string, t touched) error {
	changed := map[string]bool{}
	for _, name := range ids {
		changed[name] = true
		t.add(entity.PartUnit, name)
		l.enlist(l.all.units[name], false)
	}
	err := again(ctx, l.db, modeldb.UnitsC, ids, nil, l.all.units, func(d modeldb.Unit) string { return d.Name })
	for _, name := range ids {
		if u, exists := l.all.units[name]; exists {
			l.enlist(u, true)
		}
	}
	for name, u := range l.all.units {
		if changed[u.Principal] {
			t.add(entity.PartUnit, name)
		}
	}
	return err
}

func (l *Live) updateRelations(ctx context.Context, keys []string, t touched) error {
	now := map[string]modeldb.Relation{}
	for _, r := range l.all.relations {
		now[r.Key] = r
	}
	err := around(func() {
		for _, key := range keys {
			if r, known := now[key]; known {
				t.add(entity.PartRelation, strconv.Itoa(r.ID))
				t.add(entity.PartOffer, r.Offer) // counts it
			}
		}
	}, func() error {
		return again(ctx, l.db, modeldb.RelationsC, keys, nil, now, func(d modeldb.Relation) string { return d.Key })
	})
	l.all.relations = slices.SortedFunc(maps.Values(now), byNumber)
	return err
}

// touchStatus touches what a status with this key is part of.
func (l *Live) touchStatus(key string, t touched, machines map[string]bool) {
	switch kind, name := lifecycle.ParseKey(key); kind {
	case lifecycle.Machine:
		t.add(entity.PartMachine, name)
		machines[name] = true // units wait for it
	case lifecycle.Service:
		t.add(entity.PartService, name)
	case lifecycle.Remote:
		t.add(entity.PartRemote, name)
	case lifecycle.Storage:
		for _, a := range l.all.attachments {
			if a.Storage == name {
				t.add(entity.PartUnit, a.Unit)
			}
		}
	default: // units
		t.add(entity.PartUnit, name)
	}
}
