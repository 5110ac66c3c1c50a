package secrets

import (
	"context"
	"strconv"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/leadership"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
)

// retryAfter is when a unit is told again to rotate a secret, or that the time of a revision is over, if it has done
// nothing about it.
const retryAfter = 5 * time.Minute

// Commit adds the changes of a unit's hook to a transaction, which asserts that the unit exists and is not Dead. The same
// changes can be committed again: what was done is not done twice.
func (s Secrets) Commit(ctx context.Context, p *Plan, o *modeltxn.Ops, u modeldb.Unit,
	changes entity.SecretChanges) error {
	h := &hookChange{change: s.change(p, o), unit: u, epoch: changes.Epoch}
	for _, step := range []func() error{
		func() error { return each(changes.Create, func(n entity.NewSecret) error { return h.create(ctx, n) }) },
		func() error {
			return each(changes.Update, func(u entity.SecretUpdate) error { return h.update(ctx, u) })
		},
		func() error {
			return each(changes.Track, func(t entity.SecretTracking) error { return h.track(ctx, t) })
		},
		func() error {
			return each(changes.Revoke, func(r entity.SecretRevocation) error { return h.revoke(ctx, r) })
		},
		func() error { return each(changes.Grant, func(g entity.SecretGrant) error { return h.grant(ctx, g) }) },
		func() error {
			return each(changes.Remove, func(r entity.SecretRemoval) error { return h.remove(ctx, r) })
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if changes.Told != nil {
		if err := h.told(ctx, *changes.Told); err != nil {
			return err
		}
	}
	return h.flush(ctx)
}

func each[T any](all []T, f func(T) error) error {
	for _, one := range all {
		if err := f(one); err != nil {
			return err
		}
	}
	return nil
}

// A hookChange is what a unit's hook changes.
type hookChange struct {
	*change
	unit  modeldb.Unit
	epoch int64
	leads bool // asserted
}

func (h *hookChange) lead(ctx context.Context) error {
	if h.leads {
		return nil
	}
	h.leads = true
	return leadership.Assert(ctx, h.DB, h.o, h.unit, h.epoch)
}

// owned reads a secret that the unit manages: its own, or one of its service if it leads that.
func (h *hookChange) owned(ctx context.Context, id string) (*edited, error) {
	e, err := h.secret(ctx, id)
	if err != nil {
		return nil, err
	}
	switch e.doc.Owner {
	case modeldb.UnitKey(h.unit.Name):
	case modeldb.ServiceKey(h.unit.Service):
		if err := h.lead(ctx); err != nil {
			return nil, err
		}
	default:
		return nil, errNotFound(id)
	}
	e.edits = true
	return e, nil
}

func (h *hookChange) create(ctx context.Context, n entity.NewSecret) error {
	key := modeldb.ServiceKey(h.unit.Service)
	if n.OfUnit {
		key = modeldb.UnitKey(h.unit.Name)
	} else if err := h.lead(ctx); err != nil {
		return err
	}
	e, err := h.add(ctx, n.ID, key, h.unit.Service, n.Content)
	if err != nil || e == nil {
		return err
	}
	return h.set(ctx, e, n.SecretSettings)
}

// add adds a secret, with its first revision, to those of an owner. It returns nil if it has been added before.
func (c *change) add(ctx context.Context, id, owner, service string, content entity.SecretContent) (*edited, error) {
	if !entity.IsValidSecretID(id) {
		return nil, entity.Errorf(entity.Invalid, "%q is not the ID of a secret", id)
	}
	if c.secrets[id] != nil {
		return nil, nil // by this transaction
	}
	if err := content.Check(); err != nil {
		return nil, err
	}
	token, err := c.join(ctx, owner)
	if err != nil {
		return nil, err
	}
	var there modeldb.Secret
	if found, err := c.read(ctx, id, &there); err != nil {
		return nil, err
	} else if found && there.Token == token {
		return nil, nil
	} else if found {
		return nil, entity.Errorf(entity.AlreadyExists, "secret %q already exists", id)
	}
	// What is left of a removed secret would be taken for this one's.
	if n, err := c.DB.Count(ctx, modeldb.CleanupsC, bson.D{{"kind", modeldb.CleanupSecret}, {"arg", id}}); err != nil {
		return nil, err
	} else if n > 0 {
		return nil, entity.Errorf(entity.AlreadyExists, "secret %q was removed just now", id)
	}
	if err := c.oneMore(ctx, limits.Secrets, "owner", owner); err != nil {
		return nil, err
	}
	e := &edited{edits: true, doc: modeldb.Secret{ID: id, Kind: modeldb.KindSecret, Owner: owner, Token: token,
		Service: service, Created: c.now, Updated: c.now, Revisions: map[string]modeldb.SecretRevision{}}}
	c.secrets[id] = e
	return e, c.revise(e, content)
}

// revise makes a revision, unless the content is that of the latest one.
func (c *change) revise(e *edited, content entity.SecretContent) error {
	sum := content.Checksum()
	if e.doc.Latest > 0 && sum == c.checksum(e.doc) {
		return nil
	}
	if err := limits.SecretRevisions.Check(len(e.doc.Revisions) + 1); err != nil {
		return entity.WithHint(err, "remove the revisions that nothing reads: secret-remove %s --revision N", e.doc.ID)
	}
	next := e.doc.Latest + 1
	id := modeldb.SecretContentID(e.doc.ID, next)
	sealed, err := c.content(c.Secrets, id, content)
	if err != nil {
		return err
	}
	size := 0
	for key, value := range content {
		size += len(key) + len(value)
	}
	if e.there { // units may read it, or have read a revision that has been removed
		c.cleanup(modeldb.CleanupTell, e.doc.ID)
	}
	e.doc.Revisions[strconv.Itoa(next)] = modeldb.SecretRevision{Created: c.now, Updated: c.now, Size: size}
	e.doc.Latest, e.doc.Checksum, e.doc.Updated, e.doc.SealedBy = next, sum, c.now, c.Key.ID()
	c.other(id, txnOp{doc: modeldb.SecretContent{ID: id, Kind: modeldb.KindContent, Secret: e.doc.ID, Sealed: sealed}})
	return nil
}

// set sets what the owner sets of a secret besides its content.
func (c *change) set(ctx context.Context, e *edited, s entity.SecretSettings) error {
	doc := &e.doc
	if s.Label != nil && *s.Label != doc.Label {
		if *s.Label != "" {
			if err := c.freeLabel(ctx, doc.Owner, doc.Service, *s.Label); err != nil {
				return err
			}
		}
		doc.Label, doc.Updated = *s.Label, c.now
	}
	if s.Description != nil && *s.Description != doc.Description {
		doc.Description, doc.Updated = *s.Description, c.now
	}
	if s.Rotate != nil && *s.Rotate != doc.Rotate {
		doc.Rotate, doc.NextRotate, doc.RotateDue, doc.Updated = *s.Rotate, s.Rotate.Next(c.now), 0, c.now
	}
	if s.Expire != nil {
		n := strconv.Itoa(doc.Latest)
		if r, ok := doc.Revisions[n]; ok && !r.Expire.Equal(*s.Expire) {
			r.Expire, r.Retry, r.Due, r.Updated = s.Expire.UTC().Truncate(time.Millisecond), time.Time{}, false, c.now
			doc.Revisions[n], doc.Updated = r, c.now
		}
	}
	return nil
}

func (h *hookChange) update(ctx context.Context, u entity.SecretUpdate) error {
	e, err := h.owned(ctx, u.ID)
	if err != nil {
		return err
	}
	if u.Content != nil {
		if err := h.revise(e, u.Content); err != nil {
			return err
		}
	}
	return h.set(ctx, e, u.SecretSettings)
}

// remove removes a secret, or a revision of it; what is gone already is no error.
func (h *hookChange) remove(ctx context.Context, r entity.SecretRemoval) error {
	e, err := h.owned(ctx, r.ID)
	if entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	h.removeRevision(e, r.Revision)
	return nil
}

// removeRevision removes a revision of a secret; with the last of them, or if it is 0, the secret.
func (c *change) removeRevision(e *edited, revision int) {
	e.edits = true
	n := strconv.Itoa(revision)
	if _, there := e.doc.Revisions[n]; revision != 0 && (!there || len(e.doc.Revisions) > 1) {
		if there {
			c.dropRevision(e, n)
			e.doc.Updated = c.now
		}
		return
	}
	if !e.there {
		delete(c.secrets, e.doc.ID)
		c.cleanup(modeldb.CleanupSecret, e.doc.ID) // of what else the transaction has made of it
	}
	for n := range e.doc.Revisions {
		c.dropRevision(e, n)
	}
	e.removed = true
}

// track records which revision of a secret the unit reads from now on. A secret that is gone is not tracked.
func (h *hookChange) track(ctx context.Context, t entity.SecretTracking) error {
	if uri := entity.SecretOfKey(t.ID); uri.Model != "" {
		return h.trackElsewhere(ctx, uri, t)
	}
	e, err := h.secret(ctx, t.ID)
	if entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	scope, err := h.access(ctx, &e.doc, h.unit)
	if entity.KindOf(err) == entity.Unauthorized {
		return nil // the grant has ended meanwhile
	} else if err != nil {
		return err
	}
	r, err := h.reader(ctx, t.ID)
	if err != nil {
		return err
	}
	revision := t.Revision
	if _, there := e.doc.Revisions[strconv.Itoa(revision)]; !there {
		revision = e.doc.Latest
	}
	r.doc.Owner, r.doc.OwnerToken, r.doc.Scope = e.doc.Owner, e.doc.Token, scope
	h.move(e, &r.doc, revision)
	if e.doc.Owner == modeldb.ServiceKey(h.unit.Service) {
		return nil // its units use its owner's label
	}
	return h.call(ctx, r, t.Label)
}

// reader reads what the unit has read of a secret, which is nothing yet if it is new.
func (h *hookChange) reader(ctx context.Context, key string) (*consumed, error) {
	token, err := h.join(ctx, modeldb.UnitKey(h.unit.Name))
	if err != nil {
		return nil, err
	}
	r, err := h.consumer(ctx, h.unit.Name, key, token)
	if err != nil || r.there || r.doc.ID != "" {
		return r, err
	}
	if err := h.oneMore(ctx, limits.SecretsRead, "unit", h.unit.Name); err != nil {
		return nil, err
	}
	r.doc = modeldb.SecretConsumer{ID: modeldb.SecretConsumerID(h.unit.Name, key), Kind: modeldb.KindConsumer, Secret: key,
		Unit: h.unit.Name, Token: token, Service: h.unit.Service}
	return r, nil
}

// call gives a secret that is not the service's the label by which the unit calls it, unless that is "".
func (h *hookChange) call(ctx context.Context, r *consumed, label string) error {
	if label == "" || label == r.doc.Label {
		return nil
	}
	err := h.freeLabel(ctx, modeldb.UnitKey(h.unit.Name), h.unit.Service, label)
	if err == nil {
		r.doc.Label = label
	}
	return err
}

// move has a reader track a revision, of which it need not be told.
func (c *change) move(e *edited, r *modeldb.SecretConsumer, revision int) {
	if r.Tracked != revision {
		if n := strconv.Itoa(r.Tracked); r.Tracked != 0 {
			if old, ok := e.doc.Revisions[n]; ok {
				old.Readers--
				e.doc.Revisions[n] = old
			}
		}
		if n := strconv.Itoa(revision); revision != 0 {
			if rev, ok := e.doc.Revisions[n]; ok {
				rev.Readers++
				e.doc.Revisions[n] = rev
				r.Size = rev.Size
			}
		}
		r.Tracked = revision
	}
	r.Told, r.Latest = max(r.Told, revision), max(r.Latest, e.doc.Latest)
}

// told records that the unit was told of an event.
func (h *hookChange) told(ctx context.Context, event entity.SecretEvent) error {
	if !entity.SecretOfKey(event.ID).IsValid() {
		return nil
	}
	if event.Kind == entity.SecretChanged {
		p, err := h.party(ctx, modeldb.UnitKey(h.unit.Name))
		if err != nil || !p.there {
			return err
		}
		r, err := h.consumer(ctx, h.unit.Name, event.ID, p.doc.Token)
		if err == nil && r.there {
			r.doc.Told = max(r.doc.Told, min(event.Revision, r.doc.Latest))
		}
		return err
	}
	e, err := h.owned(ctx, event.ID)
	if entity.IsNotFound(err) {
		return nil // removed by the hook, or since
	} else if err != nil {
		return err
	}
	n := strconv.Itoa(event.Revision)
	r, there := e.doc.Revisions[n]
	switch {
	case event.Kind == entity.SecretRotate && e.doc.RotateDue != 0:
		h.rotated(&e.doc)
	case !there:
	case event.Kind == entity.SecretExpired && r.Due:
		r.Due, r.Retry = false, h.now.Add(retryAfter)
		e.doc.Revisions[n] = r
	case event.Kind == entity.SecretRemove && r.Obsolete:
		r.Told = true
		e.doc.Revisions[n] = r
	}
	return nil
}

// rotated decides when the secret is to be rotated next: regularly if there is a newer revision than when it was due, and
// soon if there isn't, or if the latest one ends before the next time. Times that have passed meanwhile are made up once.
func (c *change) rotated(doc *modeldb.Secret) {
	due := doc.RotateDue
	doc.RotateDue = 0
	ahead := func(next, otherwise time.Time) time.Time {
		if next.After(c.now) {
			return next
		}
		return otherwise
	}
	soon := ahead(doc.NextRotate.Add(retryAfter), c.now.Add(retryAfter))
	if doc.Latest == due {
		doc.NextRotate = soon
		return
	}
	next := ahead(doc.Rotate.Next(doc.NextRotate), doc.Rotate.Next(c.now))
	if ends := doc.Revisions[strconv.Itoa(doc.Latest)].Expire; !ends.IsZero() && ends.Before(next) {
		next = soon
	}
	doc.NextRotate = next
}
