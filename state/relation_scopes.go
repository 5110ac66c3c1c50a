package state

import (
	"context"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
	"juju/state/internal/modeltxn"
	"juju/state/internal/storage"
	"juju/state/lifecycle"
	"juju/state/mongo"
)

// A relationUnit is a unit and one relation of its service.
type relationUnit struct {
	st   *State
	rel  *Relation
	unit *Unit
	end  modeldb.Endpoint // the unit's end
}

// relationUnit reads a unit and a relation of its service; the error is entity.NotFound if either does not exist.
func (st *State) relationUnit(ctx context.Context, unit string, relation int) (*relationUnit, error) {
	u, err := st.Unit(ctx, unit)
	if err != nil {
		return nil, err
	}
	r, err := st.RelationByID(ctx, relation)
	if err != nil {
		return nil, err
	}
	end, err := r.doc.Endpoint(u.doc.Service)
	if err != nil {
		return nil, err
	}
	return &relationUnit{st, r, u, end}, nil
}

// container returns the principal whose container scope the unit is in, "" in a global relation.
func (ru *relationUnit) container() string { return ru.rel.doc.Container(ru.unit.doc) }

func (ru *relationUnit) scopeID() string {
	return modeldb.ScopePrefix(ru.rel.doc.ID, ru.container()) + ru.end.Role + "#" + ru.unit.doc.Name
}

func (ru *relationUnit) inScope(ctx context.Context) (bool, error) {
	n, err := ru.st.db.Count(ctx, modeldb.ScopesC, bson.D{{"_id", ru.scopeID()}})
	return n > 0, err
}

// EnterScope writes the unit's initial settings and adds it to the relation's scope. For a principal that enters a
// container scope it also adds its subordinate. It does nothing if the unit is in scope. The error is entity.CannotEnter
// if the unit or the relation is not Alive, and entity.CannotEnterYet until an old subordinate is removed.
func (u *Unit) EnterScope(ctx context.Context, relation int) error {
	number, born := subordinateNumbers{unit: -1}, u.st.born() // the subordinate's, kept across attempts
	return u.st.change(ctx, func(o *ops) error {
		ru, err := u.st.relationUnit(ctx, u.doc.Name, relation)
		if entity.IsNotFound(err) {
			return entity.Errorf(entity.CannotEnter, "cannot enter scope: unit or relation is not alive")
		} else if err != nil {
			return err
		}
		if in, err := ru.inScope(ctx); err != nil {
			return err
		} else if in {
			return mongo.ErrNothing
		}
		if ru.unit.doc.Life != entity.Alive || ru.rel.doc.Life != entity.Alive || ru.rel.doc.Suspended {
			return entity.Errorf(entity.CannotEnter, "cannot enter scope: unit or relation is not alive")
		}
		fits, beside, err := ru.fits(ctx)
		if err != nil {
			return err
		} else if !fits {
			return entity.Errorf(entity.CannotEnter, "cannot enter scope: relation %q is not of the unit's container",
				ru.rel.doc.Key)
		}
		// All of this was read before this transaction, and a scope that is entered after an end would be left by no one.
		if beside != "" {
			o.Assert(modeldb.UnitsC, beside, modeltxn.Exists)
		}
		o.Assert(modeldb.RelationsC, ru.rel.doc.Key, ru.rel.doc.Enterable())
		o.AssertLife(modeldb.UnitsC, u.doc.Name, entity.Alive)
		// Settings first, so that units that see this one in scope can read them.
		if err := ru.firstSettingsOps(ctx, o); err != nil {
			return err
		}
		o.Insert(modeldb.ScopesC, ru.scopeID(), modeldb.Scope{ID: ru.scopeID(), Relation: relation, Unit: u.doc.Name, Role: ru.end.Role})
		o.addRefs(ru)
		if err := ru.subordinateOps(ctx, o, &number, born); err != nil {
			return err
		}
		return nil
	})
}

