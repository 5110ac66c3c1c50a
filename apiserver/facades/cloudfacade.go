package facades

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

// All models are on the controller's cloud, and each uses one of its credentials. All users use all of these: a credential's
// tag names its user as clients expect it.

// cloudName returns the name of the controller's cloud, which may be other than its kind.
func (c *Caller) cloudName() string { return cmp.Or(c.CloudSpec.Name, c.Controller.Cloud()) }

// region returns the region that the controller uses.
func (c *Caller) region() string { return cmp.Or(c.CloudSpec.Region, entity.CloudRegion) }

// firstCredential returns the name of the cloud's first credential, with which the controller was bootstrapped.
func (c *Caller) firstCredential() string {
	return cmp.Or(c.CredentialName, entity.CloudCredentialName)
}

// credentialName returns the name of the credential that a model uses.
func (c *Caller) credentialName(row controller.ModelRow) string {
	return cmp.Or(row.Credential, c.firstCredential())
}

// recorded returns the name under which the controller's database has a credential.
func (c *Caller) recorded(name string) string {
	if name == c.firstCredential() {
		return ""
	}
	return name
}

// atCloud adds to the status of a model where the cloud is, as users call it.
func (c *Caller) atCloud(s *entity.ModelStatus) {
	if name := c.cloudName(); name != s.Model.Cloud {
		s.Model.CloudName = name
	}
	if region := c.region(); region != entity.CloudRegion {
		s.Model.Region = region
	}
}

// specOf returns how a model uses the cloud.
func (c *Caller) specOf(ctx context.Context, model string) (entity.CloudSpec, error) {
	row, err := c.Controller.ModelRow(ctx, model)
	if err != nil {
		return entity.CloudSpec{}, err
	}
	return c.spec(ctx, row.Credential)
}

// spec returns how to use the cloud with a recorded credential, as it is now.
func (c *Caller) spec(ctx context.Context, credential string) (entity.CloudSpec, error) {
	spec := c.CloudSpec
	one, err := c.Controller.CloudCredential(ctx, credential)
	if err == nil && one != nil {
		spec.Credential = one
	}
	return spec, err
}

// cloud describes the controller's cloud.
func (c *Caller) cloud() params.Cloud {
	s := c.CloudSpec
	shown := params.Cloud{Type: s.Type, Endpoint: s.Endpoint, IsControllerCloud: true,
		Regions: []params.CloudRegion{{Name: s.Region, Endpoint: s.Endpoint}}}
	if s.Credential != nil {
		shown.AuthTypes = []string{s.Credential.AuthType}
	}
	return shown
}

// isCloud rejects other clouds than the controller's.
func (c *Caller) isCloud(name string) error {
	if name != c.cloudName() {
		return entity.WithHint(entity.Errorf(entity.NotFound, "cloud %q not found", name),
			"All models of this controller are on its cloud, %s. For another cloud, another controller is needed: juju bootstrap",
			c.cloudName())
	}
	return nil
}

// isCloudTag is isCloud for a tag.
func (c *Caller) isCloudTag(tag string) error {
	name, ok := strings.CutPrefix(tag, params.CloudTag(""))
	if !ok {
		return entity.Errorf(entity.Invalid, "%q is not a valid cloud tag", tag)
	}
	return c.isCloud(name)
}

// credentialNames returns the names of the cloud's credentials, the first one first.
func (c *Caller) credentialNames(ctx context.Context) ([]string, error) {
	others, err := c.Controller.CloudCredentials(ctx)
	return append([]string{c.firstCredential()}, others...), err
}

// isCredential rejects other credentials than the cloud's.
func (c *Caller) isCredential(ctx context.Context, cloud, name string) error {
	if err := c.isCloud(cloud); err != nil {
		return err
	}
	names, err := c.credentialNames(ctx)
	if err != nil || slices.Contains(names, name) {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.NotFound, "credential %q of cloud %q not found", name, cloud),
		"The controller has: %s. To add one: juju add-credential %s -f FILE -c %s", strings.Join(names, ", "),
		c.cloudName(), c.Controller.Name())
}

