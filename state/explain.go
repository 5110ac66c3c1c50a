package state

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
)

// explained is how many sources of an entity are named; the rest are counted.
const explained = 10

// FindEntity returns the tag of what users name by these words: a unit, machine, service or
// storage instance by its name; a relation by its key, by its number as in "relation 5", or by the
// two services or endpoints that it relates.
func (st *State) FindEntity(ctx context.Context, words ...string) (entity.Tag, error) {
	if len(words) == 1 {
		words = strings.Fields(words[0])
	}
	switch {
	case len(words) == 2 && words[0] == string(entity.KindRelation):
		if id, err := strconv.Atoi(words[1]); err == nil {
			r, err := st.RelationByID(ctx, id)
			if err != nil {
				return entity.Tag{}, err
			}
			return entity.RelationTag(r.doc.Key), nil
		}
	case len(words) == 1 && entity.IsValidMachine(words[0]):
		return entity.MachineTag(words[0]), nil
	case len(words) == 1 && st.isStorage(ctx, words[0]):
		return entity.StorageTag(words[0]), nil
	case len(words) == 1 && entity.IsValidUnit(words[0]):
		return entity.UnitTag(words[0]), nil
	case len(words) == 1 && entity.IsValidService(words[0]):
		return entity.ServiceTag(words[0]), nil
	case len(words) == 0 || len(words) > 2:
		return entity.Tag{}, entity.WithHint(entity.Errorf(entity.Invalid, "cannot tell what %q is",
			strings.Join(words, " ")),
			"Name a unit, machine or service, or the two services of a relation.")
	}
	r, err := st.Relation(ctx, words...)
	if err != nil {
		return entity.Tag{}, err
	}
	return entity.RelationTag(r.doc.Key), nil
}

// Explain says why an entity has not started or has not been removed yet. It reads only
// state: whether an agent is connected is for the caller to add. The error is
// entity.NotFound if the entity does not exist and has no leftovers.
func (st *State) Explain(ctx context.Context, tag entity.Tag) (entity.Explanation, error) {
	x := &explainer{st: st, ctx: ctx, seen: map[entity.Tag]bool{}}
	e := entity.Explanation{Tag: tag.String(), Name: string(tag.Kind) + " " + tag.ID}
	found, err := x.explain(tag, 0)
	if key := outsideKey(tag); entity.IsNotFound(err) && key != "" {
		left, rerr := st.leftoversOf(ctx, key)
		if rerr != nil || len(left) == 0 {
			return e, firstErr(rerr, err)
		}
		e.Life, e.Leftovers = entity.Gone, left
		return e, nil
	} else if err != nil {
		return e, err
	}
	l := found.life()
	e.Life, e.Since = l.Life, writableTime(l.Since)
	e.Strength, e.Deadline, e.Reasons = l.Strength, writableTime(l.Deadline), x.reasons
	for i := range e.Reasons {
		e.Reasons[i].Since = writableTime(e.Reasons[i].Since)
	}
	refusals, err := st.db.Refusals(lifecycle.RowOf(found.kind()).In, tag.ID)
	if err != nil {
		return e, err
	}
	for _, r := range refusals {
		e.Refusals = append(e.Refusals, entity.Refusal{At: r.At, Text: orElse(r.Why, "what it rested on kept changing")})
	}
	return e, nil
}

// outsideKey returns the key of an entity that may have left something in the cloud, else "".
func outsideKey(tag entity.Tag) string {
	switch tag.Kind {
	case entity.KindMachine:
		return modeldb.MachineKey(tag.ID)
	case entity.KindStorage:
		return modeldb.StorageKey(tag.ID)
	}
	return ""
}