// firstSettingsOps writes the unit's initial settings, and replaces any left from an earlier time in the scope. It asserts
// what they come from: who changes that afterwards publishes it in the scopes that are there.
func (ru *relationUnit) firstSettingsOps(ctx context.Context, o *ops) error {
	machine, err := ru.unit.machine(ctx)
	if err != nil {
		return err
	}
	first := map[string]any{}
	service, err := ru.st.db.Service(ctx, ru.unit.doc.Service)
	if err != nil {
		return err
	}
	at, err := ru.st.addressing(ctx, service)
	if err != nil {
		return err
	}
	o.Assert(modeldb.ServicesC, service.Name, bson.D{service.KeepsBindings()})
	if machine.ID != "" {
		o.Assert(modeldb.MachinesC, machine.ID, machine.KeepsAddresses())
	}
	if address := at(ru.end.Name, machine.Addresses); address != "" {
		for key, value := range addressSettings(address) {
			first[key] = value
		}
		model, err := ru.st.db.Model(ctx)
		if err != nil {
			return err
		}
		if egress := ru.rel.doc.Egress(model); len(egress) > 0 {
			first[egressKey] = strings.Join(egress, ",")
		}
	}
	key := modeldb.RelationSettingsKey(ru.rel.doc.ID, ru.unit.doc.Name)
	old, err := ru.st.db.Settings(ctx, key)
	if entity.IsNotFound(err) {
		id := ru.rel.doc.ID
		o.Insert(modeldb.SettingsC, key, modeldb.Settings{ID: key, Relation: &id, Container: ru.container(), Settings: modeldb.EscapeKeys(first)})
		return nil
	} else if err != nil {
		return err
	}
	o.Update(modeldb.SettingsC, key, bson.D{{"version", old.Version}}, bson.D{
		{"$set", bson.D{{"settings", modeldb.EscapeKeys(first)}}}, {"$inc", bson.D{{"version", 1}}}})
	return nil
}

// subordinateNumbers are the numbers allocated for a new subordinate, -1 for none, and for its storage.
type subordinateNumbers struct {
	unit    int
	storage storage.Numbers
}

// subordinateOps adds a principal's subordinate in a container scope, unless it exists.
func (ru *relationUnit) subordinateOps(ctx context.Context, o *ops, number *subordinateNumbers,
	born modeldb.Living) error {
	if !ru.rel.doc.IsContainer() || ru.unit.doc.Principal != "" {
		return nil
	}
	service := ru.rel.doc.Counterpart(ru.unit.doc.Service).Service
	svc, err := ru.st.Service(ctx, service)
	if err != nil {
		return err
	}
	if !svc.doc.Subordinate {
		return nil // neither end is a subordinate's
	}
	if err := o.KeepCounts(ctx, ru.st.db, modeldb.UnitKey(ru.unit.doc.Name)); err != nil { // no other subordinate is added
		return err
	}
	there, err := ru.st.units(ctx, bson.D{{"principal", ru.unit.doc.Name}, {"service", service}})
	if err != nil {
		return err
	}
	for _, s := range there {
		if s.doc.Life == entity.Alive {
			o.Update(modeldb.UnitsC, s.doc.Name, modeltxn.IsAlive, bson.D{{"$inc", bson.D{{"counted", 1}}}})
			return nil
		}
	}
	if len(there) > 0 {
		return entity.Errorf(entity.CannotEnterYet, "cannot enter scope yet: non-alive subordinate unit has not been removed")
	}
	if svc.doc.Life != entity.Alive {
		return entity.Errorf(entity.CannotEnter, "cannot enter scope: unit or relation is not alive")
	}
	model, err := ru.st.db.AliveModel(ctx)
	if entity.KindOf(err) == entity.NotAlive {
		return entity.Errorf(entity.CannotEnter, "cannot enter scope: %v", err) // everything in the model is being destroyed
	} else if err != nil {
		return err
	}
	if number.unit < 0 {
		if number.unit, err = ru.st.db.Next(ctx, modeldb.UnitSequence(service), 1); err != nil {
			return err
		}
	}
	o.AssertModelAlive()
	o.AssertLife(modeldb.ServicesC, service, entity.Alive)
	doc := modeldb.Unit{Living: born, Name: service + "/" + strconv.Itoa(number.unit), Service: service,
		Series: ru.unit.doc.Series, Principal: ru.unit.doc.Name}
	ru.st.addUnitOps(o, doc, constraints.Value{})
	if len(svc.doc.Stores) == 0 {
		return nil
	}
	meta, err := storage.StoresOf(ctx, ru.st.db, o.Ops, service)
	if err != nil {
		return err
	}
	if err := number.storage.Reserve(ctx, ru.st.db, 0); err != nil {
		return err
	}
	return storage.Grant{DB: ru.st.db, Used: o.pools, Numbers: &number.storage, Born: born, Model: model, Meta: meta, Unit: doc,
		Machine: ru.unit.doc.Machine}.New(ctx, o.Ops, svc.doc.Stores, nil)
}

