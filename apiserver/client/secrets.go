package client

import (
	"cmp"
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// A Secret is a secret as users see it. Content is nil unless it was asked for; ContentError says why it is missing then.
type Secret struct {
	entity.SecretInfo
	Content      entity.SecretContent
	ContentError error
}

// A SecretsFilter selects secrets; what is zero selects all.
type SecretsFilter struct {
	ID       string
	Name     string // of a user's secret
	Revision int
	Owner    entity.Tag
}

// Secrets lists the model's secrets, with their content if reveal is true, for which the user must be an admin of the model.
func (c *Conn) Secrets(ctx context.Context, f SecretsFilter, reveal bool) ([]Secret, error) {
	p := params.SecretsList{ShowSecrets: reveal}
	if f.ID != "" {
		uri := entity.SecretURI{ID: f.ID}.String()
		p.Filter.URI = &uri
	}
	if f.Name != "" {
		p.Filter.Label = &f.Name
	}
	if f.Revision > 0 {
		p.Filter.Revision = &f.Revision
	}
	if !f.Owner.IsZero() {
		tag := params.TagOf(f.Owner)
		p.Filter.OwnerTag = &tag
	}
	var result params.SecretResults
	if err := c.call(ctx, "Secrets", 2, "ListSecrets", p, &result); err != nil {
		return nil, err
	}
	all := make([]Secret, len(result.Results))
	for i, wire := range result.Results {
		uri, err := entity.ParseSecretURI(wire.URI)
		if err != nil {
			return nil, err
		}
		s := Secret{SecretInfo: entity.SecretInfo{ID: uri.ID, Owner: wire.OwnerTag.Tag, Label: wire.Label,
			Description: wire.Description, Rotate: entity.RotatePolicy(wire.RotatePolicy), NextRotate: wire.NextRotateTime,
			Latest: wire.LatestRevision, Checksum: wire.LatestRevisionChecksum, Expire: wire.LatestExpireTime,
			Created: wire.CreateTime, Updated: wire.UpdateTime}}
		for _, r := range wire.Revisions {
			s.Revisions = append(s.Revisions, entity.SecretRevision{Revision: r.Revision, Created: r.CreateTime, Updated: r.UpdateTime,
				Expire: r.ExpireTime})
		}
		for _, a := range wire.Access {
			access := entity.SecretAccess{Subject: a.TargetTag.ID}
			if a.ScopeTag.Kind == entity.KindRelation {
				access.Scope = a.ScopeTag.ID
			}
			s.Access = append(s.Access, access)
		}
		if v := wire.Value; v != nil {
			s.Content = v.Data
			if v.Error != nil {
				s.ContentError = params.FromError(v.Error)
			}
		}
		all[i] = s
	}
	return all, nil
}

// AddSecret adds a secret of the model with a name, and returns its URI.
func (c *Conn) AddSecret(ctx context.Context, name string, set entity.SecretSettings) (string, error) {
	var result params.StringResults
	p := params.CreateSecrets{Args: []params.CreateSecret{{SecretSettings: settingsOf(set, &name)}}}
	if err := c.call(ctx, "Secrets", 2, "CreateSecrets", p, &result); err != nil {
		return "", err
	}
	if err := isOne(len(result.Results)); err != nil {
		return "", err
	}
	one := result.Results[0]
	if one.Error != nil {
		return "", params.FromError(one.Error)
	}
	return one.Result, nil
}

func settingsOf(set entity.SecretSettings, name *string) params.SecretSettings {
	return params.SecretSettings{Description: set.Description, Label: name, Content: params.SecretContentOfUsers{Data: set.Content}}
}

// A SecretName names a secret by its ID, or a user's by its name.
type SecretName struct{ ID, Name string }

func (n SecretName) uri() string {
	if n.ID == "" {
		return ""
	}
	return entity.SecretURI{ID: n.ID}.String()
}

// UpdateSecret changes a secret of the model; what is nil stays as it is.
func (c *Conn) UpdateSecret(ctx context.Context, secret SecretName, set entity.SecretSettings, prune *bool) error {
	var result params.ErrorResults
	err := c.call(ctx, "Secrets", 2, "UpdateSecrets", params.UpdateSecrets{Args: []params.UpdateSecret{{
		SecretSettings: settingsOf(set, set.Label), URI: secret.uri(), ExistingLabel: secret.Name, AutoPrune: prune}}}, &result)
	return cmp.Or(err, only(result.Results))
}

// RemoveSecret removes revisions of a secret of the model, or all of it if none is named.
func (c *Conn) RemoveSecret(ctx context.Context, secret SecretName, revisions ...int) error {
	var result params.ErrorResults
	err := c.call(ctx, "Secrets", 2, "RemoveSecrets", params.RemoveSecrets{Args: []params.RemoveSecret{{URI: secret.uri(),
		Label: secret.Name, Revisions: revisions}}}, &result)
	return cmp.Or(err, only(result.Results))
}

// GrantSecret lets the units of services read a secret of the model. It returns an error or nil for each service, in order.
func (c *Conn) GrantSecret(ctx context.Context, secret SecretName, services []string) ([]error, error) {
	var result params.ErrorResults
	err := c.call(ctx, "Secrets", 2, "GrantSecret", params.SecretGrant{URI: secret.uri(), Label: secret.Name, Applications: services}, &result)
	return each(len(services), result.Results, err)
}

// RevokeSecret ends what GrantSecret began.
func (c *Conn) RevokeSecret(ctx context.Context, secret SecretName, services []string) ([]error, error) {
	var result params.ErrorResults
	err := c.call(ctx, "Secrets", 2, "RevokeSecret", params.SecretGrant{URI: secret.uri(), Label: secret.Name, Applications: services}, &result)
	return each(len(services), result.Results, err)
}
