package secrets

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
	"juju/state/sealing"
)

// Secrets are a model's secrets.
type Secrets struct {
	DB *modeltxn.DB
	// Key seals the content. Without it, secrets can only be removed.
	Key *sealing.Key
}

// errNoKey is the error of whatever needs content while the controller has no key.
func errNoKey() error {
	return entity.WithHint(entity.Errorf(entity.NotSupported,
		"the controller does not have the key that seals the content of secrets"),
		"Its log says why, and what to do: juju debug-log --model controller --include-module juju.agent.controller")
}

// errNotFound is Juju's error for a secret that is not there, or is not the caller's.
func errNotFound(id string) error {
	return entity.Errorf(entity.NotFound, "secret %q not found", id)
}

// errNoRevision is the error for a revision that a unit tracks and that is gone.
func errNoRevision(id string, revision int) error {
	return entity.WithHint(entity.Errorf(entity.NotFound, "secret revision %d of %q not found", revision, id),
		"its owner has removed it; secret-get --refresh reads the latest one")
}

// seal seals the content of a revision.
func (s Secrets) seal(id string, content entity.SecretContent) ([]byte, error) {
	if s.Key == nil {
		return nil, errNoKey()
	}
	text, err := json.Marshal(map[string]string(content))
	if err != nil {
		return nil, err
	}
	return s.Key.Seal(s.DB.UUID+"/"+id, text), nil
}

// checksum returns the checksum of the content of a secret's latest revision; "" if it can't be read, because the key that has
// sealed it is lost: then the same content can be set again.
func (s Secrets) checksum(doc modeldb.Secret) string {
	if s.Key == nil || doc.SealedBy != s.Key.ID() {
		return ""
	}
	return doc.Checksum
}

// open opens the content of a revision.
func (s Secrets) open(doc modeldb.SecretContent) (content entity.SecretContent, err error) {
	if s.Key == nil {
		return nil, errNoKey()
	}
	text, err := s.Key.Open(s.DB.UUID+"/"+doc.ID, doc.Sealed)
	if err == nil {
		err = json.Unmarshal(text, (*map[string]string)(&content))
	}
	if err != nil {
		return nil, entity.Errorf(entity.Damaged, "cannot open the content of secret %s: %v", doc.ID, err)
	}
	return content, nil
}

// A Plan has what the attempts of one transaction have in common: when it began, and the random parts of what it makes.
// It must not be used for another one.
type Plan struct {
	now    time.Time
	id     string // prefix of the ids of its cleanups
	tokens map[string]string
	sealed map[string][]byte
}

// NewPlan begins a transaction.
func (s Secrets) NewPlan() *Plan {
	return &Plan{now: s.DB.Now(), id: mongo.NewID(), tokens: map[string]string{}, sealed: map[string][]byte{}}
}

// token returns the token that the transaction gives to the party with a key, if it makes it.
func (p *Plan) token(key string) string {
	if p.tokens[key] == "" {
		p.tokens[key] = uuid.NewString()
	}
	return p.tokens[key]
}

// content returns the sealed content of a revision.
func (p *Plan) content(s Secrets, id string, content entity.SecretContent) ([]byte, error) {
	key := id + " " + content.Checksum()
	if p.sealed[key] == nil {
		sealed, err := s.seal(id, content)
		if err != nil {
			return nil, err
		}
		p.sealed[key] = sealed
	}
	return p.sealed[key], nil
}

// read reads one document into doc; there is false if it does not exist.
func (s Secrets) read(ctx context.Context, id string, doc any) (there bool, err error) {
	err = s.DB.Get(ctx, modeldb.SecretsC, id, doc, "secret "+id)
	if entity.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// all reads the documents of a kind that match.
func all[D any](ctx context.Context, s Secrets, kind string, query ...bson.DocElem) (docs []D, err error) {
	err = s.DB.All(ctx, modeldb.SecretsC, append(bson.D{{"kind", kind}}, query...), &docs)
	return docs, err
}

// EventsOf returns what the owner of a secret is to be told about it, in order.
func EventsOf(doc modeldb.Secret) (events []entity.SecretEvent) {
	if doc.Owner == modeldb.ModelKey {
		return nil
	}
	event := func(kind entity.SecretEventKind, revision int) {
		events = append(events, entity.SecretEvent{Kind: kind, ID: doc.ID, Revision: revision, Label: doc.Label,
			OfService: doc.Owner == modeldb.ServiceKey(doc.Service)})
	}
	for _, n := range numbers(doc) {
		switch r := doc.Revisions[n]; {
		case r.Due:
			event(entity.SecretExpired, number(n))
		case r.Obsolete && !r.Told:
			event(entity.SecretRemove, number(n))
		}
	}
	if doc.RotateDue > 0 {
		event(entity.SecretRotate, doc.RotateDue)
	}
	return events
}