// LeaveScope removes the unit from the relation's scope; it does nothing if the unit is not in it. The last unit to
// leave a Dying relation removes the relation and, if that was the last reference, a Dying service.
func (u *Unit) LeaveScope(ctx context.Context, relation int) error {
	return u.leaveScope(ctx, relation, lifecycle.UnitAgent)
}

func (u *Unit) leaveScope(ctx context.Context, relation int, by lifecycle.Actor) error {
	return u.st.change(ctx, func(o *ops) error {
		ru, err := u.st.relationUnit(ctx, u.doc.Name, relation)
		if entity.IsNotFound(err) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		if in, err := ru.inScope(ctx); err != nil {
			return err
		} else if !in {
			return mongo.ErrNothing
		}
		return o.leaveOps(ctx, u.st, ru, ru.scopeID(), by)
	})
}

// leaveOps removes a scope.
func (o *ops) leaveOps(ctx context.Context, st *State, scope referrer, id string, by lifecycle.Actor) error {
	o.Remove(modeldb.ScopesC, id, modeltxn.Exists)
	for _, ref := range lifecycle.RefsFrom(scope.kind()) {
		targets := scope.targets(ref)
		if len(targets) > 0 && (ref.Then != lifecycle.Leave || !ref.Does(by)) {
			return entity.Errorf(entity.Invalid, "cannot leave scope: the %s does not take a unit out of a %s", by, ref.To)
		}
		if err := o.dropRef(ctx, st, ref, targets...); err != nil {
			return err
		}
	}
	return nil
}

func (ru *relationUnit) kind() lifecycle.Kind { return lifecycle.Scope }

func (ru *relationUnit) targets(ref lifecycle.Ref) []string {
	switch ref.To {
	case lifecycle.Relation:
		return []string{ru.rel.name()}
	case ru.unit.kind():
		return []string{ru.unit.doc.Name}
	}
	return nil
}

// Relations returns the relations that concern the unit's agent, by number: the Alive relations of its service that are not
// suspended, and the others that the unit is in.
func (u *Unit) Relations(ctx context.Context) ([]entity.RelationInfo, error) {
	relations, err := u.st.relationsOf(ctx, u.doc.Service)
	if err != nil {
		return nil, err
	}
	var all []entity.RelationInfo
	for _, r := range relations {
		end, err := r.doc.Endpoint(u.doc.Service)
		if err != nil {
			return nil, err
		}
		ru := &relationUnit{u.st, r, u, end}
		in, err := ru.inScope(ctx)
		if err != nil {
			return nil, err
		}
		if !in {
			if r.doc.Life != entity.Alive || r.doc.Suspended {
				continue
			}
			// A unit must leave a relation that it is in, even if it no longer fits.
			if fits, _, err := ru.fits(ctx); err != nil {
				return nil, err
			} else if !fits {
				continue
			}
		}
		life := r.doc.Life
		if r.doc.Suspended { // the unit leaves it in the same way as one that ends
			life = max(life, entity.Dying)
		}
		model, err := r.farModel(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, entity.RelationInfo{
			ID: r.doc.ID, Key: r.doc.Key, Life: life, Endpoint: end.Name, Role: end.Role,
			Interface: end.Interface, Scope: end.Scope, Remote: r.doc.Counterpart(u.doc.Service).Service,
			InScope: in, Implicit: end.Implicit, Strength: r.doc.Strength, Via: r.doc.Via, Model: model, Offered: r.doc.Consumer != nil,
		})
	}
	return all, nil
}