// newCredential checks the tag of a credential that may be new, and returns its names.
func (c *Caller) newCredential(tag string) (cloud, name string, err error) {
	if cloud, name, err = params.ParseCredentialTag(tag); err != nil {
		return "", "", err
	}
	if !entity.IsValidCloudName(name) {
		return "", "", entity.Errorf(entity.Invalid, "credential name %q not valid", name)
	}
	return cloud, name, c.isCloud(cloud)
}

func cloudClouds(_ context.Context, c *Caller, _ None) (params.CloudsResult, error) {
	return params.CloudsResult{Clouds: map[string]params.Cloud{params.CloudTag(c.cloudName()): c.cloud()}}, nil
}

func cloudCloud(_ context.Context, c *Caller, p params.CloudTags) (params.CloudResults, error) {
	return params.CloudResults{Results: each(c, "Cloud", p.Entities,
		func(e *params.Error) params.CloudResult { return params.CloudResult{Error: e} },
		func(e params.CloudEntity) (params.CloudResult, error) {
			shown := c.cloud()
			return params.CloudResult{Cloud: &shown}, c.isCloudTag(e.Tag)
		})}, nil
}

// cloudModelConfigSchema describes what can be set of models on the controller's cloud.
func cloudModelConfigSchema(_ context.Context, c *Caller,
	p params.ModelConfigSchemaArgs) (params.ModelConfigSchemaResult, error) {
	if p.ProviderType != "" && p.ProviderType != c.Controller.Cloud() {
		err := entity.WithHint(entity.Errorf(entity.NotFound, "no models on a cloud of type %q", p.ProviderType),
			"All models of this controller are on its cloud, of type %s", c.Controller.Cloud())
		return params.ModelConfigSchemaResult{Error: c.wireError("ModelConfigSchema", err)}, nil
	}
	return params.ModelConfigSchemaResult{Schema: params.ModelConfigSchema()}, nil
}

// cloudUserCredentials returns the tags of the credentials that users can use for models.
func cloudUserCredentials(ctx context.Context, c *Caller, p params.UserClouds) (params.StringsResults, error) {
	return params.StringsResults{Results: each(c, "UserCredentials", p.UserClouds,
		func(e *params.Error) params.StringsResult { return params.StringsResult{Error: e} },
		func(one params.UserCloud) (params.StringsResult, error) {
			user, err := subject(ctx, c, one.UserTag)
			if err == nil {
				err = c.isCloudTag(one.CloudTag)
			}
			if err != nil {
				return params.StringsResult{}, err
			}
			names, err := c.credentialNames(ctx)
			var tags []string
			for _, name := range names {
				tags = append(tags, params.CredentialTag(c.cloudName(), user, name))
			}
			return params.StringsResult{Result: tags}, err
		})}, nil
}

// cloudCredentialContents returns what credentials contain, and which of the caller's models use them. Secrets are only
// for superusers.
func cloudCredentialContents(
	ctx context.Context, c *Caller, p params.CloudCredentialArgs,
) (params.CredentialContentResults, error) {
	if p.IncludeSecrets && c.ControllerAccess != controller.AccessSuperuser {
		return params.CredentialContentResults{}, lacksController(c.Identity, controller.AccessSuperuser)
	}
	if len(p.Credentials) == 0 {
		names, err := c.credentialNames(ctx)
		if err != nil {
			return params.CredentialContentResults{}, err
		}
		for _, name := range names {
			p.Credentials = append(p.Credentials, params.CloudCredentialArg{CloudName: c.cloudName(), CredentialName: name})
		}
	}
	rows, access, err := c.Controller.ModelsOf(ctx, c.Tag.ID)
	if err != nil {
		return params.CredentialContentResults{}, err
	}
	return params.CredentialContentResults{Results: each(c, "CredentialContents", p.Credentials,
		func(e *params.Error) params.CredentialContentResult { return params.CredentialContentResult{Error: e} },
		func(one params.CloudCredentialArg) (params.CredentialContentResult, error) {
			if err := c.isCredential(ctx, one.CloudName, one.CredentialName); err != nil {
				return params.CredentialContentResult{}, err
			}
			spec, err := c.spec(ctx, c.recorded(one.CredentialName))
			if err != nil {
				return params.CredentialContentResult{}, err
			}
			valid := true
			shown := params.ControllerCredential{Content: params.CredentialContent{Name: one.CredentialName, Cloud: c.cloudName(),
				Valid: &valid, Attributes: map[string]string{}}}
			if own := spec.Credential; own != nil {
				shown.Content.AuthType = own.AuthType
				maps.Copy(shown.Content.Attributes, own.Attributes)
			}
			if !p.IncludeSecrets {
				maps.DeleteFunc(shown.Content.Attributes, func(name, _ string) bool { return entity.IsSecretAttribute(name) })
			}
			for i, row := range rows {
				if c.credentialName(row) == one.CredentialName {
					shown.Models = append(shown.Models, params.ModelAccess{Model: row.Name, Access: access[i]})
				}
			}
			return params.CredentialContentResult{Result: &shown}, nil
		})}, nil
}

