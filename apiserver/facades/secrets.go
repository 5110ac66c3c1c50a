package facades

import (
	"context"
	"fmt"
	"slices"
	"time"

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
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "secret %q not found", name),
			"To list the secrets: juju secrets")
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
		if a.Label != nil && *a.Label == "" {
			a.Label = nil // python-libjuju, when the name stays; Juju takes the name away then
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

// An Offering is a model of another controller, as one that consumes an offer of it sees it.
type Offering interface {
	Secret(ctx context.Context, model string, relation int, id string, revision int) (entity.SecretValue, error)
	Close() error
}

// unitSecret returns the secret that a unit asks for, and others that it is likely to read next. Content of another model's secret
// comes from there.
func (c *Caller) unitSecret(ctx context.Context, unit entity.Tag, query entity.SecretQuery) (entity.SecretRead, error) {
	u, err := c.Model.Unit(ctx, unit.ID)
	if err != nil {
		return entity.SecretRead{}, err
	}
	read, err := u.Secret(ctx, query)
	if err != nil {
		return read, err
	}
	if uri := entity.SecretOfKey(read.Secret.ID); uri.Model != "" {
		there, err := c.secretElsewhere(ctx, entity.UnitService(unit.ID), uri, read.Secret.Revision)
		if err != nil {
			return entity.SecretRead{}, err
		}
		read.Secret.Content, read.Secret.Revision, read.Secret.Latest = there.Content, there.Revision, there.Latest
	}
	return read, nil
}

// secretElsewhere reads a secret of another model by the relations that a service has with an offer there.
func (c *Caller) secretElsewhere(ctx context.Context, service string, uri entity.SecretURI,
	revision int) (entity.SecretValue, error) {
	none := entity.WithHint(entity.Errorf(entity.NotFound, "secret %q not found", uri),
		"It is in another model, and %s has no relation with an application there.", service)
	connections, err := c.Model.CrossModel().Connections(ctx)
	if err != nil {
		return entity.SecretValue{}, err
	}
	for _, with := range connections {
		if !with.Consumes || with.Model != uri.Model || with.Near.Service != service || !with.Joined || with.Suspended {
			continue
		}
		v, err := c.secretBy(ctx, with, uri.ID, revision)
		if kind := entity.KindOf(err); kind != entity.NotFound && kind != entity.Unauthorized {
			return v, err
		}
		none = err
	}
	return entity.SecretValue{}, none
}

// elsewhereTime is how long a unit's request waits for the controller that has a secret.
const elsewhereTime = 30 * time.Second

// secretBy reads a secret of the model that a relation is with.
func (c *Caller) secretBy(ctx context.Context, with entity.Connection, id string,
	revision int) (v entity.SecretValue, err error) {
	remotes, err := c.Model.CrossModel().Consumed(ctx)
	if err != nil {
		return v, err
	}
	i := slices.IndexFunc(remotes, func(r entity.Consumed) bool { return r.Name == with.Remote })
	if i < 0 {
		return v, entity.Errorf(entity.NotFound, "remote service %q not found", with.Remote)
	}
	offer := remotes[i]
	if offer.External == nil {
		other, err := c.Controller.Model(ctx, with.Model)
		if err != nil {
			return v, err
		}
		return other.CrossModel().SharedSecret(ctx, c.Model.UUID(), with.Relation, "", id, revision)
	}
	if c.Reach == nil {
		return v, entity.Errorf(entity.NotSupported, "this controller does not reach others")
	}
	ctx, cancel := context.WithTimeout(ctx, elsewhereTime)
	defer cancel()
	there, err := c.Reach(ctx, offer)
	if err != nil {
		return v, fmt.Errorf("cannot reach controller %q, which has secret %q: %w", offer.External.Name, id, err)
	}
	defer there.Close()
	v, err = there.Secret(ctx, c.Model.UUID(), with.Relation, id, revision)
	if err == nil {
		err = v.Content.Check() // it is another controller's
	}
	return v, err
}
