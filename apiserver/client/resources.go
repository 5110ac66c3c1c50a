package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Resources returns the resources of a service, and the files that its units have.
func (c *Conn) Resources(ctx context.Context, service string) (of entity.ResourcesOf, err error) {
	args := params.Entities{Entities: []params.Entity{{Tag: params.TagOf(entity.ServiceTag(service))}}}
	var results params.ResourcesResults
	if err := c.call(ctx, "Resources", 3, "ListResources", args, &results); err != nil {
		return of, err
	}
	if err := isOne(len(results.Results)); err != nil {
		return of, err
	}
	of.Units = map[string]map[string]entity.ResourceFile{}
	for _, result := range results.Results {
		if err := params.FromError(result.Error); err != nil {
			return of, err
		}
		for _, r := range result.Resources {
			of.Resources = append(of.Resources, r.Read())
		}
		for _, unit := range result.UnitResources {
			files := map[string]entity.ResourceFile{}
			for _, r := range unit.Resources {
				if file := r.Read().File; file != nil {
					files[r.Name] = *file
				}
			}
			of.Units[unit.Tag.ID] = files
		}
	}
	return of, nil
}

// AddPendingResources returns, by name, an upload id for each of the resources of a service that is about to be
// deployed or upgraded.
func (c *Conn) AddPendingResources(ctx context.Context, service, charmURL string, names ...string) (
	ids map[string]string, err error,
) {
	args := params.AddPendingResources{Entity: params.Entity{Tag: params.TagOf(entity.ServiceTag(service))}, URL: charmURL}
	for _, name := range names {
		args.Resources = append(args.Resources, params.CharmResource{Name: name, Type: "file", Origin: "upload"})
	}
	var result params.AddPendingResourcesResult
	if c.planning.only {
		result.PendingIDs, err = c.planning.announce(args)
	} else if err = c.call(ctx, "Resources", 3, "AddPendingResources", args, &result); err == nil {
		err = params.FromError(result.Error)
	}
	if err == nil && len(result.PendingIDs) != len(names) {
		err = entity.Errorf(entity.Invalid, "the controller returned %d ids for %d resources", len(result.PendingIDs),
			len(names))
	}
	if err != nil {
		return nil, err
	}
	ids = map[string]string{}
	for i, name := range names {
		ids[name] = result.PendingIDs[i]
	}
	return ids, nil
}

// PendingResources returns the uploads that no service uses yet, sorted by service and resource.
func (c *Conn) PendingResources(ctx context.Context) ([]entity.PendingResource, error) {
	var result params.PendingResources
	err := c.call(ctx, "Resources", 3, "ListPendingResources", nil, &result)
	return result.Read(), err
}

// ClearPendingResources removes the user's uploads, or all users', that no service uses, for some services or all, and
// returns them.
func (c *Conn) ClearPendingResources(ctx context.Context, services []string,
	allUsers bool) ([]entity.PendingResource, error) {
	var result params.PendingResources
	args := params.ClearPendingResources{Applications: services, AllUsers: allUsers}
	err := c.call(ctx, "Resources", 3, "ClearPendingResources", args, &result)
	return result.Read(), err
}

// UploadResource uploads the file of a resource. id is from AddPendingResources, or "" for an existing service, whose
// units then run upgrade-charm.
func (c *Conn) UploadResource(ctx context.Context, service, name, id string, file io.Reader) error {
	if c.planning.only {
		return c.planning.resource(ctx, c, service, name, id, file)
	}
	query := url.Values{}
	if id != "" {
		query.Set("pendingid", id)
	}
	if c.planning.token != "" {
		query.Set("if-unchanged", c.planning.token)
	}
	path := "/applications/" + url.PathEscape(service) + "/resources/" + url.PathEscape(name)
	body, err := c.transfer(ctx, http.MethodPut, path, query, &sent{
		"application/octet-stream", file, "file", entity.MaxResource}, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	var result params.ResourceUploadResult
	if err := json.NewDecoder(io.LimitReader(body, 1<<20)).Decode(&result); err != nil {
		return entity.Errorf(entity.Unavailable, "cannot read the answer to an upload: %w", err)
	}
	c.planning.token = ""
	return nil
}

// OpenResource opens the file of a resource for a unit's agent. The reader fails when ctx or the connection ends, or
// when it is closed.
func (f UniterFacade) OpenResource(ctx context.Context, unit entity.Tag, name string) (file io.ReadCloser, err error) {
	path := "/units/" + unit.String() + "/resources/" + url.PathEscape(name)
	err = f.Do(ctx, func(c *Conn) error {
		file, err = c.transfer(ctx, http.MethodGet, path, nil, nil, nil)
		return err
	})
	return file, err
}
