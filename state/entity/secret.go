package entity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// secretEncoding is of the 12 random bytes in a secret's ID.
var secretEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)

// NewSecretID returns the ID of a new secret: 20 characters of 0-9 and a-v. It is random, so whoever makes one needs to
// reserve nothing.
func NewSecretID() string {
	var id [12]byte
	rand.Read(id[:]) // never fails
	return strings.ToLower(secretEncoding.EncodeToString(id[:]))
}

// IsValidSecretID reports whether id has the form of NewSecretID.
func IsValidSecretID(id string) bool {
	if len(id) != 20 || id != strings.ToLower(id) {
		return false
	}
	raw, err := secretEncoding.DecodeString(strings.ToUpper(id))
	return err == nil && len(raw) == 12 && strings.ToLower(secretEncoding.EncodeToString(raw)) == id
}

// A SecretURI names a secret: "secret:ID", or "secret://UUID/ID" with the UUID of its model.
type SecretURI struct {
	Model string // the UUID, or ""
	ID    string
}

func (u SecretURI) String() string {
	if u.Model == "" {
		return "secret:" + u.ID
	}
	return "secret://" + u.Model + "/" + u.ID
}

// Key returns the name that the model with a UUID has for the secret: its ID, or "UUID/ID" if it is in another model.
func (u SecretURI) Key(model string) string {
	if u.IsIn(model) {
		return u.ID
	}
	return u.Model + "/" + u.ID
}

// SecretOfKey returns the URI of a secret from its Key; only that of another model's names the model.
func SecretOfKey(key string) SecretURI {
	model, id, elsewhere := strings.Cut(key, "/")
	if !elsewhere {
		return SecretURI{ID: key}
	}
	return SecretURI{Model: model, ID: id}
}

// IsValid reports whether the URI has the form that ParseSecretURI accepts.
func (u SecretURI) IsValid() bool {
	return IsValidSecretID(u.ID) && (u.Model == "" || uuid.MatchString(u.Model))
}

// IsIn reports whether the secret is in the model with a UUID.
func (u SecretURI) IsIn(model string) bool { return u.Model == "" || u.Model == model }

// ParseSecretURI parses the forms of a secret's name: secret:ID, ID, secret:UUID/ID, secret://UUID/ID. The errors are
// Invalid, in Juju's words.
func ParseSecretURI(text string) (SecretURI, error) {
	invalid := WithHint(Errorf(Invalid, "secret URI %q not valid", text),
		"A secret's URI is secret: and 20 characters of 0-9 and a-v.")
	u, err := url.Parse(text)
	if err != nil {
		return SecretURI{}, invalid
	}
	if u.Scheme != "" && u.Scheme != "secret" {
		return SecretURI{}, Errorf(Invalid, "secret URI scheme %q not valid", u.Scheme)
	}
	if u.Host != "" && !uuid.MatchString(u.Host) {
		return SecretURI{}, Errorf(Invalid, "host controller UUID %q not valid", u.Host)
	}
	path := strings.TrimLeft(u.Path, "/")
	if path == "" {
		path = u.Opaque
	}
	uri := SecretURI{Model: u.Host, ID: path}
	if model, id, ok := strings.Cut(path, "/"); ok {
		if !uuid.MatchString(model) || u.Host != "" {
			return SecretURI{}, invalid
		}
		uri = SecretURI{Model: model, ID: id}
	}
	if !IsValidSecretID(uri.ID) || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return SecretURI{}, invalid
	}
	return uri, nil
}

// secretName is the form of the keys of a secret's content, and of the names of users' secrets.
var secretName = regexp.MustCompile(`^([a-z](?:-?[a-z0-9]){2,})$`)

// IsValidSecretName reports whether name can be the name of a user's secret, or a key of a secret's content: at least
// three characters of a-z and 0-9, the first of them a letter, with single hyphens between them.
func IsValidSecretName(name string) bool { return isShort(name) && secretName.MatchString(name) }

// MaxSecret is the maximum size of a secret's content, in bytes of base64.
const MaxSecret = 1_000_000

// SecretContent is the content of a revision of a secret: a value in base64 by key. Printing it does not show it.
type SecretContent map[string]string

// Format prints that it is secret, however it is asked for: what is printed may be logged.
func (c SecretContent) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "(%d secret values)", len(c)) }

// Check returns an Invalid error for content that no secret can have. It names keys, but never a value.
func (c SecretContent) Check() error {
	if len(c) == 0 {
		return Errorf(Invalid, "empty secret value not valid")
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if !IsValidSecretName(key) {
			return WithHint(Errorf(Invalid, "key %q not valid", key),
				"A key has three or more lower-case letters and digits, begins with a letter, and may have single hyphens within.")
		}
		if n := len(c[key]); n > MaxSecret {
			return Errorf(Invalid, "base64 encoded secret content for key %q too large: %d bytes", key, n)
		}
		if _, err := base64.StdEncoding.DecodeString(c[key]); err != nil {
			return Errorf(Invalid, "the value of key %q is not valid base64", key)
		}
		size += len(c[key])
	}
	if size > MaxSecret {
		return Errorf(Invalid, "base64 encoded secret content too large: %d bytes", size)
	}
	return nil
}

