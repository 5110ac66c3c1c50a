package secrets

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/limits"
)

// access returns the scope by which a unit may read a secret: "" if it is its own or its service's. The error is
// Unauthorized if it may not.
func (c *change) access(ctx context.Context, doc *modeldb.Secret, u modeldb.Unit) (scope string, err error) {
	if slices.Contains(keysOf(u), doc.Owner) {
		return "", nil
	}
	for _, subject := range keysOf(u) {
		g, err := c.grantTo(ctx, doc, subject)
		if err != nil {
			return "", err
		}
		if g != nil && !g.Leaves() {
			return g.Scope, nil
		}
	}
	return "", entity.Errorf(entity.Unauthorized, "permission denied")
}

// inForce reports whether a grant of a secret is in force: its owner, whom it is for and while what it lasts still have the
// tokens with which it was made. tokenOf returns the token of the party with a key; "" if there is none.
func inForce(g modeldb.SecretGrant, doc *modeldb.Secret, tokenOf func(key string) string) bool {
	return g.OwnerToken == doc.Token && (g.Leaves() || g.Token == tokenOf(g.Subject)) && g.ScopeToken == tokenOf(g.Scope)
}

// grantTo returns the grant of a secret to a subject; nil if none is in force.
func (c *change) grantTo(ctx context.Context, doc *modeldb.Secret, subject string) (*modeldb.SecretGrant, error) {
	id := modeldb.SecretGrantID(doc.ID, subject)
	var g modeldb.SecretGrant
	if op, ok := c.others[id]; ok {
		g, _ = op.doc.(modeldb.SecretGrant)
		if op.doc == nil {
			return nil, nil
		}
		return &g, nil
	}
	if there, err := c.read(ctx, id, &g); err != nil || !there {
		return nil, err
	}
	for _, key := range []string{g.Subject, g.Scope} {
		if _, err := c.party(ctx, key); err != nil {
			return nil, err
		}
	}
	if !inForce(g, doc, func(key string) string { return c.parties[key].doc.Token }) {
		return nil, nil
	}
	return &g, nil
}

// grant lets the other end of a relation, or a unit there, read a secret.
func (h *hookChange) grant(ctx context.Context, g entity.SecretGrant) error {
	e, err := h.owned(ctx, g.ID)
	if err != nil {
		return err
	}
	rel, err := h.relation(ctx, g.Relation)
	if err != nil {
		return err
	}
	if _, err := rel.Endpoint(h.unit.Service); err != nil {
		return err
	}
	if rel.Life != entity.Alive {
		return entity.Errorf(entity.NotAlive, "cannot grant access to secret in scope of %q which is not alive", rel.Key)
	}
	service := g.Subject
	if strings.Contains(g.Subject, "/") {
		service = entity.UnitService(g.Subject)
	}
	far := rel.Counterpart(h.unit.Service)
	if service != far.Service {
		return entity.Errorf(entity.Invalid, "cannot grant secret %q to %q: it is not at the other end of relation %q",
			g.ID, g.Subject, rel.Key)
	}
	made := modeldb.SecretGrant{Subject: modeldb.PartyKey(g.Subject), Scope: modeldb.RelationKey(rel.ID), ScopeName: rel.Key}
	if far.Remote {
		if err := entity.CheckSharing(rel.Consumer != nil, strings.TrimPrefix(g.Subject, service)); err != nil {
			return err
		}
		return h.put(ctx, e, made) // the relation stands for the service there, which has no party
	}
	if err := h.assertSubject(ctx, g.Subject); err != nil {
		return err
	}
	if made.Subject == e.doc.Owner {
		return entity.Errorf(entity.Invalid, "cannot change secret permission scope")
	}
	if made.Token, err = h.join(ctx, made.Subject); err != nil {
		return err
	}
	return h.put(ctx, e, made)
}

// relation reads a relation, and asserts its life if it is Alive.
func (c *change) relation(ctx context.Context, number int) (modeldb.Relation, error) {
	if rel, known := c.related[number]; known {
		return rel, nil
	}
	rel, err := c.DB.RelationByID(ctx, number)
	if err != nil {
		return rel, err
	}
	if rel.Life == entity.Alive {
		c.o.AssertLife(modeldb.RelationsC, rel.Key, entity.Alive)
	}
	c.related[number] = rel
	return rel, nil
}

