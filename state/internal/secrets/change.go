package secrets

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
	"juju/state/mongo"
)

// A change is the part of a transaction that is about secrets. Methods read documents and change them in memory; flush
// adds the operations, one for each document, with the asserts that they depend on.
type change struct {
	Secrets
	*Plan
	o *modeltxn.Ops

	parties   map[string]*party
	secrets   map[string]*edited
	consumers map[string]*consumed
	others    map[string]txnOp // contents and grants, by id
	order     []string         // of others
	cleanups  []modeldb.Cleanup

	counts   map[string]int // of documents, by a field and its value, with those that the change adds
	subjects map[string]bool
	related  map[int]modeldb.Relation
}

func (s Secrets) change(p *Plan, o *modeltxn.Ops) *change {
	return &change{Secrets: s, Plan: p, o: o, parties: map[string]*party{}, secrets: map[string]*edited{},
		consumers: map[string]*consumed{}, others: map[string]txnOp{}, counts: map[string]int{}, subjects: map[string]bool{},
		related: map[int]modeldb.Relation{}}
}

// oneMore counts a document that the change adds to those of which a field has a value, and checks their number.
func (c *change) oneMore(ctx context.Context, limit limits.Limit, field, value string, also ...bson.DocElem) error {
	key := field + " " + value
	if _, known := c.counts[key]; !known {
		n, err := c.DB.Count(ctx, modeldb.SecretsC, append(bson.D{{Name: field, Value: value}}, also...))
		if err != nil {
			return err
		}
		c.counts[key] = n
	}
	c.counts[key]++
	return limit.Check(c.counts[key])
}

// A txnOp is what a transaction does to a document: it inserts or replaces it, or removes it if doc is nil.
type txnOp struct {
	doc     any
	there   bool
	assert  bson.D // if it is there
	replace bson.D // the fields that are set, if it is there
}

func (c *change) other(id string, op txnOp) {
	if _, known := c.others[id]; !known {
		c.order = append(c.order, id)
	}
	c.others[id] = op
}

// A party is a modeldb.Party in a change.
type party struct {
	doc    modeldb.Party
	there  bool
	make   bool // if it is not there
	used   bool // the transaction depends on it
	labels bool // a label of it changes
	news   int
}

// party reads a party; its token is "" if it does not exist.
func (c *change) party(ctx context.Context, key string) (*party, error) {
	if p := c.parties[key]; p != nil {
		return p, nil
	}
	p := &party{}
	there, err := c.read(ctx, key, &p.doc)
	p.there = there
	p.doc.Key, p.doc.Kind = key, modeldb.KindParty
	c.parties[key] = p
	return p, err
}

// join returns the token of a party, which it makes if need be. The caller asserts that the entity exists.
func (c *change) join(ctx context.Context, key string) (string, error) {
	p, err := c.party(ctx, key)
	if err != nil {
		return "", err
	}
	if p.used = true; !p.there {
		p.make, p.doc.Token = true, c.token(key)
	}
	return p.doc.Token, nil
}

// An edited is a secret in a change.
type edited struct {
	was, doc modeldb.Secret
	there    bool
	edits    bool // by its owner, not just a reader
	removed  bool
	before   int // what the owner was to be told
}

// secret reads a secret; the error is NotFound if it does not exist or has ended with its owner.
func (c *change) secret(ctx context.Context, id string) (*edited, error) {
	e := c.secrets[id]
	if e == nil {
		e = &edited{}
		var err error
		if e.there, err = c.read(ctx, id, &e.was); err != nil {
			return nil, err
		}
		if e.there {
			owner, err := c.party(ctx, e.was.Owner)
			if err != nil {
				return nil, err
			}
			if e.there = owner.there && owner.doc.Token == e.was.Token; e.there {
				owner.used = true
			}
		}
		e.doc = e.was
		e.doc.Revisions = maps.Clone(e.was.Revisions)
		e.before = len(EventsOf(e.was))
		c.secrets[id] = e
	}
	if e.removed || !e.there && !e.edits {
		return nil, errNotFound(id)
	}
	return e, nil
}

// A consumed is a modeldb.SecretConsumer in a change.
type consumed struct {
	was, doc modeldb.SecretConsumer
	there    bool
	removed  bool
}

// consumer reads what a unit has read of a secret. What a former unit of the same name has read does not count.
func (c *change) consumer(ctx context.Context, unit, id, token string) (*consumed, error) {
	key := modeldb.SecretConsumerID(unit, id)
	if r := c.consumers[key]; r != nil {
		return r, nil
	}
	r := &consumed{}
	var err error
	if r.there, err = c.read(ctx, key, &r.was); err != nil {
		return nil, err
	}
	if r.there && r.was.Token != token {
		// The cleaner has not come to it yet.
		return nil, entity.Errorf(entity.Contention, "what an earlier unit %q has read is still being removed", unit)
	}
	r.doc = r.was
	c.consumers[key] = r
	return r, nil
}

func number(n string) int {
	i, _ := strconv.Atoi(n)
	return i
}

