package facades

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"juju/apiserver/hub"
	"juju/apiserver/params"
	"juju/charm"
	"juju/state"
	"juju/state/entity"
)

func resourcesListResources(ctx context.Context, c *Caller, p params.Entities) (params.ResourcesResults, error) {
	return params.ResourcesResults{Results: each(c, "ListResources", p.Entities,
		func(e *params.Error) params.ResourcesResult { return params.ResourcesResult{Error: e} },
		func(e params.Entity) (r params.ResourcesResult, err error) {
			if err := isKind(e.Tag, entity.KindService); err != nil {
				return r, err
			}
			s, err := c.Model.Service(ctx, e.Tag.ID)
			if err != nil {
				return r, err
			}
			of, err := s.Resources(ctx)
			return resourcesOf(s.Name(), of), err
		})}, nil
}

func resourcesOf(service string, of entity.ResourcesOf) params.ResourcesResult {
	result := params.ResourcesResult{Resources: []params.Resource{}, CharmStoreResources: []params.CharmResource{}}
	for _, r := range of.Resources {
		result.Resources = append(result.Resources, params.ResourceOf(service, r))
	}
	for unit, files := range of.Units {
		has := params.UnitResources{Entity: params.Entity{Tag: params.TagOf(entity.UnitTag(unit))},
			Resources: []params.Resource{}, DownloadProgress: map[string]int64{}}
		for _, r := range of.Resources {
			if file, ok := files[r.Name]; ok {
				r.File = &file
				has.Resources = append(has.Resources, params.ResourceOf(service, r))
			}
		}
		result.UnitResources = append(result.UnitResources, has)
	}
	slices.SortFunc(result.UnitResources, func(a, b params.UnitResources) int {
		return entity.CompareNatural(a.Tag.ID, b.Tag.ID)
	})
	return result
}

func resourcesAddPending(
	ctx context.Context, c *Caller, p params.AddPendingResources,
) (params.AddPendingResourcesResult, error) {
	var result params.AddPendingResourcesResult
	if err := isKind(p.Tag, entity.KindService); err != nil {
		return result, err
	}
	if !entity.IsValidService(p.Tag.ID) {
		return result, entity.InvalidService(p.Tag.ID)
	}
	var uploads []string
	wanted := hub.Resources{Service: p.Tag.ID, User: c.Tag.ID, Revisions: map[string]int{}}
	for _, r := range p.Resources {
		switch {
		case !charm.IsValidResource(r.Name):
			return result, entity.Errorf(entity.Invalid, "invalid resource name %q", r.Name)
		case r.Origin == params.OriginStore:
			wanted.Revisions[r.Name] = r.Revision
		default:
			uploads = append(uploads, r.Name)
		}
	}
	url := p.URL
	if url != "" {
		var err error
		if url, err = hub.Stored(url); err != nil {
			return result, err
		}
	}
	ids := map[string]string{}
	if len(wanted.Revisions) > 0 {
		wanted.Charm = url
		if p.Origin != nil {
			wanted.Origin = *p.Origin
		}
		got, err := c.Hub.Resources(ctx, c.Model, wanted)
		if err != nil {
			return result, err
		}
		maps.Copy(ids, got)
	}
	if len(uploads) > 0 || len(p.Resources) == 0 {
		all, err := c.Model.Resources().AddPending(ctx, state.PendingResources{Service: p.Tag.ID, Charm: url, User: c.Tag.ID, Names: uploads})
		if err != nil {
			return result, err
		}
		for i, name := range uploads {
			ids[name] = all[i]
		}
	}
	for _, r := range p.Resources {
		if ids[r.Name] == "" {
			return result, entity.Errorf(entity.NotFound, "the charm store has no resource %q of %s in the channel", r.Name, url)
		}
		result.PendingIDs = append(result.PendingIDs, ids[r.Name])
	}
	return result, nil
}

// storeResources has the model get, from the store, the resources of a service's charm that nobody has uploaded, and returns the ids of
// all uploads. Plans have no files, and do without.
func (c *Caller) storeResources(ctx context.Context, service, url string, meta *charm.Meta, origin *params.CharmOrigin,
	uploads map[string]string, has []entity.Resource) (map[string]string, error) {
	if origin == nil || origin.Source != params.FromStore || c.plans() {
		return uploads, nil
	}
	r := hub.Resources{Service: service, User: c.Tag.ID, Charm: url, Origin: *origin, Revisions: map[string]int{}, Has: map[string]int{}}
	for name, declared := range meta.Resources {
		if declared.Type == "file" && uploads[name] == "" {
			r.Revisions[name] = -1
		}
	}
	for _, one := range has {
		if one.File == nil {
			continue
		}
		if r.Has[one.Name] = one.File.Revision; one.File.Revision == 0 {
			delete(r.Revisions, one.Name) // a user's file stays
		}
	}
	got, err := c.Hub.Resources(ctx, c.Model, r)
	if len(got) == 0 {
		return uploads, err
	}
	maps.Copy(got, uploads)
	return got, err
}

func resourcesListPending(ctx context.Context, c *Caller, _ struct{}) (params.PendingResources, error) {
	all, err := c.Model.Resources().Pending(ctx)
	return params.PendingResourcesOf(all), err
}