// cloudAddCredentials adds credentials of the controller's cloud, which models can use from then on.
func cloudAddCredentials(ctx context.Context, c *Caller, p params.AddCredentialArgs) (params.ErrorResults, error) {
	return outcomes(c, "AddCredentials", p.Credentials, func(one params.TaggedCredential) error {
		cloud, name, err := c.newCredential(one.Tag)
		if err != nil {
			return err
		}
		fail := func(err error) error {
			return fmt.Errorf("cannot add credential %q of cloud %q: %w", name, cloud, err)
		}
		if name == c.firstCredential() {
			return fail(entity.WithHint(entity.Errorf(entity.AlreadyExists, "the controller was bootstrapped with it"),
				"To replace it: juju update-credential %s %s -f FILE -c %s", cloud, name, c.Controller.Name()))
		}
		if err := c.tryCredential(ctx, one.Credential, true); err != nil {
			return fail(err)
		}
		err = c.Controller.AddCloudCredential(ctx, name, one.Credential)
		if errors.Is(err, entity.AlreadyExists) {
			err = entity.WithHint(err, "To replace it: juju update-credential %s %s -f FILE -c %s", cloud,
				name, c.Controller.Name())
		}
		if err != nil {
			return fail(err)
		}
		return nil
	}), nil
}

// cloudUpdateCredentials replaces credentials that models use, or adds them.
func cloudUpdateCredentials(
	ctx context.Context, c *Caller, p params.UpdateCredentialArgs,
) (params.UpdateCredentialResults, error) {
	return params.UpdateCredentialResults{Results: each(c, "UpdateCredentialsCheckModels", p.Credentials,
		func(e *params.Error) params.UpdateCredentialResult { return params.UpdateCredentialResult{Error: e} },
		func(one params.TaggedCredential) (r params.UpdateCredentialResult, err error) {
			r.Tag = one.Tag
			cloud, name, err := c.newCredential(one.Tag)
			if err != nil {
				return r, err
			}
			if err := c.tryCredential(ctx, one.Credential, !p.Force); err != nil {
				return r, fmt.Errorf("cannot update credential %q of cloud %q: %w", name, cloud, err)
			}
			if err := c.Controller.SetCloudCredential(ctx, c.recorded(name), one.Credential); err != nil {
				return r, err
			}
			rows, err := c.Controller.Models(ctx)
			for _, row := range rows {
				if c.credentialName(row) == name {
					r.Models = append(r.Models, params.UpdatedModel{UUID: row.UUID, Name: row.Name})
				}
			}
			return r, err
		})}, nil
}

// tryCredential rejects a credential that can't be used or, if try is set, that the cloud does not accept in time.
func (c *Caller) tryCredential(ctx context.Context, one entity.CloudCredential, try bool) error {
	if c.CheckCredential == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Limits.CloudTime)
	defer cancel()
	err := c.CheckCredential(ctx, one, try)
	if errors.Is(err, context.DeadlineExceeded) {
		return entity.WithHint(entity.Errorf(entity.Unavailable, "the cloud has not answered for %v", c.Limits.CloudTime),
			"Nothing was changed; try again when the cloud answers, or use --force.")
	}
	return err
}