// farModel returns the UUID of the other model of a relation across models; "" for other relations.
func (r *Relation) farModel(ctx context.Context) (string, error) {
	end, across := r.doc.RemoteEnd()
	switch {
	case !across:
		return "", nil
	case r.doc.Consumer != nil:
		return r.doc.Consumer.Model, nil
	}
	remote, err := r.st.db.Remote(ctx, end.Service)
	if entity.IsNotFound(err) { // it has just been removed with its relations
		err = nil
	}
	return remote.Model, err
}

// fits reports whether the unit can participate in the relation. In container scope, a subordinate can do so only with
// its principal's service, or with another subordinate of the principal. A transaction that depends on the result must
// assert that beside exists, unless it is "".
func (ru *relationUnit) fits(ctx context.Context) (fits bool, beside string, err error) {
	if !ru.rel.doc.IsContainer() || ru.unit.doc.Principal == "" {
		return true, "", nil
	}
	other := ru.rel.doc.Counterpart(ru.unit.doc.Service).Service
	if other == entity.UnitService(ru.unit.doc.Principal) {
		return true, "", nil
	}
	units, err := ru.st.units(ctx, bson.D{{"principal", ru.unit.doc.Principal}, {"service", other}})
	if err != nil || len(units) == 0 {
		return false, "", err
	}
	return true, units[0].doc.Name, nil
}

// RelationSettings returns the settings of the unit or service named of in a relation. The unit may read its own
// settings, those of its counterparts and of their service, and if it is the leader those of its own service. For others
// the error is entity.Unauthorized. If the relation was removed, it is entity.NotFound with the text "relation not found",
// by which charms know that.
func (u *Unit) RelationSettings(ctx context.Context, relation int, of string) (map[string]string, error) {
	ru, err := u.st.relationUnit(ctx, u.doc.Name, relation)
	if entity.IsNotFound(err) {
		if _, missing := u.st.RelationByID(ctx, relation); entity.IsNotFound(missing) {
			err = entity.Errorf(entity.NotFound, "relation not found")
		}
	}
	if err != nil {
		return nil, err
	}
	if entity.IsValidService(of) {
		return ru.serviceSettings(ctx, of)
	}
	service := entity.UnitService(of)
	if service != ru.rel.doc.Counterpart(u.doc.Service).Service && of != u.doc.Name {
		return nil, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	doc, err := u.st.db.Settings(ctx, modeldb.RelationSettingsKey(relation, of))
	if entity.IsNotFound(err) {
		return nil, entity.Errorf(entity.NotFound, "unit %q has no settings in relation %q", of, ru.rel.doc.Key)
	} else if err != nil {
		return nil, err
	}
	if doc.Container != ru.container() {
		return nil, entity.Errorf(entity.Unauthorized, "permission denied") // of another principal
	}
	return doc.Texts(), nil
}

// serviceSettings returns the settings that leaders of a service have set in the relation.
func (ru *relationUnit) serviceSettings(ctx context.Context, of string) (map[string]string, error) {
	if of != ru.rel.doc.Counterpart(ru.unit.doc.Service).Service {
		leader, _, err := ru.st.db.Leader(ctx, of)
		if err != nil {
			return nil, err
		}
		if leader.Holder != ru.unit.doc.Name {
			return nil, entity.Errorf(entity.Unauthorized, "permission denied")
		}
	}
	doc, err := ru.st.db.Settings(ctx, modeldb.RelationSettingsKey(ru.rel.doc.ID, of))
	if err != nil && !entity.IsNotFound(err) {
		return nil, err
	}
	return doc.Texts(), nil
}

// RelationData returns what is set in each relation of the unit's service: see modelstatus.RelationData.
func (u *Unit) RelationData(ctx context.Context) ([]entity.RelationData, error) {
	return modelstatus.RelationData(ctx, u.st.db, u.doc)
}