func resourcesClearPending(
	ctx context.Context, c *Caller, p params.ClearPendingResources,
) (params.PendingResources, error) {
	user := c.Tag.ID
	if p.AllUsers {
		if c.Roles&Admin == 0 {
			return params.PendingResources{}, Lacks(c.Identity, c.Model, Admin)
		}
		user = ""
	}
	all, err := c.Model.Resources().ClearPending(ctx, user, p.Applications)
	return params.PendingResourcesOf(all), err
}

// warnOfResources warns of resources of a service that have not been uploaded.
func warnOfResources(ctx context.Context, c *Caller, w *warnings, service string) error {
	s, err := c.Model.Service(ctx, service)
	if err != nil {
		return err
	}
	if s.Origin() != nil && c.plans() {
		return nil // they come from the store, but not into a plan
	}
	missing, err := s.MissingResources(ctx)
	for _, name := range missing {
		w.add("resource %q was not uploaded: hooks that ask for it fail until juju attach-resource %s %s=FILE", name,
			service, name)
	}
	return err
}

// mayTake returns an error unless uploads, by resource, are of whoever is about to use them, who may be an administrator of the
// model instead: others could exchange a file, or take it away.
func (id Identity) mayTake(ctx context.Context, model *state.State, uploads map[string]string) error {
	if id.Roles&Admin != 0 || len(uploads) == 0 {
		return nil
	}
	return model.Resources().CheckUser(ctx, id.Tag.ID, slices.Collect(maps.Values(uploads))...)
}

// serveResourceUpload receives the file of a resource: for a pending id, or else for an existing service, which gets it
// immediately.
func serveResourceUpload(v *Visitor, _ http.ResponseWriter, r *http.Request) error {
	service, name := r.PathValue("service"), r.PathValue("resource")
	id := r.URL.Query().Get("pendingid")
	if id == "" {
		svc, err := v.Model.Service(r.Context(), service)
		if err == nil {
			_, err = svc.Resource(r.Context(), name)
		}
		if err != nil {
			return err
		}
	} else if err := v.mayTake(r.Context(), v.Model, map[string]string{name: id}); err != nil {
		return err
	}
	content, done, err := v.Receive(v.Limits.Resource, "file")
	if err != nil {
		return err
	}
	defer done()
	ctx, resources := r.Context(), v.Model.Resources()
	if token := r.URL.Query().Get("if-unchanged"); token != "" {
		if ctx, err = v.Model.Transactions().IfUnchanged(ctx, token); err != nil {
			return err
		}
	}
	to := state.Upload{Service: service, Resource: name, ID: id, SHA384: r.Header.Get(params.SHA384Header)}
	if id == "" {
		ids, err := resources.AddPending(ctx, state.PendingResources{Service: service, User: v.Tag.ID, Names: []string{name}})
		if err != nil {
			return err
		}
		to.ID = ids[0]
	}
	if err := resources.Store(ctx, to, content); err != nil {
		return err
	}
	stored := params.Resource{ID: service + "/" + name, Application: service, PendingID: id}
	stored.Name = name
	if id == "" {
		svc, err := v.Model.Service(ctx, service)
		if err == nil {
			err = svc.SetResources(ctx, map[string]string{name: to.ID})
		}
		if err != nil {
			return err
		}
		r, err := svc.Resource(ctx, name)
		if err != nil {
			return err
		}
		stored = params.ResourceOf(service, r)
	}
	v.Reply(params.ResourceUploadResult{Resource: stored})
	return nil
}

// serveResource sends the file of a service's resource to a user.
func serveResource(v *Visitor, w http.ResponseWriter, r *http.Request) error {
	service, name := r.PathValue("service"), r.PathValue("resource")
	svc, err := v.Model.Service(r.Context(), service)
	if err != nil {
		return err
	}
	resource, err := svc.Resource(r.Context(), name)
	if err == nil && resource.File == nil {
		err = notUploaded(service, name)
	}
	if err != nil {
		return err
	}
	return v.sendResource(r.Context(), w, *resource.File)
}

func notUploaded(service, name string) error {
	return entity.WithHint(entity.Errorf(entity.NotFound, "resource %q was not uploaded", name),
		"To upload it: juju attach-resource %s %s=FILE", service, name)
}

// serveUnitResource sends the file of a resource to a unit's agent, and records that the unit has it.
func serveUnitResource(v *Visitor, w http.ResponseWriter, r *http.Request) error {
	tag, err := params.ParseTag(r.PathValue("unit"))
	if err != nil {
		return err
	}
	if tag != v.Tag {
		return notAbout(v.Tag, "itself", tag)
	}
	ctx, name := r.Context(), r.PathValue("resource")
	u, err := v.Model.Unit(ctx, tag.ID)
	if err != nil {
		return err
	}
	resource, err := u.Resource(ctx, name)
	if err == nil && resource.File == nil {
		err = notUploaded(entity.UnitService(tag.ID), name)
	}
	if err != nil {
		return err
	}
	if err := v.sendResource(ctx, w, *resource.File); err != nil {
		return err
	}
	if err := u.SetFetched(ctx, name, *resource.File); err != nil {
		logger.Warningf("cannot record that %s has resource %q: %v", tag, name, err)
	}
	return nil
}

func (v *Visitor) sendResource(ctx context.Context, w http.ResponseWriter, file entity.ResourceFile) error {
	content, err := v.Model.Resources().Open(ctx, file)
	if err != nil {
		return err
	}
	defer content.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set(params.SHA384Header, file.SHA384)
	return v.Send(content, file.SHA256, "a resource")
}