// Checksum identifies the content: the SHA-256 in hex of its JSON, as in Juju. Content with the checksum of the latest
// revision makes no new one.
func (c SecretContent) Checksum() string {
	text, _ := json.Marshal(map[string]string(c)) // with sorted keys; it never fails
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// A RotatePolicy says how often the owner of a secret is told to rotate it.
type RotatePolicy string

// The policies. The zero policy is RotateNever that no one has set.
const (
	RotateNever     RotatePolicy = "never"
	RotateHourly    RotatePolicy = "hourly"
	RotateDaily     RotatePolicy = "daily"
	RotateWeekly    RotatePolicy = "weekly"
	RotateMonthly   RotatePolicy = "monthly"
	RotateQuarterly RotatePolicy = "quarterly"
	RotateYearly    RotatePolicy = "yearly"
)

// RotatePolicies are all policies, from never to the longest interval.
var RotatePolicies = []RotatePolicy{RotateNever, RotateHourly, RotateDaily, RotateWeekly, RotateMonthly, RotateQuarterly,
	RotateYearly}

// Check returns an Invalid error, in Juju's words, unless the policy is one of RotatePolicies.
func (p RotatePolicy) Check() error {
	if !slices.Contains(RotatePolicies, p) {
		return WithHint(Errorf(Invalid, "rotate policy %q not valid", p), "The policies are %v.", RotatePolicies)
	}
	return nil
}

// Rotates reports whether the policy asks for rotations.
func (p RotatePolicy) Rotates() bool { return p != "" && p != RotateNever }

// Next returns when the next rotation after one is due; the zero time if never.
func (p RotatePolicy) Next(last time.Time) time.Time {
	switch p {
	case RotateHourly:
		return last.Add(time.Hour)
	case RotateDaily:
		return last.AddDate(0, 0, 1)
	case RotateWeekly:
		return last.AddDate(0, 0, 7)
	case RotateMonthly:
		return last.AddDate(0, 1, 0)
	case RotateQuarterly:
		return last.AddDate(0, 3, 0)
	case RotateYearly:
		return last.AddDate(1, 0, 0)
	}
	return time.Time{}
}

// SecretSettings are what an owner sets of a secret. What is nil stays as it is.
type SecretSettings struct {
	Label       *string       `json:"label,omitempty"` // of a user's secret: its name
	Description *string       `json:"description,omitempty"`
	Rotate      *RotatePolicy `json:"rotate,omitempty"`
	Expire      *time.Time    `json:"expire,omitempty"` // of the latest revision
	Content     SecretContent `json:"content,omitempty"`
}

// A NewSecret is a secret that a hook has made. It belongs to the unit's service, if the unit leads it, or to the unit.
type NewSecret struct {
	ID     string `json:"id"`
	OfUnit bool   `json:"of-unit,omitempty"`
	SecretSettings
}

// A SecretUpdate is a change to a secret.
type SecretUpdate struct {
	ID string `json:"id"`
	SecretSettings
}

// A SecretRemoval removes a revision of a secret; all of the secret if Revision is 0.
type SecretRemoval struct {
	ID       string `json:"id"`
	Revision int    `json:"revision,omitempty"`
}

// A SecretGrant lets a service or unit at the other end of a relation, the subject, read a secret while the relation lasts.
type SecretGrant struct {
	ID       string `json:"id"`
	Relation int    `json:"relation"`
	Subject  string `json:"subject"`
}

// CheckSharing returns a NotSupported error, in Juju's words, unless a secret can be granted to the other end of a relation
// across models: only what is offered shares secrets, and only with whole services.
func CheckSharing(offered bool, unit string) error {
	switch {
	case !offered:
		return WithHint(Errorf(NotSupported, "sharing consumer secrets across a cross model relation not supported"),
			"Only the service that is offered can share secrets with the one that consumes it.")
	case unit != "":
		return WithHint(Errorf(NotSupported, "sharing secrets with a unit across a cross model relation not supported"),
			"Grant it to the whole application: leave out --unit.")
	}
	return nil
}

// A SecretRevocation ends the grant of a secret to a service or unit.
type SecretRevocation struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
}

// A SecretTracking says which revision of a secret a unit reads from now on, and how it calls the secret; "" changes no
// label. The secret can be in another model.
type SecretTracking struct {
	ID       string `json:"id"` // the secret's Key
	Revision int    `json:"revision"`
	Label    string `json:"label,omitempty"`
}

