package hub

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"juju/apiserver/params"
	"juju/charm"
	"juju/charm/charmhub"
	"juju/state"
	"juju/state/entity"
	"juju/state/mongo"
)

// Resources are those of a service's charm that a model is to get from its store.
type Resources struct {
	Service, User string
	Charm         string // its URL
	Origin        params.CharmOrigin
	// Revisions are those wanted, by resource: -1 for that of the release in the origin's channel.
	Revisions map[string]int
	// Has are the revisions that the service has already.
	Has map[string]int
}

// Resources has a model get resources from its store, and returns the ids under which the service gets them, by name. Those that the
// release does not have, and those that the service has, are left out.
func (h *Hub) Resources(ctx context.Context, st *state.State, r Resources) (ids map[string]string, err error) {
	if len(r.Revisions) == 0 {
		return nil, nil
	}
	store, err := Store(ctx, st)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	offers, err := r.offers(ctx, store)
	if err != nil || len(offers) == 0 {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(offers))
	all, err := st.Resources().AddPending(ctx, state.PendingResources{Service: r.Service, Charm: r.Charm, User: r.User, Names: names})
	if err != nil {
		return nil, err
	}
	ids = map[string]string{}
	for i, name := range names {
		ids[name] = all[i]
		offer := offers[name]
		err := h.download(ctx, store, offer.Download, entity.MaxResource, func(int64) { mongo.Moved(ctx) }, func(f *os.File) error {
			return st.Resources().Store(ctx, state.Upload{Service: r.Service, Resource: name, ID: all[i], Revision: offer.Revision,
				SHA384: offer.Download.HashSHA384}, f)
		})
		if err != nil {
			return nil, fmt.Errorf("resource %q of charm %q of %s: %w", name, r.Charm, store.URL(), known(err))
		}
	}
	return ids, nil
}

// offers returns what the store has of the resources, by name.
func (r Resources) offers(ctx context.Context, store *charmhub.Client) (map[string]charmhub.Resource, error) {
	u, err := charm.ParseURL(r.Charm)
	if err != nil {
		return nil, err
	}
	var released []charmhub.Resource
	if slices.Contains(slices.Collect(maps.Values(r.Revisions)), -1) {
		if released, err = r.released(ctx, store, u); err != nil {
			return nil, err
		}
	}
	offers := map[string]charmhub.Resource{}
	for name, revision := range r.Revisions {
		all := released
		if revision >= 0 {
			if all, err = store.Resources(ctx, u.Name, name); err != nil {
				return nil, known(err)
			}
		}
		i := slices.IndexFunc(all, func(one charmhub.Resource) bool {
			return one.Name == name && (revision < 0 || one.Revision == revision)
		})
		switch {
		case i < 0 && revision >= 0:
			return nil, entity.WithHint(entity.Errorf(entity.NotFound, "charm %q has no revision %d of resource %q", u.Name, revision, name),
				"To see those of a channel: juju charm-resources %s --channel CHANNEL", u.Name)
		case i < 0 || all[i].Revision == 0 || r.Has[name] == all[i].Revision && revision < 0:
			continue
		}
		offers[name] = all[i]
	}
	return offers, nil
}

// released returns the resources of the release in the channel; none if the charm is released there no more.
func (r Resources) released(ctx context.Context, store *charmhub.Client, u charm.URL) ([]charmhub.Resource, error) {
	o := r.Origin
	o.Revision, o.Architecture = nil, u.Architecture
	want, err := choice("ch:"+u.Name, o)
	if err != nil {
		return nil, err
	}
	answer, err := store.Choose(ctx, charmhub.Download, want)
	if entity.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, known(err)
	}
	return answer.Entity.Resources, nil
}