// cloudRevokeCredentials removes credentials that no model uses. Of one that is used it says who uses it.
func cloudRevokeCredentials(ctx context.Context, c *Caller,
	p params.RevokeCredentialArgs) (params.ErrorResults, error) {
	return outcomes(c, "RevokeCredentialsCheckModels", p.Credentials, func(one params.RevokedCredential) error {
		cloud, name, err := params.ParseCredentialTag(one.Tag)
		if err == nil {
			err = c.isCredential(ctx, cloud, name)
		}
		if err != nil {
			return err
		}
		if name != c.firstCredential() {
			err := c.Controller.RemoveCloudCredential(ctx, name)
			if errors.Is(err, entity.InUse) {
				err = entity.WithHint(err, "To have a model use another one: juju set-credential -m MODEL %s NAME", cloud)
			}
			if err != nil {
				return fmt.Errorf("cannot remove credential %q of cloud %q: %w", name, cloud, err)
			}
			return nil
		}
		users, err := c.Controller.CredentialUsers(ctx, "")
		if err != nil {
			return err
		}
		return entity.WithHint(entity.Errorf(entity.InUse, "cannot remove credential %q of cloud %q: the controller was bootstrapped with it, and "+
			"models use it: %s", name, cloud, strings.Join(users, ", ")),
			"To replace it: juju update-credential %s %s -f FILE -c %s", cloud, name, c.Controller.Name())
	}), nil
}

// cloudAddCloud refuses another cloud.
func cloudAddCloud(_ context.Context, c *Caller, p params.AddCloudArgs) (None, error) {
	return None{}, entity.WithHint(entity.Errorf(entity.NotSupported, "cannot add cloud %q: all models of a controller are on its own cloud, %s",
		p.Name, c.cloudName()), "To have models there, create another controller: juju add-cloud; juju bootstrap")
}

// cloudRemoveClouds refuses to remove the controller's own cloud; it has no other.
func cloudRemoveClouds(_ context.Context, c *Caller, p params.CloudTags) (params.ErrorResults, error) {
	return outcomes(c, "RemoveClouds", p.Entities, func(e params.CloudEntity) error {
		if err := c.isCloudTag(e.Tag); err != nil {
			return err
		}
		return entity.WithHint(entity.Errorf(entity.NotSupported,
			"cannot remove cloud %q: the controller is on it", c.cloudName()),
			"To remove the controller too: juju destroy-controller %s", c.Controller.Name())
	}), nil
}

// modelManagerChangeCredential has models use other credentials of the cloud.
func modelManagerChangeCredential(
	ctx context.Context, c *Caller, p params.ChangeModelCredentials,
) (params.ErrorResults, error) {
	return outcomes(c, "ChangeModelCredential", p.Models, func(one params.ChangeModelCredential) error {
		if err := isKind(one.ModelTag, entity.KindModel); err != nil {
			return err
		}
		if _, err := modelOfAdmin(ctx, c, one.ModelTag.ID); err != nil {
			return err
		}
		st, err := c.Controller.Model(ctx, one.ModelTag.ID)
		if err != nil {
			return err
		}
		if err := Changes.AllowedAt(ctx, st); err != nil {
			return err
		}
		cloud, name, err := params.ParseCredentialTag(one.CredentialTag)
		if err == nil {
			err = c.isCredential(ctx, cloud, name)
		}
		if err == nil && st.UUID() == c.ControllerModel.UUID() && name != c.firstCredential() {
			err = entity.WithHint(entity.Errorf(entity.NotSupported,
				"the controller's own model uses the first credential, %q", c.firstCredential()),
				"To replace that: juju update-credential %s %s -f FILE -c %s", c.cloudName(),
				c.firstCredential(), c.Controller.Name())
		}
		if err != nil {
			return err
		}
		return c.Controller.SetModelCredential(ctx, st.UUID(), c.recorded(name))
	}), nil
}

// modelCredential returns the recorded credential of a new model. It rejects one for another cloud or region than the
// controller's, and a credential that there isn't.
func (c *Caller) modelCredential(ctx context.Context, p params.ModelCreateArgs) (string, error) {
	if p.CloudTag != "" {
		if err := c.isCloudTag(p.CloudTag); err != nil {
			return "", err
		}
	}
	if p.Region != "" && p.Region != c.region() {
		return "", entity.WithHint(entity.Errorf(entity.NotFound, "region %q of cloud %q not found", p.Region, c.cloudName()),
			"The only one that this controller uses is %s.", c.region())
	}
	if p.CredentialTag == "" {
		return "", nil
	}
	cloud, name, err := params.ParseCredentialTag(p.CredentialTag)
	if err != nil {
		return "", err
	}
	return c.recorded(name), c.isCredential(ctx, cmp.Or(cloud, c.cloudName()), name)
}
