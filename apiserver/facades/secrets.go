package facades

import (
	"context"
	"slices"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

// secretsList lists secrets, with their content if the caller is an admin of the model and asks for it.
func secretsList(ctx context.Context, c *Caller, p params.SecretsList) (params.SecretResults, error) {
	results := params.SecretResults{Results: []params.Secret{}}
	if p.ShowSecrets {
		if c.InSession {
			return results, entity.WithHint(Denied(), "A browser's session shows no content of secrets: juju show-secret ID --reveal")
		}
		if c.Roles&Admin == 0 {
			return results, Lacks(c.Identity, c.Model, Admin)
		}
	}
	var filter state.SecretFilter
	if p.Filter.URI != nil {
		uri, err := c.localSecret(*p.Filter.URI)
		if err != nil {
			return results, err
		}
		filter.ID = uri
	}
	if p.Filter.Label != nil {
		filter.Name = *p.Filter.Label
	}
	if p.Filter.OwnerTag != nil {
		if filter.Owner = p.Filter.OwnerTag.Tag; !slices.Contains([]entity.TagKind{entity.KindModel, entity.KindService, entity.KindUnit}, filter.Owner.Kind) {
			return results, entity.Errorf(entity.Invalid, "owner tag %q not valid", p.Filter.OwnerTag)
		}
	}
	secrets := c.Model.Secrets()
	all, err := secrets.List(ctx, filter, true)
	if err != nil {
		return results, err
	}
	for _, s := range all {
		revision := s.Latest
		if p.Filter.Revision != nil {
			revision = *p.Filter.Revision
			s.Revisions = slices.DeleteFunc(s.Revisions, func(r entity.SecretRevision) bool { return r.Revision != revision })
			if len(s.Revisions) == 0 {
				return results, entity.Errorf(entity.NotFound, "secret revision %d of %q not found", revision, s.ID)
			}
		}
		wire := params.SecretOf(s, c.Model.UUID())
		if p.ShowSecrets {
			content, err := secrets.Content(ctx, s, revision)
			wire.Value = &params.SecretValue{Data: content, Error: c.wireError("ListSecrets", err)}
		}
		results.Results = append(results.Results, wire)
	}
	return results, nil
}

// localSecret returns the ID of a secret of the caller's model.
func (c *Caller) localSecret(text string) (string, error) {
	uri, err := entity.ParseSecretURI(text)
	if err == nil && !uri.IsIn(c.Model.UUID()) {
		err = entity.Errorf(entity.NotFound, "secret %q not found", text)
	}
	return uri.ID, err
}

// secretNamed returns the ID of the secret that a request names, by its URI or as a user's by its name.
func (c *Caller) secretNamed(ctx context.Context, uri, name string) (string, error) {
	switch {
	case uri == "" && name == "":
		return "", entity.Errorf(entity.Invalid, "must specify either URI or name")
	case uri != "" && name != "":
		return "", entity.Errorf(entity.Invalid, "must specify either URI or name but not both")
	case uri != "":
		return c.localSecret(uri)
	}
	all, err := c.Model.Secrets().List(ctx, state.SecretFilter{Name: name}, false)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "secret %q not found", name), "To list the secrets: juju secrets")
	}
	return all[0].ID, nil
}

// secretBackendsList names the only backend: the controller's store.
func secretBackendsList(context.Context, *Caller, None) (params.SecretBackendResults, error) {
	return params.SecretBackendResults{Results: []params.SecretBackendResult{{Result: params.SecretBackend{Name: params.InternalBackend,
		BackendType: "controller", Config: map[string]any{}}, ID: params.InternalBackend, Status: "active"}}}, nil
}

func secretsCreate(ctx context.Context, c *Caller, p params.CreateSecrets) (params.StringResults, error) {
	model := c.Model.UUID()
	return params.StringResults{Results: each(c, "CreateSecrets", p.Args,
		func(e *params.Error) params.StringResult { return params.StringResult{Error: e} },
		func(a params.CreateSecret) (params.StringResult, error) {
			switch {
			case a.URI != nil:
				return params.StringResult{}, entity.Errorf(entity.Invalid, "secret uri cannot be set on user secret create not valid")
			case a.OwnerTag != "" && a.OwnerTag != model && a.OwnerTag != entity.ModelTag(model).String():
				return params.StringResult{}, entity.Errorf(entity.Invalid, "owner tag %q not valid", a.OwnerTag)
			case a.Label == nil:
				return params.StringResult{}, entity.Errorf(entity.Invalid, "a secret of users needs a name")
			}
			id := entity.NewSecretID()
			err := c.Model.Secrets().Add(ctx, id, *a.Label, entity.SecretSettings{Description: a.Description, Content: a.Content.Data})
			return params.StringResult{Result: entity.SecretURI{ID: id}.String()}, err
		})}, nil
}

func secretsUpdate(ctx context.Context, c *Caller, p params.UpdateSecrets) (params.ErrorResults, error) {
	return outcomes(c, "UpdateSecrets", p.Args, func(a params.UpdateSecret) error {
		if a.Description == nil && a.Label == nil && a.AutoPrune == nil && len(a.Content.Data) == 0 {
			return entity.Errorf(entity.Invalid, "at least one attribute to update must be specified")
		}
		id, err := c.secretNamed(ctx, a.URI, a.ExistingLabel)
		if err != nil {
			return err
		}
		if len(a.Content.Data) == 0 {
			a.Content.Data = nil // as clients say that it stays
		}
		return c.Model.Secrets().Update(ctx, id, state.SecretChange{AutoPrune: a.AutoPrune,
			SecretSettings: entity.SecretSettings{Description: a.Description, Label: a.Label, Content: a.Content.Data}})
	}), nil
}

func secretsRemove(ctx context.Context, c *Caller, p params.RemoveSecrets) (params.ErrorResults, error) {
	return outcomes(c, "RemoveSecrets", p.Args, func(a params.RemoveSecret) error {
		id, err := c.secretNamed(ctx, a.URI, a.Label)
		if err != nil {
			return err
		}
		return c.Model.Secrets().Remove(ctx, id, a.Revisions)
	}), nil
}

func secretsGrant(ctx context.Context, c *Caller, p params.SecretGrant) (params.ErrorResults, error) {
	return c.changeGrants(ctx, "GrantSecret", p, c.Model.Secrets().Grant)
}

func secretsRevoke(ctx context.Context, c *Caller, p params.SecretGrant) (params.ErrorResults, error) {
	return c.changeGrants(ctx, "RevokeSecret", p, c.Model.Secrets().Revoke)
}

func (c *Caller) changeGrants(ctx context.Context, doing string, p params.SecretGrant,
	change func(ctx context.Context, id, service string) error) (params.ErrorResults, error) {
	id, err := c.secretNamed(ctx, p.URI, p.Label)
	if err != nil {
		return params.ErrorResults{}, err
	}
	return outcomes(c, doing, p.Applications, func(service string) error { return change(ctx, id, service) }), nil
}
