package secrets

import (
	"context"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
)

// A service that is offered shares secrets with those that consume the offer in other models. Content stays where it is:
// it is read there each time. What units have read of it is kept in their model, as of all secrets; the secret's own model
// gets to know, with the members of the relation, which revisions are tracked, and tells the other of new ones.

// shared returns the grants in force that a relation makes to its service of another model, with their secrets.
func (s Secrets) shared(ctx context.Context, rel modeldb.Relation) ([]modeldb.SecretGrant, documents, error) {
	var d documents
	end, offered := rel.RemoteEnd()
	if !offered || rel.Consumer == nil {
		return nil, d, nil
	}
	scope := modeldb.RelationKey(rel.ID)
	grants, err := all[modeldb.SecretGrant](ctx, s, modeldb.KindGrant, bson.DocElem{Name: "scope", Value: scope},
		bson.DocElem{Name: "subject", Value: modeldb.ServiceKey(end.Service)})
	if err != nil || len(grants) == 0 {
		return nil, d, err
	}
	ids := []string{scope}
	for _, g := range grants {
		ids = append(ids, g.Secret)
	}
	if err := s.fetch(ctx, &d, ids); err != nil {
		return nil, d, err
	}
	var owners []string
	for _, doc := range d.secrets {
		owners = append(owners, doc.Owner)
	}
	slices.Sort(owners)
	if err := s.fetch(ctx, &d, slices.Compact(owners)); err != nil {
		return nil, d, err
	}
	return slices.DeleteFunc(grants, func(g modeldb.SecretGrant) bool {
		doc, there := d.secrets[g.Secret]
		return !there || !g.Leaves() || !d.ownedBy(doc) || !inForce(g, &doc, d.token)
	}), d, nil
}

// Shared returns, by ID, the latest revisions of the secrets that a relation shares with another model, each with those that it
// is known to track there.
func (s Secrets) Shared(ctx context.Context, rel modeldb.Relation) (map[string][]int, error) {
	grants, d, err := s.shared(ctx, rel)
	shared := make(map[string][]int, len(grants))
	for _, g := range grants {
		shared[g.Secret] = append([]int{d.secrets[g.Secret].Latest}, g.Tracked...)
	}
	return shared, err
}

// ReadShared returns a revision of a secret that a relation shares with another model; the latest if it is 0. The errors are
// those of Read.
func (s Secrets) ReadShared(ctx context.Context, rel modeldb.Relation, id string,
	revision int) (v entity.SecretValue, err error) {
	var d documents
	end, _ := rel.RemoteEnd()
	scope, grant := modeldb.RelationKey(rel.ID), modeldb.SecretGrantID(id, modeldb.ServiceKey(end.Service))
	if err := s.fetch(ctx, &d, []string{id, grant, scope}); err != nil {
		return v, err
	}
	doc, there := d.secrets[id]
	if !there {
		return v, errNotFound(id)
	}
	if revision == 0 {
		revision = doc.Latest
	}
	content := modeldb.SecretContentID(id, revision)
	if err := s.fetch(ctx, &d, []string{doc.Owner, content}); err != nil {
		return v, err
	}
	if !d.ownedBy(doc) {
		return v, errNotFound(id)
	}
	if g, there := d.grants[grant]; !there || !g.Leaves() || g.Scope != scope || !inForce(g, &doc, d.token) {
		return v, entity.Errorf(entity.Unauthorized, "permission denied")
	}
	sealed, there := d.contents[content]
	if !there {
		return v, errNoRevision(id, revision)
	}
	v = entity.SecretValue{ID: id, Revision: revision, Latest: doc.Latest}
	v.Content, err = s.open(sealed)
	return v, err
}

// ReadersDiffer reports whether SetReaders would change anything.
func (s Secrets) ReadersDiffer(ctx context.Context, rel modeldb.Relation, tracked map[string][]int) (bool, error) {
	grants, d, err := s.shared(ctx, rel)
	return err == nil && slices.ContainsFunc(grants, func(g modeldb.SecretGrant) bool {
		return !slices.Equal(g.Tracked, known(d.secrets[g.Secret], tracked[g.Secret]))
	}), err
}

// known returns which of some revisions a secret has, in order.
func known(doc modeldb.Secret, revisions []int) []int {
	revisions = slices.DeleteFunc(slices.Clone(revisions), func(n int) bool {
		_, there := doc.Revisions[strconv.Itoa(n)]
		return !there
	})
	slices.Sort(revisions)
	return slices.Compact(revisions)
}

// SetReaders adds to a transaction what makes the revisions that the other model of a relation is known to track those that it
// says: by the secrets' IDs. It changes a few secrets at a time; again is true if it may have left some.
func (s Secrets) SetReaders(ctx context.Context, p *Plan, o *modeltxn.Ops, rel modeldb.Relation,
	tracked map[string][]int) (again bool, err error) {
	grants, _, err := s.shared(ctx, rel)
	if err != nil {
		return false, err
	}
	c := s.change(p, o)
	changed := 0
	for _, g := range grants {
		e, err := c.secret(ctx, g.Secret)
		if entity.IsNotFound(err) {
			continue
		} else if err != nil {
			return false, err
		}
		now := g
		if now.Tracked = known(e.doc, tracked[g.Secret]); slices.Equal(g.Tracked, now.Tracked) {
			continue
		}
		e.count(g, -1)
		e.count(now, 1)
		c.other(g.ID, txnOp{doc: now, there: true, assert: asRead(g), replace: bson.D{{"tracked", now.Tracked}}})
		if changed++; changed == dueAtOnce {
			again = true
			break
		}
	}
	return again, c.flush(ctx)
}