// assertSubject asserts that what a secret is granted to is Alive.
func (c *change) assertSubject(ctx context.Context, name string) error {
	if c.subjects[name] {
		return nil
	}
	collection, life := modeldb.ServicesC, entity.Alive
	if strings.Contains(name, "/") {
		u, err := c.DB.Unit(ctx, name)
		if err != nil {
			return err
		}
		collection, life = modeldb.UnitsC, u.Life
	} else if s, err := c.DB.Service(ctx, name); entity.IsNotFound(err) {
		if _, err := c.DB.Remote(ctx, name); err == nil {
			return entity.WithHint(entity.Errorf(entity.NotSupported,
				"cannot grant a secret to %q, which is in another model", name),
				"Secrets of the model are for applications of the model. A charm whose application is offered can share its own.")
		}
		return err
	} else if err != nil {
		return err
	} else {
		life = s.Life
	}
	if life != entity.Alive {
		return entity.Errorf(entity.NotAlive, "cannot grant dying %q access to secret", name)
	}
	c.o.AssertLife(collection, name, entity.Alive)
	c.subjects[name] = true
	return nil
}

// put makes a grant, given whom it is for and while what it lasts. The transaction asserts that both exist.
func (c *change) put(ctx context.Context, e *edited, g modeldb.SecretGrant) error {
	has, err := c.grantTo(ctx, &e.doc, g.Subject)
	switch {
	case err != nil || has != nil && has.Scope == g.Scope:
		return err
	case has != nil:
		return entity.Errorf(entity.Invalid, "cannot change secret permission scope")
	}
	err = c.oneMore(ctx, limits.SecretGrants, "secret", e.doc.ID, bson.DocElem{Name: "kind", Value: modeldb.KindGrant})
	if err != nil {
		return err
	}
	if g.Leaves() {
		if err := c.oneMore(ctx, limits.SharedSecrets, "scope", g.Scope); err != nil {
			return err
		}
		c.o.Update(modeldb.RelationsC, g.ScopeName, modeltxn.IsAlive, bson.D{{"$inc", bson.D{{"shares", 1}}}})
	}
	g.ID, g.Kind = modeldb.SecretGrantID(e.doc.ID, g.Subject), modeldb.KindGrant
	g.Secret, g.OwnerToken, g.Tracked = e.doc.ID, e.doc.Token, []int{}
	if g.ScopeToken, err = c.join(ctx, g.Scope); err != nil {
		return err
	}
	var old modeldb.SecretGrant
	there, err := c.read(ctx, g.ID, &old) // one that has ended
	if err != nil {
		return err
	}
	e.edits = true
	e.count(old, -1)
	c.other(g.ID, txnOp{doc: g, there: there, assert: asRead(old),
		replace: bson.D{{"ownertoken", g.OwnerToken}, {"token", g.Token}, {"scope", g.Scope}, {"scopetoken", g.ScopeToken},
			{"scopename", g.ScopeName}, {"tracked", g.Tracked}}})
	return nil
}

// asRead asserts that a grant is as it was read.
func asRead(g modeldb.SecretGrant) bson.D {
	tracked := bson.DocElem{Name: "tracked", Value: g.Tracked}
	if g.Tracked == nil { // of a version that did not know it
		tracked.Value = bson.D{{"$exists", false}}
	}
	return bson.D{{"token", g.Token}, {"scopetoken", g.ScopeToken}, tracked}
}

// count counts the revisions that the other end of a grant tracks as read by one more, or one less.
func (e *edited) count(g modeldb.SecretGrant, by int) {
	if g.OwnerToken != e.doc.Token {
		return
	}
	for _, n := range g.Tracked {
		if r, there := e.doc.Revisions[strconv.Itoa(n)]; there {
			r.Readers += by
			e.doc.Revisions[strconv.Itoa(n)] = r
		}
	}
}

func (h *hookChange) revoke(ctx context.Context, r entity.SecretRevocation) error {
	e, err := h.owned(ctx, r.ID)
	if entity.IsNotFound(err) {
		return nil
	} else if err != nil {
		return err
	}
	return h.take(ctx, e, modeldb.PartyKey(r.Subject))
}

// take ends a grant, if there is one.
func (c *change) take(ctx context.Context, e *edited, subject string) error {
	id := modeldb.SecretGrantID(e.doc.ID, subject)
	var g modeldb.SecretGrant
	there, err := c.read(ctx, id, &g)
	if err != nil || !there {
		return err
	}
	e.edits = true
	e.count(g, -1)
	c.other(id, txnOp{there: true, assert: asRead(g)})
	return nil
}
