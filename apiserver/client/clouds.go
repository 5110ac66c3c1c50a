package client

import (
	"context"
	"slices"
	"strings"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Clouds returns the names of the clouds on which the controller can have models.
func (c *Conn) Clouds(ctx context.Context) (names []string, err error) {
	var result params.CloudsResult
	err = c.call(ctx, "Cloud", 7, "Clouds", nil, &result)
	for tag := range result.Clouds {
		names = append(names, strings.TrimPrefix(tag, params.CloudTag("")))
	}
	slices.Sort(names)
	return names, err
}

func cloudTags(names ...string) (tags params.CloudTags) {
	for _, name := range names {
		tags.Entities = append(tags.Entities, params.CloudEntity{Tag: params.CloudTag(name)})
	}
	return tags
}

// Cloud describes a cloud of the controller. The connection must be to the controller itself, as for Credential.
func (c *Conn) Cloud(ctx context.Context, name string) (entity.Cloud, error) {
	var result params.CloudResults
	if err := c.call(ctx, "Cloud", 7, "Cloud", cloudTags(name), &result); err != nil {
		return entity.Cloud{}, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return entity.Cloud{}, err
	}
	one := result.Results[0].Cloud
	if one == nil {
		return entity.Cloud{}, params.FromError(result.Results[0].Error)
	}
	cloud := entity.Cloud{Type: one.Type, AuthTypes: one.AuthTypes, Endpoint: one.Endpoint}
	for _, r := range one.Regions {
		cloud.Regions = append(cloud.Regions, r.Name)
	}
	return cloud, nil
}

// CredentialNames returns the names of the user's credentials of a cloud.
func (c *Conn) CredentialNames(ctx context.Context, cloud string) ([]string, error) {
	args := params.UserClouds{UserClouds: []params.UserCloud{{UserTag: params.TagOf(c.Tag()), CloudTag: params.CloudTag(cloud)}}}
	var result params.StringsResults
	if err := c.call(ctx, "Cloud", 7, "UserCredentials", args, &result); err != nil {
		return nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return nil, err
	}
	if err := params.FromError(result.Results[0].Error); err != nil {
		return nil, err
	}
	var names []string
	for _, tag := range result.Results[0].Result {
		_, name, err := params.ParseCredentialTag(tag)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// Credential returns a credential of a cloud, and which of the user's models use it, with the access to each. Only
// superusers can ask for its secrets.
func (c *Conn) Credential(
	ctx context.Context, cloud, name string, secrets bool,
) (content entity.CloudCredential, models map[string]string, err error) {
	args := params.CloudCredentialArgs{IncludeSecrets: secrets,
		Credentials: []params.CloudCredentialArg{{CloudName: cloud, CredentialName: name}}}
	var result params.CredentialContentResults
	if err := c.call(ctx, "Cloud", 7, "CredentialContents", args, &result); err != nil {
		return content, nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return content, nil, err
	}
	one := result.Results[0].Result
	if one == nil {
		return content, nil, params.FromError(result.Results[0].Error)
	}
	models = map[string]string{}
	for _, m := range one.Models {
		models[m.Model] = m.Access
	}
	return entity.CloudCredential{AuthType: one.Content.AuthType, Attributes: one.Content.Attributes}, models, nil
}

// AddCredential adds a credential of the controller's cloud. The cloud must accept it.
func (c *Conn) AddCredential(ctx context.Context, cloud, name string, one entity.CloudCredential) error {
	args := params.AddCredentialArgs{Credentials: []params.TaggedCredential{
		{Tag: params.CredentialTag(cloud, c.Tag().ID, name), Credential: one}}}
	var result params.ErrorResults
	if err := c.call(ctx, "Cloud", 7, "AddCredentials", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}

// UpdateCredential replaces a credential that the controller has, or adds it. Unless force is set, the cloud must accept it.
func (c *Conn) UpdateCredential(ctx context.Context, cloud, name string, one entity.CloudCredential, force bool) error {
	args := params.UpdateCredentialArgs{Force: force, Credentials: []params.TaggedCredential{
		{Tag: params.CredentialTag(cloud, c.Tag().ID, name), Credential: one}}}
	var result params.UpdateCredentialResults
	if err := c.call(ctx, "Cloud", 7, "UpdateCredentialsCheckModels", args, &result); err != nil {
		return err
	}
	if err := isOne(len(result.Results)); err != nil {
		return err
	}
	return params.FromError(result.Results[0].Error)
}

// RevokeCredential takes a credential that no model uses from the controller.
func (c *Conn) RevokeCredential(ctx context.Context, cloud, name string, force bool) error {
	args := params.RevokeCredentialArgs{Credentials: []params.RevokedCredential{
		{Tag: params.CredentialTag(cloud, c.Tag().ID, name), Force: force}}}
	var result params.ErrorResults
	if err := c.call(ctx, "Cloud", 7, "RevokeCredentialsCheckModels", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}

// SetModelCredential chooses which credential of its cloud a model uses.
func (c *Conn) SetModelCredential(ctx context.Context, model, cloud, name string) error {
	args := params.ChangeModelCredentials{Models: []params.ChangeModelCredential{
		{ModelTag: params.TagOf(entity.ModelTag(model)), CredentialTag: params.CredentialTag(cloud, c.Tag().ID, name)}}}
	var result params.ErrorResults
	if err := c.call(ctx, "ModelManager", 10, "ChangeModelCredential", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}