// Unsettled returns the tags of the entities that Explain has reasons for: those that are
// Dying or Dead, and those that have not started.
func (st *State) Unsettled(ctx context.Context) ([]entity.Tag, error) {
	var tags []entity.Tag
	note := func(ids []string, tag func(string) entity.Tag) {
		sort := len(tags)
		for _, id := range ids {
			if tag := tag(id); !tag.IsZero() && !slices.Contains(tags, tag) {
				tags = append(tags, tag)
			}
		}
		entity.SortBy(tags[sort:], func(t entity.Tag) string { return t.ID })
	}
	going := bson.D{{"life", bson.D{{"$ne", entity.Alive}}}}
	for _, c := range []struct {
		name  string
		query bson.D
		tag   func(string) entity.Tag
	}{
		{modeldb.ServicesC, going, entity.ServiceTag},
		{modeldb.RelationsC, going, entity.RelationTag},
		{modeldb.UnitsC, bson.D{{"$or", []bson.D{going, {{"started", false}}}}}, entity.UnitTag},
		{modeldb.MachinesC, going, entity.MachineTag},
		{modeldb.StorageC, going, entity.StorageTag},
		{modeldb.StatusesC, bson.D{{"status", bson.D{{"$in", append(unsettled, entity.StatusPending)}}}}, tagOfStatus},
	} {
		ids, err := st.ids(c.name, c.query)
		if err != nil {
			return nil, err
		}
		note(ids, c.tag)
	}
	unset, err := st.unsetMachines()
	note(unset, entity.MachineTag) // they are pending too
	return tags, err
}

// ids returns the ids of the documents that match a query.
func (st *State) ids(collection string, query bson.D) ([]string, error) {
	var docs []struct {
		ID string `bson:"_id"`
	}
	err := st.db.All(collection, query, &docs)
	ids := make([]string, len(docs))
	for i, d := range docs {
		ids[i] = d.ID
	}
	return ids, err
}

// unsetMachines returns the ids of the machines without a status.
func (st *State) unsetMachines() ([]string, error) {
	machines, err := st.ids(modeldb.MachinesC, nil)
	if err != nil {
		return nil, err
	}
	keys := make([]string, len(machines))
	for i, id := range machines {
		keys[i] = modeldb.MachineKey(id)
	}
	statuses, err := st.ids(modeldb.StatusesC, bson.D{{"_id", bson.D{{"$in", keys}}}})
	set := map[string]bool{}
	for _, key := range statuses {
		set[key] = true
	}
	return slices.DeleteFunc(machines, func(id string) bool { return set[modeldb.MachineKey(id)] }), err
}

// tagOfStatus returns the tag of the unit, machine or storage that a status is of.
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

func firstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// leftoversOf returns the leftovers of one entity.
func (st *State) leftoversOf(ctx context.Context, key string) ([]entity.Leftover, error) {
	all, err := st.Provisioning().Leftovers(ctx)
	return slices.DeleteFunc(all, func(r entity.Leftover) bool { return r.Of != key }), err
}

// An explainer collects the reasons for an entity, and for what it waits for.
type explainer struct {
	st      *State
	ctx     context.Context
	seen    map[entity.Tag]bool // explained already: references may form a ring
	reasons []entity.Reason
}

func (x *explainer) add(r entity.Reason) { x.reasons = append(x.reasons, r) }

// explain adds the reasons for an entity, and returns the entity.
func (x *explainer) explain(tag entity.Tag, depth int) (e living, err error) {
	x.seen[tag] = true
	switch tag.Kind {
	case entity.KindUnit:
		u, err := x.st.Unit(x.ctx, tag.ID)
		if err != nil {
			return nil, err
		}
		return u, x.unit(u, depth)
	case entity.KindMachine:
		m, err := x.st.Machine(x.ctx, tag.ID)
		if err != nil {
			return nil, err
		}
		return m, x.machine(m, depth)
	case entity.KindService:
		s, err := x.st.Service(x.ctx, tag.ID)
		if err != nil {
			return nil, err
		}
		return s, x.service(s, depth)
	case entity.KindStorage:
		s, err := x.st.Storage(x.ctx, tag.ID)
		if err != nil {
			return nil, err
		}
		return s, x.storage(s, depth)
	case entity.KindRelation:
		r, err := x.st.relation(tag.ID)
		if err != nil {
			return nil, err
		}
		return r, x.relation(r, depth)
	}
	return nil, entity.Errorf(entity.Invalid, "cannot explain %q", tag.String())
}

