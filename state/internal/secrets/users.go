package secrets

import (
	"context"
	"fmt"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
)

// A UserChange is what a user sets of a secret of the model. What is nil stays as it is.
type UserChange struct {
	entity.SecretSettings
	AutoPrune *bool
}

// Add adds a secret of the model with a name, which is free.
func (s Secrets) Add(ctx context.Context, id, name string, set entity.SecretSettings) error {
	if !entity.IsValidSecretName(name) {
		return entity.WithHint(entity.Errorf(entity.Invalid, "secret name %q not valid", name),
			"A name has three or more lower-case letters and digits, begins with a letter, and may have single hyphens within.")
	}
	set.Label = &name
	return s.byUser(ctx, func(c *change) error {
		e, err := c.add(ctx, id, modeldb.ModelKey, "", set.Content)
		if err != nil || e == nil {
			return err
		}
		return c.set(ctx, e, set)
	})
}

// byUser runs a transaction that changes secrets of the model.
func (s Secrets) byUser(ctx context.Context, do func(*change) error) error {
	p := s.NewPlan()
	return s.DB.Change(ctx, func(o *modeltxn.Ops) error {
		if _, err := s.DB.AliveModel(ctx); err != nil {
			return err
		}
		o.AssertModelAlive()
		c := s.change(p, o)
		if err := do(c); err != nil {
			return err
		}
		return c.flush(ctx)
	})
}

// ofModel reads a secret for users' changes. The error is Unauthorized for one of a charm.
func (c *change) ofModel(ctx context.Context, id string) (*edited, error) {
	e, err := c.secret(ctx, id)
	if err != nil {
		return nil, err
	}
	if e.doc.Owner != modeldb.ModelKey {
		return nil, entity.WithHint(entity.Errorf(entity.Unauthorized, "permission denied"),
			"Secret %s belongs to %s, whose charm alone changes it.", id, modeldb.PartyTag(e.doc.Owner, "").ID)
	}
	e.edits = true
	return e, nil
}

// Update changes a secret of the model.
func (s Secrets) Update(ctx context.Context, id string, set UserChange) error {
	if set.Label != nil && !entity.IsValidSecretName(*set.Label) {
		return entity.Errorf(entity.Invalid, "secret name %q not valid", *set.Label)
	}
	return s.byUser(ctx, func(c *change) error {
		e, err := c.ofModel(ctx, id)
		if err != nil {
			return err
		}
		if set.Content != nil {
			if err := c.revise(e, set.Content); err != nil {
				return err
			}
		}
		if set.AutoPrune != nil {
			e.doc.AutoPrune = *set.AutoPrune
		}
		return c.set(ctx, e, set.SecretSettings)
	})
}

// Remove removes revisions of a secret of the model, or all of it if none is named.
func (s Secrets) Remove(ctx context.Context, id string, revisions []int) error {
	for _, n := range revisions {
		if n < 1 {
			return entity.Errorf(entity.Invalid, "revision must be a positive integer")
		}
	}
	revisions = slices.Compact(slices.Sorted(slices.Values(revisions)))
	return s.byUser(ctx, func(c *change) error {
		e, err := c.ofModel(ctx, id)
		if err != nil {
			return err
		}
		if len(revisions) == 0 {
			c.removeRevision(e, 0)
		}
		for _, n := range revisions {
			if !slices.Contains(numbers(e.doc), fmt.Sprint(n)) {
				return entity.Errorf(entity.NotFound, "secret revision %d of %q not found", n, id)
			}
			c.removeRevision(e, n)
		}
		return nil
	})
}

// Grant lets the units of a service read a secret of the model.
func (s Secrets) Grant(ctx context.Context, id, service string) error {
	if !entity.IsValidService(service) {
		return entity.WithHint(entity.Errorf(entity.Invalid, "application name %q not valid", service),
			"Secrets of the model are granted to whole applications.")
	}
	return s.byUser(ctx, func(c *change) error {
		e, err := c.ofModel(ctx, id)
		if err != nil {
			return err
		}
		if err := c.assertSubject(ctx, service); err != nil {
			return err
		}
		g := modeldb.SecretGrant{Subject: modeldb.ServiceKey(service), Scope: modeldb.ModelKey}
		if g.Token, err = c.join(ctx, g.Subject); err != nil {
			return err
		}
		return c.put(ctx, e, g)
	})
}

// Revoke ends a grant of a secret of the model.
func (s Secrets) Revoke(ctx context.Context, id, service string) error {
	return s.byUser(ctx, func(c *change) error {
		e, err := c.ofModel(ctx, id)
		if err != nil {
			return err
		}
		return c.take(ctx, e, modeldb.ServiceKey(service))
	})
}

// A Filter selects secrets; what is zero selects all.
type Filter struct {
	ID    string
	Name  string // of a secret of the model
	Owner entity.Tag
}

// List describes the model's secrets that match, by ID, with their grants if access is true.
func (s Secrets) List(ctx context.Context, f Filter, access bool) ([]entity.SecretInfo, error) {
	var query []bson.DocElem
	add := func(name string, value any) { query = append(query, bson.DocElem{Name: name, Value: value}) }
	if f.ID != "" {
		add("_id", f.ID)
	}
	if f.Name != "" {
		add("label", f.Name)
		add("owner", modeldb.ModelKey)
	}
	if !f.Owner.IsZero() {
		key := modeldb.ModelKey
		if f.Owner.Kind != entity.KindModel {
			key = modeldb.PartyKey(f.Owner.ID)
		}
		add("owner", key)
	}
	docs, err := all[modeldb.Secret](ctx, s, modeldb.KindSecret, query...)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	return s.infos(ctx, docs, access)
}

// Content returns the content of a revision of a secret; of the latest if it is 0.
func (s Secrets) Content(ctx context.Context, info entity.SecretInfo, revision int) (entity.SecretContent, error) {
	if revision == 0 {
		revision = info.Latest
	}
	var doc modeldb.SecretContent
	there, err := s.read(ctx, modeldb.SecretContentID(info.ID, revision), &doc)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, entity.Errorf(entity.NotFound, "secret revision %d of %q not found", revision, info.ID)
	}
	return s.open(doc)
}
