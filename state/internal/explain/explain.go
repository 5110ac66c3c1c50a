// Package explain explains why an entity of a model has not started, or has not been removed yet. It only reads.
package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/secrets"
	"juju/state/lifecycle"
	"juju/state/limits"
)

// explained is how many sources of an entity are named; the rest are only counted.
const explained = 10

// An Explainer explains entities of a model, one after another. What takes reads of many documents and is the same for all
// of them, such as what the units of a service lack, it looks up once: in a large model that waits, many wait for one thing.
type Explainer struct {
	db     *modeltxn.DB
	ailing map[string]string           // by service: see rollout.Ailing
	needs  map[string]string           // by machine
	told   map[string][]modeldb.Secret // by service: see Secrets.Told; nil until they are read
}

// New returns an Explainer of a model, for what is asked at one time.
func New(db *modeltxn.DB) *Explainer {
	return &Explainer{db: db, ailing: map[string]string{}, needs: map[string]string{}}
}

// once returns what is known for a key, and looks it up the first time.
func once(known map[string]string, key string, look func() (string, error)) (string, error) {
	if text, ok := known[key]; ok {
		return text, nil
	}
	text, err := look()
	if err == nil {
		known[key] = text
	}
	return text, err
}

// Explain returns why an entity has not started or has not been removed yet. It reads only the model; the
// caller adds whether an agent is connected. The error is entity.NotFound if the entity does not exist and
// has no leftovers.
func (of *Explainer) Explain(ctx context.Context, tag entity.Tag) (entity.Explanation, error) {
	x, db := &explainer{Explainer: of, seen: map[entity.Tag]bool{}}, of.db
	e := entity.Explanation{Tag: tag.String(), Name: string(tag.Kind) + " " + tag.ID}
	found, err := x.explain(ctx, tag, 0)
	if entity.IsNotFound(err) {
		left, rerr := leftovers(ctx, db, tag)
		if rerr != nil || len(left) == 0 {
			return e, cmp.Or(rerr, err)
		}
		e.Life, e.Leftovers = entity.Gone, left
		return e, nil
	} else if err != nil {
		return e, err
	}
	e.Life, e.Since = found.Life, writable(found.Since)
	e.Strength, e.Deadline, e.Reasons = found.Strength, writable(found.Deadline), x.reasons
	for i := range e.Reasons {
		e.Reasons[i].Since = writable(e.Reasons[i].Since)
	}
	refusals, err := db.Refusals(ctx, lifecycle.RowOf(found.kind).In, tag.ID)
	if err != nil {
		return e, err
	}
	for _, r := range refusals {
		e.Refusals = append(e.Refusals, entity.Refusal{At: r.At, Text: cmp.Or(r.Why, "what it rested on kept changing")})
	}
	return e, nil
}

// writable returns t, or the zero time if JSON can't hold t.
func writable(t time.Time) time.Time {
	if !limits.WritableTime(t) {
		return time.Time{}
	}
	return t
}

// leftovers returns the leftovers of an entity that may have left something in the cloud.
func leftovers(ctx context.Context, db *modeltxn.DB, tag entity.Tag) ([]entity.Leftover, error) {
	key := ""
	switch tag.Kind {
	case entity.KindMachine:
		key = modeldb.MachineKey(tag.ID)
	case entity.KindStorage:
		key = modeldb.StorageKey(tag.ID)
	default:
		return nil, nil
	}
	model, err := db.Model(ctx)
	if err != nil {
		return nil, err
	}
	docs, err := db.Leftovers(ctx, bson.D{{"of", key}})
	var all []entity.Leftover
	for _, d := range docs {
		all = append(all, d.Leftover(model))
	}
	return all, err
}