// numbers returns the numbers of a secret's revisions, in order.
func numbers(doc modeldb.Secret) []string {
	return slices.SortedFunc(maps.Keys(doc.Revisions), func(a, b string) int { return cmp.Compare(number(a), number(b)) })
}

// settle derives what follows from a secret's revisions and their readers.
func (c *change) settle(e *edited) {
	doc := &e.doc
	for n, r := range doc.Revisions {
		obsolete := number(n) != doc.Latest && r.Readers == 0
		if obsolete && doc.AutoPrune {
			c.dropRevision(e, n)
			continue
		}
		if r.Obsolete = obsolete; !obsolete {
			r.Told = false
		}
		doc.Revisions[n] = r
	}
	doc.Next = time.Time{}
	sooner := func(t time.Time) {
		if !t.IsZero() && (doc.Next.IsZero() || t.Before(doc.Next)) {
			doc.Next = t
		}
	}
	if doc.RotateDue == 0 {
		sooner(doc.NextRotate)
	}
	for _, r := range doc.Revisions {
		if !r.Due && !r.Retry.IsZero() {
			sooner(r.Retry)
		} else if !r.Due {
			sooner(r.Expire)
		}
	}
	doc.News = len(EventsOf(*doc)) > 0
}

// dropRevision removes a revision with its content.
func (c *change) dropRevision(e *edited, n string) {
	delete(e.doc.Revisions, n)
	if number(n) == e.doc.Latest {
		e.doc.Checksum = "" // its content can be set again
	}
	id := modeldb.SecretContentID(e.doc.ID, number(n))
	if op, ok := c.others[id]; ok && !op.there {
		delete(c.others, id) // made by this transaction
		c.order = slices.DeleteFunc(c.order, func(o string) bool { return o == id })
		return
	}
	c.other(id, txnOp{there: true})
}

// cleanup leaves the rest to the cleaner.
func (c *change) cleanup(kind, arg string) {
	doc := modeldb.Cleanup{ID: c.id + "-" + kind + "-" + arg, Kind: kind, Arg: arg}
	if !slices.ContainsFunc(c.cleanups, func(other modeldb.Cleanup) bool { return other.ID == doc.ID }) {
		c.cleanups = append(c.cleanups, doc)
	}
}

// flush adds the operations of the change.
func (c *change) flush(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(c.secrets)) {
		e := c.secrets[id]
		if !e.there && !e.edits {
			continue
		}
		if e.removed {
			c.o.Remove(modeldb.SecretsC, id, bson.D{{"version", e.was.Version}})
			c.cleanup(modeldb.CleanupSecret, id)
			continue
		}
		c.settle(e)
		if events := len(EventsOf(e.doc)); events > e.before {
			owner, err := c.party(ctx, e.doc.Owner)
			if err != nil {
				return err
			}
			owner.news += events - e.before
		}
		if !e.there {
			c.o.Insert(modeldb.SecretsC, id, e.doc)
			continue
		}
		c.updateSecret(e)
	}
	for _, key := range slices.Sorted(maps.Keys(c.parties)) {
		c.flushParty(c.parties[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.consumers)) {
		c.flushConsumer(key, c.consumers[key])
	}
	for _, id := range c.order {
		switch op := c.others[id]; {
		case op.doc == nil:
			c.o.Remove(modeldb.SecretsC, id, op.assert)
		case op.there:
			c.o.Update(modeldb.SecretsC, id, op.assert, bson.D{{"$set", op.replace}})
		default:
			c.o.Insert(modeldb.SecretsC, id, op.doc)
		}
	}
	for _, doc := range c.cleanups {
		c.o.Insert(modeldb.CleanupsC, doc.ID, doc)
	}
	return nil
}

func (c *change) flushParty(p *party) {
	assert, inc := bson.D{{"token", p.doc.Token}}, bson.D{}
	if p.labels {
		assert = append(assert, mongo.Unadvanced("labels", p.doc.Labels)...)
		inc = append(inc, bson.DocElem{Name: "labels", Value: 1})
	}
	if p.news > 0 {
		inc = append(inc, bson.DocElem{Name: "news", Value: p.news})
	}
	switch {
	case !p.there && p.make:
		p.doc.News = p.news
		if p.labels {
			p.doc.Labels = 1
		}
		c.o.Insert(modeldb.SecretsC, p.doc.Key, p.doc)
	case !p.there:
	case len(inc) > 0:
		c.o.Update(modeldb.SecretsC, p.doc.Key, assert, bson.D{{"$inc", inc}})
	case p.used:
		c.o.Assert(modeldb.SecretsC, p.doc.Key, assert)
	}
}