// A blocker is a source that keeps an entity from its next life.
type blocker struct {
	tag   entity.Tag // zero if its own reasons don't matter
	name  string     // as the reference's Why names it
	since time.Time
	// must is what has to be done and by whom, for a source without reasons of its own.
	must entity.Reason
}

// blockers reads the sources of a reference to an entity.
func (x *explainer) blockers(ref lifecycle.Ref, e living) (all []blocker, err error) {
	sources, err := x.st.sources(x.ctx, ref, e.name())
	for _, s := range sources {
		tag := s.tag()
		if a, ok := s.(*attachment); ok {
			tag = a.facing(ref)
		}
		all = append(all, blocker{tag: tag, name: tag.ID, since: s.life().Since})
	}
	if err != nil {
		return nil, err
	}
	scopes, err := x.st.scopesOf(ref, e.name())
	for _, s := range scopes {
		b := blocker{tag: entity.UnitTag(s.Unit), name: s.Unit, since: e.life().Since}
		b.must = entity.Reason{By: b.tag.String(), Text: fmt.Sprintf("the agent of unit %q must leave the relation", s.Unit)}
		if !ref.Does(lifecycle.UnitAgent) {
			b.must = entity.Reason{By: entity.ByCleaner,
				Text: fmt.Sprintf("the cleaner must take unit %q out of the relation", s.Unit)}
		}
		if e.kind() != lifecycle.Relation {
			// The unit must leave; the relation need not go.
			r, err := x.st.RelationByID(x.ctx, s.Relation)
			if entity.IsNotFound(err) {
				continue
			} else if err != nil {
				return nil, err
			}
			b = blocker{name: r.doc.Key, since: e.life().Since}
		}
		all = append(all, b)
	}
	return all, err
}

// barred adds a reason for each source that keeps an entity from a life, and below it the
// source's own reasons. It returns the number of sources.
func (x *explainer) barred(e living, to entity.Life, depth int) (int, error) {
	n, of := 0, e.tag()
	for _, ref := range lifecycle.Bars(e.kind(), to) {
		if ref.Alive && e.life().Life != entity.Alive {
			continue // it is Dying already: another reference names the same sources
		}
		all, err := x.blockers(ref, e)
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
			x.add(entity.Reason{Depth: depth, Of: of.String(), Ref: ref.Name, Text: fmt.Sprintf(ref.Why, of.ID, b.name),
				Since: b.since})
			if b.tag.IsZero() || x.seen[b.tag] {
				continue
			}
			before := len(x.reasons)
			if _, err := x.explain(b.tag, depth+1); err != nil && !entity.IsNotFound(err) {
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

// service says why a Dying service is still there, or why units of an Alive one have not
// started.
func (x *explainer) service(s *Service, depth int) error {
	if s.doc.Life == entity.Alive {
		return x.serviceUnits(s, depth)
	}
	_, err := x.barred(s, entity.Gone, depth)
	return err
}

// relation says why a Dying relation is still there, or that an Alive one will be
// destroyed with its service.
func (x *explainer) relation(r *Relation, depth int) error {
	if r.doc.Life != entity.Alive {
		_, err := x.barred(r, entity.Gone, depth)
		return err
	}
	for _, ref := range lifecycle.RefsFrom(r.kind()) {
		if !ref.Reaches(entity.Plain) {
			continue
		}
		for _, name := range r.targets(ref) {
			target, err := x.st.find(x.ctx, ref.To, name)
			if entity.IsNotFound(err) || err == nil && target.life().Life == entity.Alive {
				continue
			} else if err != nil {
				return err
			}
			x.add(entity.Reason{Depth: depth, Of: r.tag().String(), By: entity.ByCleaner,
				Text: fmt.Sprintf("service %q is dying: the cleaner must destroy the relation", name)})
		}
	}
	return nil
}