// Unsettled returns the tags of the entities for which Explain has reasons: those that are Dying or Dead, and
// those that have not started.
func Unsettled(ctx context.Context, db *modeltxn.DB) ([]entity.Tag, error) {
	var tags []entity.Tag
	noted := map[entity.Tag]bool{}
	note := func(ids []string, tag func(string) entity.Tag) {
		sort := len(tags)
		for _, id := range ids {
			if tag := tag(id); !tag.IsZero() && !noted[tag] {
				noted[tag] = true
				tags = append(tags, tag)
			}
		}
		slices.SortFunc(tags[sort:], func(a, b entity.Tag) int { return entity.CompareNatural(a.ID, b.ID) })
	}
	going := bson.D{{"life", bson.D{{"$ne", entity.Alive}}}}
	for _, c := range []struct {
		name  string
		query bson.D
		tag   func(string) entity.Tag
	}{
		{modeldb.ServicesC, bson.D{{"$or", []bson.D{going, {{"rollout.stopped", bson.D{{"$exists", true}}}}}}}, entity.ServiceTag},
		{modeldb.RelationsC, going, entity.RelationTag},
		{modeldb.UnitsC, bson.D{{"$or", []bson.D{going, {{"started", false}}}}}, entity.UnitTag},
		{modeldb.MachinesC, bson.D{{"$or", []bson.D{going, {{"upgrade", bson.D{{"$exists", true}}}}}}}, entity.MachineTag},
		{modeldb.StorageC, going, entity.StorageTag},
		{modeldb.OffersC, going, entity.OfferTag},
		{modeldb.RemotesC, going, entity.ServiceTag},
		{modeldb.StatusesC, bson.D{{"status", bson.D{{"$in", append(unsettled, entity.StatusPending)}}}}, tagOfStatus},
	} {
		ids, err := db.IDs(ctx, c.name, c.query)
		if err != nil {
			return nil, err
		}
		note(ids, c.tag)
	}
	unset, err := unsetMachines(ctx, db)
	if err != nil {
		return nil, err
	}
	note(unset, entity.MachineTag) // they are pending too
	told, err := secrets.Secrets{DB: db}.Told(ctx)
	note(each(told, func(doc modeldb.Secret) string { return doc.Owner }), tagOfOwner)
	return tags, err
}

// unsetMachines returns the ids of the machines without a status.
func unsetMachines(ctx context.Context, db *modeltxn.DB) ([]string, error) {
	machines, err := db.IDs(ctx, modeldb.MachinesC, nil)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(machines))
	for i, id := range machines {
		keys[i] = modeldb.MachineKey(id)
	}
	statuses, err := db.IDs(ctx, modeldb.StatusesC, bson.D{{"_id", bson.D{{"$in", keys}}}})
	set := map[string]bool{}
	for _, key := range statuses {
		set[key] = true
	}
	return slices.DeleteFunc(machines, func(id string) bool { return set[modeldb.MachineKey(id)] }), err
}

// A subject is an entity as its document describes it.
type subject struct {
	modeldb.Living
	kind lifecycle.Kind
	name string // its key without the prefix
	tag  entity.Tag
}

func ofUnit(u modeldb.Unit) subject {
	return subject{u.Living, u.Kind(), u.Name, entity.UnitTag(u.Name)}
}

func ofMachine(m modeldb.Machine) subject {
	return subject{m.Living, lifecycle.Machine, m.ID, entity.MachineTag(m.ID)}
}

func ofService(s modeldb.Service) subject {
	return subject{s.Living, lifecycle.Service, s.Name, entity.ServiceTag(s.Name)}
}

func ofRelation(r modeldb.Relation) subject {
	return subject{r.Living, lifecycle.Relation, strconv.Itoa(r.ID), entity.RelationTag(r.Key)}
}

func ofStorage(s modeldb.Storage) subject {
	return subject{s.Living, lifecycle.Storage, s.ID, entity.StorageTag(s.ID)}
}

func ofOffer(o modeldb.Offer) subject {
	return subject{o.Living, lifecycle.Offer, o.Name, entity.OfferTag(o.Name)}
}

func ofRemote(r modeldb.Remote) subject {
	return subject{r.Living, lifecycle.Remote, r.Name, entity.ServiceTag(r.Name)}
}

// An explainer collects the reasons for an entity and for the entities it waits for.
type explainer struct {
	*Explainer
	seen    map[entity.Tag]bool // already explained: references may form a cycle
	reasons []entity.Reason
}

func (x *explainer) add(r entity.Reason) { x.reasons = append(x.reasons, r) }

