package state

import (
	"context"
	"strings"
	"time"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/secrets"
	"juju/state/watcher"

	"gopkg.in/mgo.v2/bson"
)

// secrets manages the model's secrets.
func (st *State) secrets() secrets.Secrets {
	return secrets.Secrets{DB: st.db, Key: st.host.SecretKey}
}

// Secret returns the secret that the unit asks for, and others that it tracks and is likely to read next.
func (u *Unit) Secret(ctx context.Context, query entity.SecretQuery) (entity.SecretRead, error) {
	return u.st.secrets().Read(ctx, u.doc, query)
}

// OwnedSecrets returns the secrets of the unit and of its service, by ID.
func (u *Unit) OwnedSecrets(ctx context.Context) ([]entity.SecretInfo, error) {
	return u.st.secrets().Owned(ctx, u.doc)
}

// removeParty removes the party of an entity that is being removed, if it has one, and has the cleaner delete what ends
// with it.
func (o *ops) removeParty(ctx context.Context, st *State, key string) error {
	var doc modeldb.Party
	err := st.db.Get(ctx, modeldb.SecretsC, key, &doc, "party "+key)
	if entity.IsNotFound(err) {
		o.Assert(modeldb.SecretsC, key, modeltxn.Missing)
		return nil
	} else if err != nil {
		return err
	}
	o.Remove(modeldb.SecretsC, key, bson.D{{"token", doc.Token}})
	if strings.HasPrefix(key, "r#") {
		o.Cleanup(modeldb.CleanupGrants, key)
	} else {
		o.Cleanup(modeldb.CleanupParty, doc.Token)
	}
	return nil
}

// Secrets are the secrets of a model.
type Secrets struct{ st *State }

// Secrets returns the model's secrets.
func (st *State) Secrets() Secrets { return Secrets{st} }

// A SecretFilter selects secrets.
type SecretFilter = secrets.Filter

// A SecretChange is what a user changes of a secret.
type SecretChange = secrets.UserChange

// Add adds a secret of the model with a name.
func (s Secrets) Add(ctx context.Context, id, name string, set entity.SecretSettings) error {
	return s.st.secrets().Add(ctx, id, name, set)
}

// Update changes a secret of the model. The error is Unauthorized for one of a charm.
func (s Secrets) Update(ctx context.Context, id string, set SecretChange) error {
	return s.st.secrets().Update(ctx, id, set)
}

// Remove removes revisions of a secret of the model, or all of it if none is named.
func (s Secrets) Remove(ctx context.Context, id string, revisions []int) error {
	return s.st.secrets().Remove(ctx, id, revisions)
}

// Grant lets the units of a service read a secret of the model.
func (s Secrets) Grant(ctx context.Context, id, service string) error {
	return s.st.secrets().Grant(ctx, id, service)
}

// Revoke ends the grant of a secret of the model to a service.
func (s Secrets) Revoke(ctx context.Context, id, service string) error {
	return s.st.secrets().Revoke(ctx, id, service)
}

// List describes the secrets that match, by ID, with those who may read them if access is true.
func (s Secrets) List(ctx context.Context, f SecretFilter, access bool) ([]entity.SecretInfo, error) {
	return s.st.secrets().List(ctx, f, access)
}

// Content returns the content of a revision of a secret; of the latest if it is 0.
func (s Secrets) Content(ctx context.Context, info entity.SecretInfo, revision int) (entity.SecretContent, error) {
	return s.st.secrets().Content(ctx, info, revision)
}

// Due has owners told of the rotations and expiries whose time has come. It returns the time until the next one; 0 if none
// is known.
func (s Secrets) Due(ctx context.Context) (time.Duration, error) { return s.st.secrets().Due(ctx) }

// WatchSecrets fires when something may have become due earlier than known.
func (s Secrets) WatchSecrets(ctx context.Context) (<-chan struct{}, error) {
	return watcher.Notify(ctx, s.st.hub, watcher.Collection(modeldb.SecretsC)), nil
}
