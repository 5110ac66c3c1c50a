package modeldb

import (
	"strconv"
	"strings"
	"time"

	"juju/state/entity"
)

// The kinds of documents in SecretsC. They share a collection so that one query reads all that decides what a unit may
// read, and the content too.
const (
	KindParty    = "party"
	KindSecret   = "secret"
	KindContent  = "content"
	KindGrant    = "grant"
	KindConsumer = "consumer"
)

// A Party is an entity that owns secrets, may read some, or is the relation while which a grant lasts. Its document is
// removed with the entity, in the same transaction, and with it goes all that names its token: what an entity of the same
// name owns or may read later is not what this one did.
type Party struct {
	Key    string `bson:"_id"`
	Kind   string `bson:"kind"`
	Token  string `bson:"token"`
	Labels int    `bson:"labels,omitempty"` // of a service or the model: grows when a label of it or its units changes
	News   int    `bson:"news,omitempty"`   // grows when there is something to tell it of a secret that it owns
}

// A Secret is a secret without its content.
type Secret struct {
	ID          string              `bson:"_id"`
	Kind        string              `bson:"kind"`
	Owner       string              `bson:"owner"` // the key of a service, a unit or the model
	Token       string              `bson:"token"` // of the owner's party
	Service     string              `bson:"service,omitempty"`
	Label       string              `bson:"label,omitempty"` // of the model's: its name
	Description string              `bson:"description,omitempty"`
	Rotate      entity.RotatePolicy `bson:"rotate,omitempty"`
	NextRotate  time.Time           `bson:"nextrotate,omitempty"`
	AutoPrune   bool                `bson:"autoprune,omitempty"`
	Latest      int                 `bson:"latest"`
	Checksum    string              `bson:"checksum"`           // of the latest revision; absent if that was removed
	SealedBy    string              `bson:"sealedby,omitempty"` // the ID of the key that has sealed the latest revision
	Created     time.Time           `bson:"created"`
	Updated     time.Time           `bson:"updated"`
	// Revisions are those that there are, by number.
	Revisions map[string]SecretRevision `bson:"revisions"`
	// RotateDue is the revision that is to be rotated; 0 if it is not time.
	RotateDue int `bson:"rotatedue,omitempty"`
	// Next is when a rotation is due, or the time of a revision is over; zero if never.
	Next time.Time `bson:"next,omitempty"`
	// News means that there is something to tell the owner.
	News bool `bson:"news,omitempty"`
	// Version grows with each change but that of readers.
	Version int `bson:"version"`
}

// A SecretRevision is a revision of a secret.
type SecretRevision struct {
	Created time.Time `bson:"created"`
	Updated time.Time `bson:"updated"`
	Size    int       `bson:"size"` // of the content, in bytes
	Readers int       `bson:"readers"`
	// Obsolete means that there is a newer revision, and that no unit reads this one; Told that the owner knows.
	Obsolete bool `bson:"obsolete,omitempty"`
	Told     bool `bson:"told,omitempty"`
	// Expire is what the owner has set, Retry when it is told again, and Due that it is to be told.
	Expire time.Time `bson:"expire,omitempty"`
	Retry  time.Time `bson:"retry,omitempty"`
	Due    bool      `bson:"due,omitempty"`
}

// A SecretContent is the content of a revision, sealed with the controller's key.
type SecretContent struct {
	ID     string `bson:"_id"`
	Kind   string `bson:"kind"`
	Secret string `bson:"secret"`
	Sealed []byte `bson:"sealed"`
}

// A SecretGrant lets a service or unit read a secret.
type SecretGrant struct {
	ID         string `bson:"_id"`
	Kind       string `bson:"kind"`
	Secret     string `bson:"secret"`
	OwnerToken string `bson:"ownertoken"`
	Subject    string `bson:"subject"` // a key
	Token      string `bson:"token"`   // of the subject's party; "" if it has none
	Scope      string `bson:"scope"`   // the key of a relation, or of the model
	ScopeToken string `bson:"scopetoken"`
	// ScopeName is the name of the relation.
	ScopeName string `bson:"scopename,omitempty"`
	// Tracked are the revisions that units of the subject track, if it is in another model. It has no party: what is granted to
	// it ends with the relation.
	Tracked []int `bson:"tracked"`
}

// Leaves reports whether the subject is a service of another model, which has no party here.
func (g SecretGrant) Leaves() bool { return g.Token == "" }

// A SecretConsumer is what a unit has read of a secret.
type SecretConsumer struct {
	ID         string `bson:"_id"`
	Kind       string `bson:"kind"`
	Secret     string `bson:"secret"`          // its Key
	Model      string `bson:"model,omitempty"` // that has the secret, if it is another: then it has neither owner nor scope here
	Owner      string `bson:"readfrom"`        // the key of the secret's owner
	OwnerToken string `bson:"ownertoken"`
	Unit       string `bson:"unit"`
	Token      string `bson:"token"` // of the unit's party
	Service    string `bson:"service"`
	Label      string `bson:"label,omitempty"`
	Scope      string `bson:"scope,omitempty"` // of the grant, when it was read; "" of an own secret
	Tracked    int    `bson:"tracked"`
	Size       int    `bson:"size"`   // of the tracked revision's content
	Latest     int    `bson:"latest"` // as the unit is to be told; the secret's own can be newer for a moment
	Told       int    `bson:"told"`
}

// SecretContentID returns the id of the content of a revision.
func SecretContentID(id string, revision int) string { return id + "/" + strconv.Itoa(revision) }

// SecretGrantID returns the id of the grant of a secret to the service or unit with a key.
func SecretGrantID(id, subject string) string { return id + "#" + subject }

// SecretConsumerID returns the id of what a unit has read of a secret.
func SecretConsumerID(unit, id string) string { return entity.UnitTag(unit).String() + "#" + id }

// PartyKey returns the key of a service or unit, by its name.
func PartyKey(name string) string {
	if strings.Contains(name, "/") {
		return UnitKey(name)
	}
	return ServiceKey(name)
}

// PartyTag returns what the key of a party stands for: a service or unit, or the model.
func PartyTag(key, model string) entity.Tag {
	switch {
	case strings.HasPrefix(key, "u#"):
		return entity.UnitTag(key[len("u#"):])
	case strings.HasPrefix(key, "s#"):
		return entity.ServiceTag(key[len("s#"):])
	}
	return entity.ModelTag(model)
}