// explain adds the reasons for an entity, and returns the entity.
func (x *explainer) explain(ctx context.Context, tag entity.Tag, depth int) (subject, error) {
	x.seen[tag] = true
	switch tag.Kind {
	case entity.KindUnit:
		return explainOne(ctx, x.db.Unit, ofUnit, x.unit, tag, depth)
	case entity.KindMachine:
		return explainOne(ctx, x.db.Machine, ofMachine, x.machine, tag, depth)
	case entity.KindService:
		found, err := explainOne(ctx, x.db.Service, ofService, x.service, tag, depth)
		if entity.IsNotFound(err) {
			if remote, rerr := explainOne(ctx, x.db.Remote, ofRemote, x.remote, tag, depth); !entity.IsNotFound(rerr) {
				return remote, rerr
			}
		}
		return found, err
	case entity.KindOffer:
		return explainOne(ctx, x.db.Offer, ofOffer, x.offer, tag, depth)
	case entity.KindStorage:
		return explainOne(ctx, x.db.Storage, ofStorage, x.storage, tag, depth)
	case entity.KindRelation:
		return explainOne(ctx, x.db.Relation, ofRelation, x.relation, tag, depth)
	}
	return subject{}, entity.Errorf(entity.Invalid, "cannot explain %q", tag.String())
}

// explainOne reads the document of an entity of one kind, and adds its reasons.
func explainOne[D any](ctx context.Context, read func(context.Context, string) (D, error), as func(D) subject,
	explain func(context.Context, D, int) error, tag entity.Tag, depth int) (subject, error) {
	doc, err := read(ctx, tag.ID)
	if err != nil {
		return subject{}, err
	}
	return as(doc), explain(ctx, doc, depth)
}

// sources reads the entities that refer to a target, in natural order; none if the sources are scopes. The tag of an
// attachment is that of what the target is attached to.
func (x *explainer) sources(ctx context.Context, ref lifecycle.Ref, name string) ([]subject, error) {
	query := modeldb.SourcesQuery(ref, name)
	switch ref.From {
	case lifecycle.Principal, lifecycle.Subordinate:
		docs, err := x.db.Units(ctx, query)
		return each(docs, ofUnit), err
	case lifecycle.Machine, lifecycle.Container:
		docs, err := x.db.Machines(ctx, query)
		return each(docs, ofMachine), err
	case lifecycle.Service:
		docs, err := x.db.Services(ctx, query)
		return each(docs, ofService), err
	case lifecycle.Relation:
		docs, err := x.db.RelationsBy(ctx, ref, name)
		return each(docs, ofRelation), err
	case lifecycle.Offer:
		docs, err := x.db.Offers(ctx, query)
		return each(docs, ofOffer), err
	case lifecycle.Remote:
		docs, err := x.db.Remotes(ctx, query)
		return each(docs, ofRemote), err
	case lifecycle.Storage:
		docs, err := x.db.Storages(ctx, query)
		return each(docs, ofStorage), err
	case lifecycle.Attachment:
		docs, err := x.db.Attachments(ctx, query)
		return each(docs, func(a modeldb.Attachment) subject {
			tag := entity.StorageTag(a.Storage)
			if ref.To == lifecycle.Storage {
				tag = entity.UnitTag(a.Unit)
			}
			return subject{a.Living, lifecycle.Attachment, modeldb.AttachmentName(a.Unit, a.Storage), tag}
		}), err
	}
	return nil, nil
}

func each[D, E any](docs []D, as func(D) E) []E {
	all := make([]E, len(docs))
	for i, doc := range docs {
		all[i] = as(doc)
	}
	return all
}

// tagOfStatus returns the tag of the unit, machine or storage whose status has this key.
func tagOfStatus(key string) entity.Tag {
	switch kind, name := lifecycle.ParseKey(key); kind {
	case lifecycle.Principal:
		return entity.UnitTag(name)
	case lifecycle.Machine:
		return entity.MachineTag(name)
	case lifecycle.Storage:
		return entity.StorageTag(name)
	}
	return entity.Tag{}
}

// A blocker is a source that keeps an entity from its next life.
type blocker struct {
	tag   entity.Tag // zero if its own reasons don't matter
	name  string     // as the reference's Why names it
	since time.Time
	// must is what must be done and by whom, for a source without its own reasons.
	must entity.Reason
	// instead, if it is not empty, is the whole reason.
	instead entity.Reason
}