// untrack makes the other ends of grants that are to be deleted track nothing.
func (s Secrets) untrack(ctx context.Context, grants []modeldb.SecretGrant) error {
	p := s.NewPlan()
	return s.DB.Change(ctx, func(o *modeltxn.Ops) error {
		c := s.change(p, o)
		for _, g := range grants {
			var now modeldb.SecretGrant
			if there, err := c.read(ctx, g.ID, &now); err != nil {
				return err
			} else if !there || now.Scope != g.Scope || len(now.Tracked) == 0 {
				continue
			}
			e, err := c.secret(ctx, g.Secret)
			if err == nil {
				e.count(now, -1)
			} else if !entity.IsNotFound(err) {
				return err
			}
			c.other(g.ID, txnOp{doc: now, there: true, assert: asRead(now), replace: bson.D{{"tracked", []int{}}}})
		}
		return c.flush(ctx)
	})
}

// trackElsewhere records which revision of a secret of another model the unit reads from now on. That it may has been checked
// there, where the unit's model has read it.
func (h *hookChange) trackElsewhere(ctx context.Context, uri entity.SecretURI, t entity.SecretTracking) error {
	if !uri.IsValid() || uri.IsIn(h.DB.UUID) || t.Revision < 1 {
		return entity.Errorf(entity.Invalid, "revision %d of secret %q cannot be tracked", t.Revision, t.ID)
	}
	r, err := h.reader(ctx, t.ID)
	if err != nil {
		return err
	}
	r.doc.Model, r.doc.Tracked = uri.Model, t.Revision
	r.doc.Told, r.doc.Latest = max(r.doc.Told, t.Revision), max(r.doc.Latest, t.Revision)
	return h.call(ctx, r, t.Label)
}

// elsewhereOf returns what the unit's model knows of a secret of another model: Revision is 0 if the latest is to be read.
func (s Secrets) elsewhereOf(ctx context.Context, u modeldb.Unit, mine modeldb.SecretConsumer,
	q entity.SecretQuery) (entity.SecretValue, error) {
	var unit modeldb.Party
	there, err := s.read(ctx, modeldb.UnitKey(u.Name), &unit)
	if err != nil || !there || unit.Token != mine.Token {
		mine = modeldb.SecretConsumer{}
	}
	v := entity.SecretValue{ID: q.ID, Revision: mine.Tracked, Latest: mine.Latest, Tracked: mine.Tracked, Label: mine.Label}
	if q.Latest {
		v.Revision = 0
	}
	return v, err
}

// Consumed returns the revisions that the units of a service track of another model's secrets, by the secrets' IDs; those of the
// first if they are more than one model tells another.
func (s Secrets) Consumed(ctx context.Context, service, model string) (map[string][]int, error) {
	readers, err := s.elsewhere(ctx, service, model)
	if err != nil {
		return nil, err
	}
	tracked, revisions := map[string][]int{}, 0
	for _, r := range readers {
		id := entity.SecretOfKey(r.Secret).ID
		_, has := tracked[id]
		if slices.Contains(tracked[id], r.Tracked) || !has && len(tracked) == limits.SharedSecrets.Max {
			continue
		}
		if revisions++; revisions > limits.SharedRevisions.Max-limits.SharedSecrets.Max { // Shared adds a latest one to each
			break
		}
		tracked[id] = append(tracked[id], r.Tracked)
	}
	for _, numbers := range tracked {
		slices.Sort(numbers)
	}
	return tracked, nil
}

// elsewhere returns what the units of a service have read of another model's secrets.
func (s Secrets) elsewhere(ctx context.Context, service, model string) ([]modeldb.SecretConsumer, error) {
	return all[modeldb.SecretConsumer](ctx, s, modeldb.KindConsumer, bson.DocElem{Name: "model", Value: model},
		bson.DocElem{Name: "service", Value: service})
}

// Learn has the units of a service told of the latest revisions of another model's secrets that they have read, given what Shared
// returns there.
func (s Secrets) Learn(ctx context.Context, service, model string, shared map[string][]int) error {
	readers, err := s.elsewhere(ctx, service, model)
	if err != nil {
		return err
	}
	newest := func(r modeldb.SecretConsumer) int {
		if revisions := shared[entity.SecretOfKey(r.Secret).ID]; len(revisions) > 0 {
			return revisions[0]
		}
		return 0
	}
	readers = slices.DeleteFunc(readers, func(r modeldb.SecretConsumer) bool { return r.Latest >= newest(r) })
	for batch := range slices.Chunk(readers, dueAtOnce) {
		if err := s.tell(ctx, batch, newest); err != nil {
			return err
		}
	}
	return nil
}
