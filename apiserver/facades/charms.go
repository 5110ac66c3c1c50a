package facades

import (
	"context"
	"net/http"
	"strings"

	"juju/apiserver/hub"
	"juju/apiserver/params"
	"juju/charm"
	"juju/state/entity"
)

// charmsAddCharm has the model get a charm of its store.
func charmsAddCharm(ctx context.Context, c *Caller, p params.AddCharmWithOrigin) (params.CharmOriginResult, error) {
	origin, err := c.Hub.Add(ctx, c.Model, p.URL, p.Origin)
	return params.CharmOriginResult{Origin: origin}, err
}

// charmsResolveCharms returns which revisions of charms the model's store has.
func charmsResolveCharms(ctx context.Context, c *Caller, p params.ResolveCharms) (params.ResolveCharmResults, error) {
	return params.ResolveCharmResults{Results: each(c, "ResolveCharms", p.Resolve,
		func(e *params.Error) params.ResolveCharmResult { return params.ResolveCharmResult{Error: e} },
		func(one params.ResolveCharm) (params.ResolveCharmResult, error) {
			r, err := hub.Resolve(ctx, c.Model, one.Reference, one.Origin)
			if err != nil {
				return params.ResolveCharmResult{}, err
			}
			return params.ResolveCharmResult{URL: r.URL.String(), Origin: r.Origin, SupportedBases: r.Bases}, nil
		})}, nil
}

func charmsCharmInfo(ctx context.Context, c *Caller, p params.CharmURL) (params.Charm, error) {
	u, err := charm.ParseURL(p.URL)
	if err != nil {
		return params.Charm{}, err
	}
	ch, err := c.Model.Charms().Get(ctx, p.URL)
	if err != nil {
		return params.Charm{}, err
	}
	info := params.Charm{
		URL: p.URL, Revision: u.Revision, Config: map[string]params.CharmOption{},
		Meta: &params.CharmMeta{
			Name: ch.Meta.Name, Summary: ch.Meta.Summary, Description: ch.Meta.Description, Subordinate: ch.Meta.Subordinate,
			Provides: charmRelations(ch.Meta.Provides), Requires: charmRelations(ch.Meta.Requires),
			Peers:      charmRelations(ch.Meta.Peers),
			Categories: ch.Meta.Categories, Tags: ch.Meta.Tags, Series: ch.Meta.Series,
			Storage: map[string]params.CharmStorage{}, Resources: map[string]params.CharmResourceMeta{},
		},
	}
	if len(ch.Meta.Bases) > 0 {
		info.Manifest = &params.CharmManifest{Bases: ch.Meta.Bases}
	}
	for name, s := range ch.Meta.Storage {
		store := params.CharmStorage{Name: s.Name, Description: s.Description, Type: string(s.Type), Shared: s.Shared,
			ReadOnly: s.ReadOnly, CountMin: s.CountMin, CountMax: s.CountMax, MinimumSize: s.MinimumSize, Location: s.Location}
		if s.Transient {
			store.Properties = []string{"transient"}
		}
		info.Meta.Storage[name] = store
	}
	for name, r := range ch.Meta.Resources {
		info.Meta.Resources[name] = params.CharmResourceMeta{Name: r.Name, Type: r.Type, Path: r.Filename, Description: r.Description}
	}
	for name, option := range ch.Config.Options {
		info.Config[name] = params.CharmOption{Type: string(option.Type), Description: option.Description,
			Default: option.Default}
	}
	if ch.Actions != nil && len(ch.Actions.Specs) > 0 {
		specs, err := c.charmActions(ctx, p.URL)
		if err != nil {
			return info, err
		}
		info.Actions = &params.CharmActions{Specs: specs}
	}
	return info, nil
}

func charmRelations(relations map[string]charm.Relation) map[string]params.CharmRelation {
	out := make(map[string]params.CharmRelation, len(relations))
	for name, r := range relations {
		out[name] = params.CharmRelation{
			Name: r.Name, Role: string(r.Role), Interface: r.Interface, Optional: r.Optional, Limit: r.Limit,
			Scope: string(r.Scope),
		}
	}
	return out
}

// serveCharm sends the archive of a charm, with its SHA-256 in a header.
func serveCharm(v *Visitor, w http.ResponseWriter, r *http.Request) error {
	url := r.URL.Query().Get("url")
	if url == "" {
		return entity.Errorf(entity.Invalid, "expected url=CharmURL query argument")
	}
	archive, sum, err := v.Model.Charms().Archive(r.Context(), url)
	if err != nil {
		return err
	}
	defer archive.Close()
	w.Header().Set("Content-Type", "application/zip")
	return v.Send(archive, sum, "charm "+url)
}

// CharmObjectPath is where Juju's Go client uploads a charm: {object} is its name and the first seven digits of the archive's
// SHA-256, NAME-HASH.
const CharmObjectPath = "/charms/{object}"

// serveCharmPut receives the archive of a charm whose URL, in a header, says for which series it is. The revision there is the
// client's wish: the reply has the URL that is assigned to it, also in the header.
func serveCharmPut(v *Visitor, w http.ResponseWriter, r *http.Request) error {
	name, hash, ok := cutLast(r.PathValue("object"), "-")
	if !ok || len(hash) != 7 {
		return entity.Errorf(entity.Invalid, "%q is not a charm's name and the first 7 digits of its SHA-256: NAME-HASH",
			r.PathValue("object"))
	}
	text := r.Header.Get(params.CharmURLHeader)
	if text == "" {
		return entity.Errorf(entity.Invalid, "header %s: expected the charm's URL", params.CharmURLHeader)
	}
	u, err := charm.ParseURL(text)
	if err == nil && u.Schema != "local" {
		err = entity.Errorf(entity.NotSupported, "charm %q is not uploaded: the controller gets it from its store", text)
	}
	if err == nil && u.Name != name {
		err = entity.Errorf(entity.Invalid, "charm %q is uploaded as %q", u.Name, name)
	}
	if err != nil {
		return err
	}
	file, done, err := v.Receive(v.Limits.Charm, "charm archive")
	if err != nil {
		return err
	}
	defer done()
	got, err := entity.SHA256(file)
	if err != nil {
		return err
	}
	if got[:len(hash)] != hash {
		return entity.Errorf(entity.Invalid, "the charm archive has the SHA-256 %s, and not %s…: it has changed on its way",
			got, hash)
	}
	url, err := v.Model.Charms().Add(r.Context(), file.Name(), u.Series)
	if err != nil {
		return err
	}
	w.Header().Set(params.CharmURLHeader, url)
	v.Reply(params.CharmsResponse{CharmURL: url})
	return nil
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// serveCharmUpload receives the archive of a charm and returns the URL assigned to it. The archive is checked on disk,
// because it may be large.
func serveCharmUpload(v *Visitor, _ http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	if schema := query.Get("schema"); schema != "" && schema != "local" {
		return entity.Errorf(entity.NotSupported, "cannot upload a charm with schema %q: only local charms are supported",
			schema)
	}
	series := query.Get("series")
	if series != "" && !charm.IsValidSeries(series) {
		return entity.InvalidSeries(series)
	}
	file, done, err := v.Receive(v.Limits.Charm, "charm archive")
	if err != nil {
		return err
	}
	defer done()
	url, err := v.Model.Charms().Add(r.Context(), file.Name(), series)
	if err != nil {
		return err
	}
	v.Reply(params.CharmsResponse{CharmURL: url})
	return nil
}