// blockers reads the sources of a reference to an entity.
func (x *explainer) blockers(ctx context.Context, ref lifecycle.Ref, e subject) (all []blocker, err error) {
	sources, err := x.sources(ctx, ref, e.name)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		all = append(all, blocker{tag: s.tag, name: s.tag.ID, since: s.Since})
	}
	scopes, err := x.db.ScopesOf(ctx, ref, e.name)
	for _, s := range scopes {
		if !s.IsUnit() {
			all = append(all, blocker{since: e.Since, instead: entity.Reason{By: entity.ByController,
				Text: fmt.Sprintf("relation %q must end at the controller of remote service %q too", e.tag.ID, s.Remote),
				Hint: fmt.Sprintf("To not wait for that controller: juju destroy-relation %s --force", e.tag.ID)}})
			continue
		}
		if s.Remote != "" {
			all = append(all, blocker{tag: entity.UnitTag(s.Remote), name: s.Remote, since: e.Since, must: entity.Reason{By: entity.ByController,
				Text: fmt.Sprintf("the controller must take unit %q, of another model, out of the relation", s.Remote)}})
			continue
		}
		b := blocker{tag: entity.UnitTag(s.Unit), name: s.Unit, since: e.Since}
		b.must = entity.Reason{By: b.tag.String(), Text: fmt.Sprintf("the agent of unit %q must leave the relation", s.Unit)}
		if !ref.Does(lifecycle.UnitAgent) {
			b.must = entity.Reason{By: entity.ByCleaner,
				Text: fmt.Sprintf("the cleaner must take unit %q out of the relation", s.Unit)}
		}
		if e.kind != lifecycle.Relation {
			// The unit must leave the relation; the relation itself may remain.
			r, err := x.db.RelationByID(ctx, s.Relation)
			if entity.IsNotFound(err) {
				continue
			} else if err != nil {
				return nil, err
			}
			b = blocker{name: r.Key, since: e.Since}
		}
		all = append(all, b)
	}
	return all, err
}

// barred adds a reason for each source that keeps an entity from a life, and below it the source's own reasons. It
// returns the number of sources.
func (x *explainer) barred(ctx context.Context, e subject, to entity.Life, depth int) (int, error) {
	n, of := 0, e.tag
	refs := lifecycle.Bars(e.kind, to)
	for _, ref := range refs {
		again := func(r lifecycle.Ref) bool { return !r.Alive && r.In == ref.In && r.Field == ref.Field }
		if ref.Alive && e.Life != entity.Alive && slices.ContainsFunc(refs, again) {
			continue // another reference names these sources too
		}
		all, err := x.blockers(ctx, ref, e)
		if err != nil {
			return n, err
		}
		n += len(all)
		for i, b := range all {
			if i == explained {
				x.add(entity.Reason{Depth: depth, Of: of.String(), Ref: ref.Name,
					Text: fmt.Sprintf("and %d more", len(all)-explained)})
				break
			}
			why := b.instead
			if why.Text == "" {
				why.Text = fmt.Sprintf(ref.Why, of.ID, b.name)
			}
			why.Depth, why.Of, why.Ref, why.Since = depth, of.String(), ref.Name, b.since
			x.add(why)
			if b.tag.IsZero() || x.seen[b.tag] {
				continue
			}
			before := len(x.reasons)
			if _, err := x.explain(ctx, b.tag, depth+1); err != nil && !entity.IsNotFound(err) {
				return n, err
			}
			if b.must.Text != "" && len(x.reasons) == before {
				b.must.Depth, b.must.Of, b.must.Since = depth+1, b.tag.String(), b.since
				x.add(b.must)
			}
		}
	}
	return n, nil
}

// service explains why a Dying service has not been removed, or why units of an Alive one have not started.
func (x *explainer) service(ctx context.Context, s modeldb.Service, depth int) error {
	if s.Life == entity.Alive {
		if s.Rollout != nil && s.Rollout.Stopped != "" {
			x.add(entity.Reason{Depth: depth, Of: entity.ServiceTag(s.Name).String(), By: entity.ByUser, Since: s.Rollout.Since,
				Text: fmt.Sprintf("the upgrade of service %q to charm %s has stopped: %s", s.Name, s.CharmURL, s.Rollout.Stopped),
				Hint: s.Rollout.Public().Ways(s.Name)})
		}
		if err := x.serviceSecrets(ctx, s, depth); err != nil {
			return err
		}
		return x.serviceUnits(ctx, s, depth)
	}
	_, err := x.barred(ctx, ofService(s), entity.Gone, depth)
	return err
}