// A SecretEventKind is what a unit is told about a secret.
type SecretEventKind string

// The kinds of events. All but the first are for the owner.
const (
	SecretChanged SecretEventKind = "changed" // there is a newer revision than the unit was told of
	SecretRemove  SecretEventKind = "remove"  // nothing reads an old revision any more
	SecretRotate  SecretEventKind = "rotate"  // it is time to rotate it
	SecretExpired SecretEventKind = "expired" // the time of a revision is over
)

// A SecretEvent is what a unit's next hook about a secret is for.
type SecretEvent struct {
	Kind     SecretEventKind `json:"kind"`
	ID       string          `json:"id"`       // the secret's Key: of changed it can be in another model
	Revision int             `json:"revision"` // of changed and rotate: the latest
	Label    string          `json:"label,omitempty"`
	// OfService is set if the secret belongs to the unit's service, whose leader alone is told.
	OfService bool `json:"of-service,omitempty"`
}

// SecretChanges are the changes of a hook to secrets.
type SecretChanges struct {
	Create []NewSecret        `json:"create,omitempty"`
	Update []SecretUpdate     `json:"update,omitempty"`
	Remove []SecretRemoval    `json:"remove,omitempty"`
	Grant  []SecretGrant      `json:"grant,omitempty"`
	Revoke []SecretRevocation `json:"revoke,omitempty"`
	Track  []SecretTracking   `json:"track,omitempty"`
	// Epoch is that of the leader's claim; changes to the service's secrets are rejected without it.
	Epoch int64 `json:"epoch,omitempty"`
	// Told is the event that the hook was for.
	Told *SecretEvent `json:"told,omitempty"`
}

// A SecretQuery names the secret that a unit reads, by its Key or label, and whether it reads the latest revision instead
// of the one that it tracks.
type SecretQuery struct {
	ID     string `json:"id,omitempty"`
	Label  string `json:"label,omitempty"`
	Latest bool   `json:"latest,omitempty"`
}

// A SecretValue is a secret as a unit reads it. State leaves out the content of a secret of another model, as it does not
// have it, and the latest revision is then the newest that the unit is to be told of.
type SecretValue struct {
	ID       string        `json:"id"`       // its Key
	Revision int           `json:"revision"` // of Content
	Latest   int           `json:"latest"`
	Tracked  int           `json:"tracked,omitempty"` // 0 if the unit has not read it before
	Label    string        `json:"label,omitempty"`   // the unit's own
	Content  SecretContent `json:"content"`
	// OfUnit and OfService say that the unit, or its service, owns the secret.
	OfUnit    bool `json:"of-unit,omitempty"`
	OfService bool `json:"of-service,omitempty"`
}

// A SecretRead is what a unit reads at once: the secret that it asks for, and others that it tracks, which its hook is
// likely to read next.
type SecretRead struct {
	Secret SecretValue   `json:"secret"`
	Others []SecretValue `json:"others,omitempty"`
}

// A SecretAccess is a grant of a secret. The subject is a service or unit, the scope the key of a relation, or "" for the
// model.
type SecretAccess struct {
	Subject  string `json:"subject"`
	Scope    string `json:"scope,omitempty"`
	Relation int    `json:"relation,omitempty"`
}

// A SecretRevision describes a revision of a secret.
type SecretRevision struct {
	Revision int       `json:"revision"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Expire   time.Time `json:"expire,omitzero"`
	Obsolete bool      `json:"obsolete,omitempty"` // there is a newer one, and nothing reads this one
}

// SecretInfo describes a secret, without its content.
type SecretInfo struct {
	ID          string           `json:"id"`
	Owner       Tag              `json:"-"` // a unit, a service or the model
	OfUnit      bool             `json:"of-unit,omitempty"`
	Label       string           `json:"label,omitempty"`
	Description string           `json:"description,omitempty"`
	Rotate      RotatePolicy     `json:"rotate,omitempty"`
	NextRotate  time.Time        `json:"next-rotate,omitzero"`
	AutoPrune   bool             `json:"auto-prune,omitempty"`
	Latest      int              `json:"latest"`
	Checksum    string           `json:"checksum"` // of the latest revision
	Expire      time.Time        `json:"expire,omitzero"`
	Created     time.Time        `json:"created"`
	Updated     time.Time        `json:"updated"`
	Revisions   []SecretRevision `json:"revisions,omitempty"`
	Access      []SecretAccess   `json:"access,omitempty"`
}

// Readers returns the names of the services and units to which the secret is granted.
func (i SecretInfo) Readers() []string {
	var names []string
	for _, a := range i.Access {
		names = append(names, a.Subject)
	}
	return names
}