func (c *change) flushConsumer(key string, r *consumed) {
	switch {
	case r.removed && r.there:
		c.o.Remove(modeldb.SecretsC, key, bson.D{{"token", r.was.Token}, {"tracked", r.was.Tracked}})
	case r.removed || r.doc == r.was:
	case !r.there:
		c.o.Insert(modeldb.SecretsC, key, r.doc)
	default:
		set := bson.D{{"tracked", r.doc.Tracked}, {"size", r.doc.Size}, {"latest", r.doc.Latest}, {"told", r.doc.Told},
			{"scope", r.doc.Scope}, {"label", r.doc.Label}}
		c.o.Update(modeldb.SecretsC, key, bson.D{{"token", r.was.Token}, {"tracked", r.was.Tracked}, {"latest", r.was.Latest},
			{"told", r.was.Told}}, bson.D{{"$set", set}})
	}
}

// A fields collects how a document changes.
type fields struct{ set, unset, inc bson.D }

// put sets a field that has changed, or drops it if it is now zero, as it is absent then.
func put[V comparable](f *fields, name string, was, now V) {
	var zero V
	switch {
	case was == now:
	case now == zero:
		f.unset = append(f.unset, bson.DocElem{Name: name, Value: 1})
	default:
		f.set = append(f.set, bson.DocElem{Name: name, Value: now})
	}
}

// updateSecret adds the operation that changes a secret, and asserts that no other change was made. Readers that only
// change the numbers of those that track a revision, as many may do at once, assert just what that depends on.
func (c *change) updateSecret(e *edited) {
	was, now := e.was, e.doc
	var f fields
	assert := bson.D{}
	put(&f, "label", was.Label, now.Label)
	put(&f, "description", was.Description, now.Description)
	put(&f, "rotate", was.Rotate, now.Rotate)
	put(&f, "autoprune", was.AutoPrune, now.AutoPrune)
	put(&f, "latest", was.Latest, now.Latest)
	put(&f, "checksum", was.Checksum, now.Checksum)
	put(&f, "sealedby", was.SealedBy, now.SealedBy)
	put(&f, "rotatedue", was.RotateDue, now.RotateDue)
	put(&f, "news", was.News, now.News)
	putTime(&f, "nextrotate", was.NextRotate, now.NextRotate)
	putTime(&f, "updated", was.Updated, now.Updated)
	putTime(&f, "next", was.Next, now.Next)
	for _, n := range numbers(now) {
		before, had := was.Revisions[n]
		after, field := now.Revisions[n], "revisions."+n
		if !had {
			f.set = append(f.set, bson.DocElem{Name: field, Value: after})
			continue
		}
		if more := after.Readers - before.Readers; more != 0 {
			f.inc = append(f.inc, bson.DocElem{Name: field + ".readers", Value: more})
		}
		put(&f, field+".obsolete", before.Obsolete, after.Obsolete)
		put(&f, field+".told", before.Told, after.Told)
		put(&f, field+".due", before.Due, after.Due)
		putTime(&f, field+".expire", before.Expire, after.Expire)
		putTime(&f, field+".retry", before.Retry, after.Retry)
		putTime(&f, field+".updated", before.Updated, after.Updated)
	}
	for _, n := range numbers(was) {
		before, field := was.Revisions[n], "revisions."+n
		after, left := now.Revisions[n]
		readers := bson.DocElem{Name: field + ".readers", Value: before.Readers}
		turns := number(n) == was.Latest && now.Latest != was.Latest
		switch {
		case !left:
			f.unset = append(f.unset, bson.DocElem{Name: field, Value: 1})
			assert = append(assert, readers)
		case after.Readers < before.Readers || after.Obsolete != before.Obsolete || turns:
			if after.Readers > 0 {
				readers.Value = bson.D{{"$gt", before.Readers - after.Readers}}
			}
			assert = append(assert, readers)
		case after.Readers > before.Readers:
			assert = append(assert, bson.DocElem{Name: field, Value: bson.D{{"$exists", true}}})
		}
	}
	if len(f.set)+len(f.unset) > 0 {
		f.inc = append(f.inc, bson.DocElem{Name: "version", Value: 1})
	}
	if len(f.set)+len(f.unset) > 0 || e.edits {
		assert = append(assert, bson.DocElem{Name: "version", Value: was.Version})
	} else {
		assert = append(assert, bson.DocElem{Name: "latest", Value: was.Latest})
	}
	if len(f.set)+len(f.unset)+len(f.inc) == 0 {
		c.o.Assert(modeldb.SecretsC, was.ID, assert)
		return
	}
	update := bson.D{}
	for name, part := range map[string]bson.D{"$set": f.set, "$unset": f.unset, "$inc": f.inc} {
		if len(part) > 0 {
			update = append(update, bson.DocElem{Name: name, Value: part})
		}
	}
	slices.SortFunc(update, func(a, b bson.DocElem) int { return cmp.Compare(a.Name, b.Name) })
	c.o.Update(modeldb.SecretsC, was.ID, assert, update)
}

func putTime(f *fields, name string, was, now time.Time) {
	switch {
	case was.Equal(now):
	case now.IsZero():
		f.unset = append(f.unset, bson.DocElem{Name: name, Value: 1})
	default:
		f.set = append(f.set, bson.DocElem{Name: name, Value: now})
	}
}