// offer explains why a Dying offer has not been removed.
func (x *explainer) offer(ctx context.Context, o modeldb.Offer, depth int) error {
	return x.going(ctx, ofOffer(o), depth)
}

// remote explains why a Dying remote service has not been removed.
func (x *explainer) remote(ctx context.Context, r modeldb.Remote, depth int) error {
	return x.going(ctx, ofRemote(r), depth)
}

func (x *explainer) going(ctx context.Context, e subject, depth int) error {
	if e.Life == entity.Alive {
		return nil
	}
	_, err := x.barred(ctx, e, entity.Gone, depth)
	return err
}

// relation explains why a Dying relation has not been removed, or that an Alive one will be destroyed with
// its service.
func (x *explainer) relation(ctx context.Context, r modeldb.Relation, depth int) error {
	if r.Life != entity.Alive {
		_, err := x.barred(ctx, ofRelation(r), entity.Gone, depth)
		return err
	}
	for _, ref := range lifecycle.RefsFrom(lifecycle.Relation) {
		if !ref.Reaches(entity.Plain) {
			continue
		}
		for _, end := range r.Endpoints {
			if ref.To != lifecycle.Service && ref.To != lifecycle.Remote || (ref.To == lifecycle.Remote) != end.Remote {
				continue
			}
			life, err := x.lifeOf(ctx, end)
			if entity.IsNotFound(err) || err == nil && life == entity.Alive {
				continue
			} else if err != nil {
				return err
			}
			x.add(entity.Reason{Depth: depth, Of: entity.RelationTag(r.Key).String(), By: entity.ByCleaner,
				Text: fmt.Sprintf("service %q is dying: the cleaner must destroy the relation", end.Service)})
		}
	}
	return nil
}

// lifeOf reads the life of an endpoint's service.
func (x *explainer) lifeOf(ctx context.Context, end modeldb.Endpoint) (entity.Life, error) {
	if end.Remote {
		r, err := x.db.Remote(ctx, end.Service)
		return r.Life, err
	}
	s, err := x.db.Service(ctx, end.Service)
	return s.Life, err
}

// unsettled are the statuses, of agents or workloads, that an explanation mentions.
var unsettled = []entity.StatusWord{entity.StatusError, entity.StatusFailed, entity.StatusExecuting, entity.StatusRebooting,
	entity.StatusBlocked, entity.StatusWaiting, entity.StatusMaintenance}

// serviceUnits explains what the first few waiting units of an Alive service are waiting for.
func (x *explainer) serviceUnits(ctx context.Context, s modeldb.Service, depth int) error {
	name := s.Name
	units, err := x.db.IDs(ctx, modeldb.UnitsC, bson.D{{"service", name},
		{"$or", []bson.D{{{"life", bson.D{{"$ne", entity.Alive}}}}, {{"started", false}}}}})
	if err != nil {
		return err
	}
	keys, err := x.db.IDs(ctx, modeldb.StatusesC, bson.D{
		{"_id", bson.D{{"$gt", modeldb.UnitKey(name + "/")}, {"$lt", modeldb.UnitKey(name + "0")}}}, // 0 follows / in ASCII
		{"status", bson.D{{"$in", unsettled}}}})
	if err != nil {
		return err
	}
	for _, key := range keys {
		units = append(units, tagOfStatus(key).ID)
	}
	slices.SortFunc(units, entity.CompareNatural)
	units = slices.Compact(units)
	shown := len(x.reasons)
	for i, unit := range units {
		tag := entity.UnitTag(unit)
		if i == explained {
			x.add(entity.Reason{Depth: depth, Of: entity.ServiceTag(name).String(),
				Text: fmt.Sprintf("and %d more units", len(units)-explained)})
			break
		}
		if x.seen[tag] {
			continue
		}
		if _, err := x.explain(ctx, tag, depth); err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	if len(x.reasons) > shown || s.Subordinate {
		return nil
	}
	n, err := x.db.Count(ctx, modeldb.UnitsC, bson.D{{"service", name}})
	if err == nil && n == 0 {
		x.add(entity.Reason{Depth: depth, Of: entity.ServiceTag(name).String(), By: entity.ByUser,
			Text: fmt.Sprintf("service %q has no units", name), Hint: "juju add-unit " + name})
	}
	return err
}
