package facades

import (
	"context"

	"juju/apiserver/params"
)

// A FacadeVersion is a version at which a facade is served, and the release of Juju that brought it.
type FacadeVersion struct {
	Facade  string
	Version int
	Since   string
}

// FacadeVersions lists the facades that are served at several versions, because published clients ask for different
// ones. Every other facade has one version, which its routes name. A version is listed only if package params has its
// shapes: where an older one differs, params.AtVersion translates.
func FacadeVersions() []FacadeVersion {
	return []FacadeVersion{
		{"AllWatcher", 1, "2.0"},
		{"AllWatcher", 2, "2.9"},
		{"AllWatcher", 3, "3.0"}, // machines and units have a base instead of a series
		{"AllWatcher", 4, "3.6"}, // differs in nothing that we send
		{"Application", 19, "3.3"},
		{"Application", 20, "3.6"}, // SetCharm has "storage-directives"
		{"ApplicationOffers", 4, "3.0"},
		{"ApplicationOffers", 5, "3.6"}, // differs in nothing that we have
		{"Bundle", 6, "2.9"},
		{"Bundle", 8, "3.4"}, // differs in methods that we don't have
		{"Charms", 6, "3.1"},
		{"Charms", 7, "3.3"}, // differs in methods that we don't have
		{"Client", 6, "3.1"},
		{"Client", 7, "3.3"}, // FullStatus can include storage
		{"Client", 8, "3.6"}, // has no FindTools
		{"Cloud", 7, "3.0"},
		{"Cloud", 8, "3.6"},      // differs in methods that we don't have
		{"Controller", 9, "2.9"}, // differs in methods that we don't have
		{"Controller", 11, "3.0"},
		{"Controller", 12, "3.6"}, // has no ModelConfig
		{"ModelManager", 9, "3.0"},
		{"ModelManager", 10, "3.6"}, // models have no default series and base
		{"Secrets", 1, "3.0"},
		{"Secrets", 2, "3.3"}, // differs in methods that we don't have
	}
}

// atAllVersions returns the routes at all versions of their facades.
func atAllVersions(routes []Route) (all []Route) {
	for _, r := range routes {
		all = append(all, r)
		for _, v := range FacadeVersions() {
			if v.Facade == r.Facade && v.Version != r.Version {
				r := r
				r.Version = v.Version
				all = append(all, r)
			}
		}
	}
	for i := range all {
		all[i].Handler = all[i].Handler.at(all[i].Facade, all[i].Version)
	}
	return all
}

// at returns the handler for a version of its facade.
func (h Handler) at(facade string, version int) Handler {
	run := h.Run
	h.Run = func(ctx context.Context, c *Caller, p any) (any, error) {
		result, err := run(ctx, c, p)
		if err != nil {
			return nil, err
		}
		return params.AtVersion(facade, version, result), nil
	}
	return h
}
