package params

import (
	"time"

	"juju/state/entity"
)

// A SecretsFilter selects secrets; what is nil selects all.
type SecretsFilter struct {
	URI      *string `json:"uri,omitempty"`
	Label    *string `json:"label,omitempty"` // of a user's secret: its name
	Revision *int    `json:"revision,omitempty"`
	OwnerTag *Tag    `json:"owner-tag,omitempty"`
}

// A SecretsList is the parameter of Secrets 2 ListSecrets.
type SecretsList struct {
	ShowSecrets bool          `json:"show-secrets"`
	Filter      SecretsFilter `json:"filter"`
}

// SecretResults is the result of ListSecrets.
type SecretResults struct {
	Results []Secret `json:"results"`
}

// A Secret is a secret with its revisions, and with its content if that was asked for.
type Secret struct {
	URI                    string           `json:"uri"`
	Version                int              `json:"version"`
	OwnerTag               Tag              `json:"owner-tag"`
	RotatePolicy           string           `json:"rotate-policy,omitempty"`
	NextRotateTime         time.Time        `json:"next-rotate-time,omitzero"`
	Description            string           `json:"description,omitempty"`
	Label                  string           `json:"label,omitempty"`
	LatestRevision         int              `json:"latest-revision"`
	LatestRevisionChecksum string           `json:"latest-revision-checksum"`
	LatestExpireTime       time.Time        `json:"latest-expire-time,omitzero"`
	CreateTime             time.Time        `json:"create-time"`
	UpdateTime             time.Time        `json:"update-time"`
	Revisions              []SecretRevision `json:"revisions"`
	Value                  *SecretValue     `json:"value,omitempty"`
	Access                 []SecretAccess   `json:"access,omitempty"`
}

// A SecretRevision is a revision of a secret.
type SecretRevision struct {
	Revision    int       `json:"revision"`
	BackendName string    `json:"backend-name,omitempty"`
	CreateTime  time.Time `json:"create-time"`
	UpdateTime  time.Time `json:"update-time"`
	ExpireTime  time.Time `json:"expire-time,omitzero"`
}

// A SecretValue is the content of a secret: values in base64 by key.
type SecretValue struct {
	Data  entity.SecretContent `json:"data,omitempty"`
	Error *Error               `json:"error,omitempty"`
}

// A SecretAccess says who may read a secret, and while what lasts: a relation, or the model.
type SecretAccess struct {
	TargetTag Tag    `json:"target-tag"`
	ScopeTag  Tag    `json:"scope-tag"`
	Role      string `json:"role"`
}

// A SecretSettings is what users set of a secret.
type SecretSettings struct {
	Description *string              `json:"description,omitempty"`
	Label       *string              `json:"label,omitempty"` // its name
	Content     SecretContentOfUsers `json:"content"`
}

// A SecretContentOfUsers is the content that users set.
type SecretContentOfUsers struct {
	Data entity.SecretContent `json:"data,omitempty"`
}

// A CreateSecrets is the parameter of CreateSecrets.
type CreateSecrets struct {
	Args []CreateSecret `json:"args"`
}

// A CreateSecret is a new secret of the model.
type CreateSecret struct {
	SecretSettings
	URI      *string `json:"uri,omitempty"`
	OwnerTag string  `json:"owner-tag"`
}

// An UpdateSecrets is the parameter of UpdateSecrets.
type UpdateSecrets struct {
	Args []UpdateSecret `json:"args"`
}

// An UpdateSecret is a change to a secret, named by its URI or its name.
type UpdateSecret struct {
	SecretSettings
	URI           string `json:"uri"`
	ExistingLabel string `json:"existing-label"`
	AutoPrune     *bool  `json:"auto-prune,omitempty"`
}

// A RemoveSecrets is the parameter of RemoveSecrets.
type RemoveSecrets struct {
	Args []RemoveSecret `json:"args"`
}

// A RemoveSecret removes revisions of a secret, or all of it if none is named.
type RemoveSecret struct {
	URI       string `json:"uri"`
	Label     string `json:"label"`
	Revisions []int  `json:"revisions,omitempty"`
}

// A SecretGrant is the parameter of GrantSecret and RevokeSecret.
type SecretGrant struct {
	URI          string   `json:"uri"`
	Label        string   `json:"label"`
	Applications []string `json:"applications"`
}

// InternalBackend is the name of the only backend: the controller's store.
const InternalBackend = "internal"

// SecretBackendResults is the result of SecretBackends 1 ListSecretBackends.
type SecretBackendResults struct {
	Results []SecretBackendResult `json:"results"`
}

// A SecretBackendResult is a backend and its state.
type SecretBackendResult struct {
	Result     SecretBackend `json:"result"`
	ID         string        `json:"id"`
	NumSecrets int           `json:"num-secrets"`
	Status     string        `json:"status"`
	Error      *Error        `json:"error,omitempty"`
}

// A SecretBackend is where the content of secrets is kept.
type SecretBackend struct {
	Name        string         `json:"name"`
	BackendType string         `json:"backend-type"`
	Config      map[string]any `json:"config"`
}

// SecretOf returns the wire format of a secret in the model with a UUID.
func SecretOf(s entity.SecretInfo, model string) Secret {
	wire := Secret{URI: entity.SecretURI{ID: s.ID}.String(), Version: 1, OwnerTag: TagOf(s.Owner),
		RotatePolicy: string(s.Rotate), NextRotateTime: s.NextRotate, Description: s.Description, Label: s.Label,
		LatestRevision: s.Latest, LatestRevisionChecksum: s.Checksum, LatestExpireTime: s.Expire,
		CreateTime: s.Created, UpdateTime: s.Updated, Revisions: []SecretRevision{}}
	for _, r := range s.Revisions {
		wire.Revisions = append(wire.Revisions, SecretRevision{Revision: r.Revision, BackendName: InternalBackend,
			CreateTime: r.Created, UpdateTime: r.Updated, ExpireTime: r.Expire})
	}
	for _, a := range s.Access {
		scope := entity.ModelTag(model)
		if a.Scope != "" {
			scope = entity.RelationTag(a.Scope)
		}
		subject := entity.ServiceTag(a.Subject)
		if entity.IsValidUnit(a.Subject) {
			subject = entity.UnitTag(a.Subject)
		}
		wire.Access = append(wire.Access, SecretAccess{TagOf(subject), TagOf(scope), "view"})
	}
	return wire
}
