package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/crossmodel"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
	"juju/state/limits"
	"juju/state/mongo"
	"juju/state/watcher"
)

// These methods make one side of a relation across models like the other. Each can be repeated.

// WatchRemotes fires when the model's relations with services of other models may have changed, or its remote services.
func (x CrossModel) WatchRemotes(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, x.st.hub, watcher.Collection(modeldb.RemotesC), watcher.Collection(modeldb.RelationsC)), nil
}

// WatchShared fires when anything that other models see may have changed.
func (x CrossModel) WatchShared(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, x.st.hub, watcher.Collection(modeldb.ModelC), watcher.Collection(modeldb.OffersC),
		watcher.Collection(modeldb.LeadersC), watcher.Collection(modeldb.RelationsC), watcher.Collection(modeldb.ScopesC),
		watcher.Prefix(modeldb.SettingsC, "r#"), watcher.Collection(modeldb.StatusesC),
		watcher.Collection(modeldb.SecretsC)), nil
}

// Connections returns the relations with services of other models, by number.
func (x CrossModel) Connections(ctx context.Context) ([]entity.Connection, error) {
	return crossmodel.Connections(ctx, x.st.db, nil)
}

// Consumed returns the remote services.
func (x CrossModel) Consumed(ctx context.Context) ([]entity.Consumed, error) {
	docs, err := x.st.db.Remotes(ctx, nil)
	return mapped(docs, modeldb.Remote.Consumed), err
}

// Counterpart returns the relation that mirrors a relation of a model of this controller that consumes an offer; nil if
// there is none.
func (x CrossModel) Counterpart(ctx context.Context, model string, relation int) (*entity.Connection, error) {
	return x.counterpart(ctx, modeldb.Consumer{Model: model, Relation: relation})
}

func (x CrossModel) counterpart(ctx context.Context, of modeldb.Consumer) (*entity.Connection, error) {
	token := bson.DocElem{Name: "consumer.token", Value: of.Token}
	if of.Token == "" {
		token.Value = bson.D{{"$exists", false}}
	}
	return x.connection(ctx, bson.D{{"consumer.model", of.Model}, {"consumer.relation", of.Relation}, token})
}

// OfConsumer returns the relations that a model of another controller has with an offer, by its token's id: all, or those
// with the given numbers.
func (x CrossModel) OfConsumer(ctx context.Context, token string, numbers ...int) ([]entity.Connection, error) {
	query := bson.D{{"consumer.token", token}}
	if len(numbers) > 0 {
		query = append(query, bson.DocElem{Name: "id", Value: bson.D{{"$in", numbers}}})
	}
	return crossmodel.Connections(ctx, x.st.db, query)
}

// Consuming returns the relation with a number if it consumes an offer; nil if there is none.
func (x CrossModel) Consuming(ctx context.Context, relation int) (*entity.Connection, error) {
	return x.connection(ctx, bson.D{{"id", relation}, {"consumer", bson.D{{"$exists", false}}}})
}

func (x CrossModel) connection(ctx context.Context, query bson.D) (*entity.Connection, error) {
	all, err := crossmodel.Connections(ctx, x.st.db, query)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// Members returns the units of the model's own service that are in a relation with a service of another model, from a number
// on: as many as one message may have.
func (x CrossModel) Members(ctx context.Context, relation, first int) (entity.Members, error) {
	return crossmodel.Members(ctx, x.st.db, relation, first)
}

// SharedSecret returns a revision of a secret, the latest if it is 0, that a relation of another model may read: one of another
// controller if it has a token, whose id is given. The errors are NotFound, and Unauthorized if it was not granted.
func (x CrossModel) SharedSecret(ctx context.Context, model string, relation int, token, id string,
	revision int) (entity.SecretValue, error) {
	there, err := x.counterpart(ctx, modeldb.Consumer{Model: model, Relation: relation, Token: token})
	if err != nil {
		return entity.SecretValue{}, err
	}
	if there == nil {
		return entity.SecretValue{}, entity.Errorf(entity.NotFound, "relation %d of model %s not found", relation, model)
	}
	if there.Suspended {
		return entity.SecretValue{}, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	r, err := x.st.db.RelationByID(ctx, there.Relation)
	if err != nil {
		return entity.SecretValue{}, err
	}
	return x.st.secrets().ReadShared(ctx, r, id, revision)
}

// Shown returns the status of an offered service, by the offer's UUID; the error is entity.NotFound if there is no such
// offer.
func (x CrossModel) Shown(ctx context.Context, offer string) (entity.Status, error) {
	o, err := x.offerOf(ctx, offer)
	if err != nil {
		return entity.Status{}, err
	}
	return crossmodel.Shown(ctx, x.st.db, o.doc.Service)
}

func (x CrossModel) offerOf(ctx context.Context, id string) (*Offer, error) {
	all, err := x.st.offers(ctx, bson.D{{"uuid", id}})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, entity.Errorf(entity.NotFound, "offer %s not found", id)
	}
	return all[0], nil
}

// Connect adds the relation that mirrors one of a model that consumes an offer, unless it exists. c.Token is the id of the
// token if that model is of another controller.
func (x CrossModel) Connect(ctx context.Context, model string, c entity.Connection) error {
	by := modeldb.Consumer{Model: model, Relation: c.Relation, Service: c.Near.Service, User: c.User, Token: c.Token}
	id, taken := 0, false
	return x.st.change(ctx, func(o *ops) error {
		offer, missing := x.offerOf(ctx, c.Offer) // read first: its count of connects tells whether another call came between
		if there, err := x.counterpart(ctx, by); err != nil {
			return err
		} else if there != nil {
			return mongo.ErrNothing
		}
		if _, err := x.st.db.AliveModel(ctx); err != nil {
			return err
		}
		if missing != nil {
			return missing
		}
		if offer.doc.Life != entity.Alive || !slices.Contains(offer.doc.Endpoints, c.Far) {
			return entity.Errorf(entity.NotFound, "offer %q has no endpoint %q", offer.doc.Name, c.Far)
		}
		end, meta, err := x.st.offerable(ctx, o, offer.doc.Service, c.Far)
		if err != nil {
			return err
		}
		far := modeldb.Endpoint{Service: by.Far(), Name: c.Near.Name, Role: c.Near.Role, Interface: c.Near.Interface,
			Scope: string(charm.ScopeGlobal), Remote: true}
		if !end.CanRelateTo(far) {
			return entity.Errorf(entity.NotFound, "%s can't be related to %s", end, far)
		}
		if err := x.st.checkLimit(ctx, o, end, meta); err != nil {
			return err
		}
		if c.Token != "" {
			n, err := x.st.db.Count(ctx, modeldb.RelationsC, bson.D{{"offer", offer.doc.Name}, {"consumer.user", c.User},
				{"consumer.token", bson.D{{"$exists", true}}}})
			if err := cmp.Or(err, limits.ConsumerRelations.Check(n+1)); err != nil {
				return err
			}
		}
		if !taken {
			if id, err = x.st.db.Next(ctx, modeldb.RelationSequence, 1); err != nil {
				return err
			}
			taken = true
		}
		doc := x.st.newRelation(id, end, far)
		doc.Offer, doc.Consumer = offer.doc.Name, &by
		o.AssertModelAlive()
		o.Update(modeldb.OffersC, offer.doc.Name, append(mongo.Unadvanced("connects", offer.doc.Connects),
			bson.D{{"life", entity.Alive}, {"uuid", c.Offer}}...), bson.D{{"$inc", bson.D{{"connects", 1}}}})
		x.st.addRelationOps(o, doc)
		return nil
	})
}

// Join records that the other model has a relation too.
func (x CrossModel) Join(ctx context.Context, relation int) error {
	return x.st.change(ctx, func(o *ops) error {
		r, err := x.st.RelationByID(ctx, relation)
		if entity.IsNotFound(err) || err == nil && r.doc.Joined {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		o.Update(modeldb.RelationsC, r.doc.Key, bson.D{{"id", relation}}, bson.D{{"$set", bson.D{{"joined", true}}}})
		return nil
	})
}

// End destroys a relation whose counterpart ends.
func (x CrossModel) End(ctx context.Context, relation int) error {
	r, err := x.st.RelationByID(ctx, relation)
	if entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return x.st.move(ctx, r, lifecycle.ToDestroy, lifecycle.Controller, x.st.begin(entity.Destruction{}))
}

// Suspend makes a relation suspended or not, as its counterpart is.
func (x CrossModel) Suspend(ctx context.Context, like entity.Connection, relation int) error {
	err := x.suspend(ctx, relation, like.Suspended, like.Message, func(*Relation) error { return nil })
	if kind := entity.KindOf(err); kind == entity.NotFound || kind == entity.NotAlive {
		return nil
	}
	return err
}

// Show sets the status of a remote service.
func (x CrossModel) Show(ctx context.Context, name string, status entity.Status) error {
	key := modeldb.RemoteKey(name)
	was, err := x.st.db.Status(ctx, key)
	if err == nil && (was.Status != status.Status || was.Message != status.Message) {
		err = x.st.db.SetStatus(ctx, key, status)
	}
	if entity.IsNotFound(err) {
		return nil // the remote service was removed
	}
	return err
}

// Mirror makes the units of another model that are in a relation, and their settings, like m, one in a transaction. None
// is added to a relation that ends or is suspended. Of several calls at once the last to begin goes on: the others end, with
// an error if the last may have another part of the members.
func (x CrossModel) Mirror(ctx context.Context, relation int, m entity.Members) error {
	r, err := x.st.RelationByID(ctx, relation)
	if entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	end, ok := r.doc.RemoteEnd()
	if !ok {
		return entity.Errorf(entity.Invalid, "relation %q has no service of another model", r.doc.Key)
	}
	if err := cmp.Or(entity.CheckEgress(m.Egress), limits.ExposedTo.Check(len(m.Egress))); err != nil {
		return fmt.Errorf("cannot let the other model reach relation %q: %w", r.doc.Key, err)
	}
	one := &mirroring{CrossModel: x, rel: r, end: end, part: m, want: map[string]map[string]string{}, service: m.Application,
		egress: m.Egress}
	if r.doc.Consumer == nil && len(m.Secrets) > 0 {
		model, err := r.farModel(ctx)
		if err == nil {
			err = x.st.secrets().Learn(ctx, r.doc.Counterpart(end.Service).Service, model, m.Secrets)
		}
		if err != nil {
			return fmt.Errorf("cannot tell units of new revisions of secrets: %w", err)
		}
	}
	for n, settings := range m.Units {
		one.want[end.Service+"/"+strconv.Itoa(n)] = settings
	}
	return one.run(ctx)
}

// A mirroring is one call of Mirror.
type mirroring struct {
	CrossModel
	rel     *Relation
	end     modeldb.Endpoint
	part    entity.Members
	want    map[string]map[string]string // the settings of each unit
	service map[string]string            // nil if they are not known
	egress  []string                     // where their connections come from
	turn    int                          // the relation's Mirrors since this call began
}

func (m *mirroring) run(ctx context.Context) error {
	if differs, err := m.begin(ctx); err != nil || !differs {
		return err
	}
	scopes, err := m.st.db.ScopesIn(ctx, m.rel.doc.ID)
	if err != nil {
		return err
	}
	for _, s := range m.leaving(scopes) {
		err := m.change(ctx, func(o *ops) error { return m.st.leaveRemoteOps(ctx, o, s, lifecycle.Controller) })
		if err != nil {
			return err
		}
	}
	if m.rel.doc.Life != entity.Alive || m.rel.doc.Suspended {
		return nil
	}
	if m.service != nil {
		err := m.change(ctx, func(o *ops) error { return m.settingsOps(ctx, o, m.rel, m.end.Service, m.service, false) })
		if err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.want)) {
		if err := m.change(ctx, func(o *ops) error { return m.unitOps(ctx, o, name) }); err != nil {
			return err
		}
	}
	return m.setReaders(ctx)
}

// setReaders records which revisions the other model's units track of the secrets that the relation shares with it.
func (m *mirroring) setReaders(ctx context.Context) error {
	if m.rel.doc.Consumer == nil || m.part.Secrets == nil {
		return nil
	}
	for {
		again, plan := false, m.st.secrets().NewPlan()
		err := m.change(ctx, func(o *ops) (err error) {
			again, err = m.st.secrets().SetReaders(ctx, plan, o.Ops, m.rel.doc, m.part.Secrets)
			return err
		})
		if err != nil || !again {
			return err
		}
	}
}

// begin takes the turn from the calls that began before, and reports whether there is anything to change. In a relation
// that ends units only leave, so the order of calls does not matter.
func (m *mirroring) begin(ctx context.Context) (differs bool, err error) {
	err = m.st.change(ctx, func(o *ops) error {
		differs = false
		err := m.rel.refresh(ctx)
		if err == nil {
			differs, err = m.differs(ctx)
		}
		m.turn = m.rel.doc.Mirrors
		if entity.IsNotFound(err) || err == nil && (!differs || m.rel.doc.Life != entity.Alive) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		update := bson.D{{"$inc", bson.D{{"mirrors", 1}}}}
		if m.lets() {
			update = append(update, bson.DocElem{Name: "$set", Value: bson.D{{"ingress", m.egress}}})
		}
		o.Update(modeldb.RelationsC, m.rel.doc.Key, m.now(), update)
		m.turn++
		return nil
	})
	return differs, err
}

// now asserts that the relation is Alive and that no other call has begun since the relation was read.
func (m *mirroring) now() bson.D {
	return append(bson.D{{"id", m.rel.doc.ID}, {"life", entity.Alive}}, mongo.Unadvanced("mirrors", m.rel.doc.Mirrors)...)
}

// change runs a transaction unless another call has begun.
func (m *mirroring) change(ctx context.Context, build func(*ops) error) error {
	return m.st.change(ctx, func(o *ops) error {
		err := m.rel.refresh(ctx)
		if err == nil && m.rel.doc.Mirrors != m.turn && (m.part.First > 0 || m.part.End > 0) {
			return entity.Errorf(entity.Unavailable, "another call changes relation %q", m.rel.doc.Key)
		}
		if entity.IsNotFound(err) || err == nil && m.rel.doc.Mirrors != m.turn {
			return mongo.ErrNothing
		}
		if err == nil {
			err = build(o)
		}
		if err == nil && o.Len() > 0 && m.rel.doc.Life == entity.Alive {
			o.Assert(modeldb.RelationsC, m.rel.doc.Key, m.now())
		}
		return err
	})
}

// leaving returns those of a relation's scopes whose units are to leave.
func (m *mirroring) leaving(scopes []modeldb.Scope) (leave []modeldb.Scope) {
	for _, s := range scopes {
		if _, stays := m.want[s.Remote]; s.Remote != "" && s.IsUnit() && !stays && m.part.Has(entity.UnitNumber(s.Remote)) {
			leave = append(leave, s)
		}
	}
	return leave
}

// differs reports whether there is anything to change.
func (m *mirroring) differs(ctx context.Context) (bool, error) {
	scopes, err := m.st.db.ScopesIn(ctx, m.rel.doc.ID)
	if err != nil {
		return false, err
	}
	if leave := m.leaving(scopes); len(leave) > 0 || m.rel.doc.Life != entity.Alive || m.rel.doc.Suspended {
		return len(leave) > 0, nil
	}
	if m.lets() {
		return true, nil
	}
	if err := m.fits(ctx, scopes); err != nil {
		return false, err
	}
	settings, err := m.st.db.SettingsOf(ctx, m.rel.doc.ID, append(slices.Collect(maps.Keys(m.want)), m.end.Service)...)
	if err != nil {
		return false, err
	}
	in := map[string]bool{}
	for _, s := range scopes {
		in[s.ID] = true
	}
	same := func(of string, want map[string]string) bool {
		return maps.Equal(settings[of], want)
	}
	for name, want := range m.want {
		if !in[m.scopeID(name)] || !same(name, want) {
			return true, nil
		}
	}
	if m.service != nil && !same(m.end.Service, m.service) {
		return true, nil
	}
	if m.rel.doc.Consumer == nil || m.part.Secrets == nil {
		return false, nil
	}
	return m.st.secrets().ReadersDiffer(ctx, m.rel.doc, m.part.Secrets)
}

// fits returns an Invalid error if a model of another controller would have too much in the relation. The units of this
// controller's models are in its store anyway.
func (m *mirroring) fits(ctx context.Context, scopes []modeldb.Scope) error {
	offered := m.rel.doc.Consumer != nil && m.rel.doc.Consumer.Token != ""
	if !offered && !slices.ContainsFunc(scopes, func(s modeldb.Scope) bool { return s.Role == modeldb.Counterpart }) {
		return nil
	}
	units, size := len(m.want), 0
	for _, settings := range m.want {
		size += limits.SettingsSize(settings)
	}
	var others []string
	for _, s := range scopes {
		if s.Remote != "" && s.IsUnit() && !m.part.Has(entity.UnitNumber(s.Remote)) {
			others = append(others, s.Remote)
		}
	}
	if err := limits.ConsumerUnits.Check(units + len(others)); err != nil || len(others) == 0 {
		return cmp.Or(err, limits.ConsumerSettings.Check(size))
	}
	for some := range slices.Chunk(others, modeltxn.SettingsAtOnce) {
		settings, err := m.st.db.SettingsOf(ctx, m.rel.doc.ID, some...)
		if err != nil {
			return err
		}
		for _, one := range settings {
			size += limits.SettingsSize(one)
		}
	}
	return limits.ConsumerSettings.Check(size)
}

// lets reports whether the ports of the offered service are to be opened to other subnets.
func (m *mirroring) lets() bool {
	return m.rel.doc.Consumer != nil && !slices.Equal(m.rel.doc.Ingress, m.egress)
}

func (m *mirroring) scopeID(unit string) string {
	return modeldb.ScopePrefix(m.rel.doc.ID, "") + m.end.Role + "#" + unit
}

// unitOps puts a unit of another model into the relation, with its settings, or changes those.
func (m *mirroring) unitOps(ctx context.Context, o *ops, name string) error {
	id := m.scopeID(name)
	n, err := m.st.db.Count(ctx, modeldb.ScopesC, bson.D{{"_id", id}})
	if err != nil {
		return err
	}
	if n == 0 && (m.rel.doc.Life != entity.Alive || m.rel.doc.Suspended) {
		return mongo.ErrNothing
	}
	if err := m.settingsOps(ctx, o, m.rel, name, m.want[name], n == 0); err != nil || n > 0 {
		return err
	}
	// While a relation is suspended, those that are in it leave, and none may enter.
	o.Assert(modeldb.RelationsC, m.rel.doc.Key, bson.D{{"suspended", bson.D{{"$ne", true}}}})
	o.Insert(modeldb.ScopesC, id, modeldb.Scope{ID: id, Relation: m.rel.doc.ID, Remote: name, Role: m.end.Role})
	o.addRefs(remoteScope{m.rel})
	return nil
}

// settingsOps makes the settings of a unit or service of another model like the given ones; new ones are written even if
// there are none.
func (x CrossModel) settingsOps(ctx context.Context, o *ops, r *Relation, of string,
	settings map[string]string, enters bool) error {
	key, changes := modeldb.RelationSettingsKey(r.doc.ID, of), map[string]any{}
	was, err := x.st.db.Settings(ctx, key)
	absent := entity.IsNotFound(err)
	if err != nil && !absent {
		return err
	}
	for k := range was.Settings {
		changes[k] = nil
	}
	for k, v := range settings {
		changes[k] = v
	}
	if absent && enters && len(changes) == 0 {
		o.Insert(modeldb.SettingsC, key, modeldb.Settings{ID: key, Relation: &r.doc.ID, Settings: map[string]any{}})
		return nil
	}
	changed, err := x.st.db.PutSettings(ctx, o.Ops, modeldb.Settings{ID: key, Relation: &r.doc.ID}, changes)
	if err != nil {
		return fmt.Errorf("cannot mirror the settings of %q in relation %q: %w", of, r.doc.Key, err)
	}
	if changed && !enters {
		o.Assert(modeldb.RelationsC, r.doc.Key, bson.D{{"id", r.doc.ID}}) // as writeSettings says
	}
	return nil
}

// Release lets a Dying relation with an offer of another controller go, whose counterpart there has ended.
func (x CrossModel) Release(ctx context.Context, relation int) error {
	scopes, err := x.st.db.ScopesIn(ctx, relation)
	if err != nil {
		return err
	}
	for _, s := range scopes {
		if !s.IsUnit() {
			err = errors.Join(err, x.st.leaveRemote(ctx, s, lifecycle.Controller))
		}
	}
	return err
}

// leaveRemote takes a unit of another model out of a relation.
func (st *State) leaveRemote(ctx context.Context, s modeldb.Scope, by lifecycle.Actor) error {
	return st.change(ctx, func(o *ops) error { return st.leaveRemoteOps(ctx, o, s, by) })
}

func (st *State) leaveRemoteOps(ctx context.Context, o *ops, s modeldb.Scope, by lifecycle.Actor) error {
	r, err := st.RelationByID(ctx, s.Relation)
	if entity.IsNotFound(err) {
		return mongo.ErrNothing
	} else if err != nil {
		return err
	}
	if n, err := st.db.Count(ctx, modeldb.ScopesC, bson.D{{"_id", s.ID}}); err != nil || n == 0 {
		return cmp.Or(err, mongo.ErrNothing)
	}
	return o.leaveOps(ctx, st, remoteScope{r}, s.ID, by)
}

// A remoteScope is the presence of a unit of another model in a relation.
type remoteScope struct{ rel *Relation }

func (remoteScope) kind() lifecycle.Kind { return lifecycle.Scope }

func (s remoteScope) targets(ref lifecycle.Ref) []string {
	if ref.To == lifecycle.Relation {
		return []string{s.rel.name()}
	}
	return nil
}
