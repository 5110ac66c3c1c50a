package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"juju/apiserver/params"
	"juju/charm"
	"juju/state/entity"
)

// charmsAddCharm lets Juju's clients have the controller fetch a charm from a hub. Here
// charms are uploaded, so there is nothing to fetch.
func charmsAddCharm(_ context.Context, _ *caller, p params.AddCharmWithOrigin) (params.CharmOriginResult, error) {
	if err := noHub(p.URL); err != nil {
		return params.CharmOriginResult{}, err
	}
	return params.CharmOriginResult{}, entity.Errorf(entity.Invalid, "a local charm is added by uploading it")
}

func charmsCharmInfo(ctx context.Context, c *caller, p params.CharmURL) (params.Charm, error) {
	u, err := charm.ParseURL(p.URL)
	if err != nil {
		return params.Charm{}, err
	}
	ch, err := c.model.Charms().Get(ctx, p.URL)
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
		},
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

// serveCharm sends the archive of a charm, and its SHA-256 in a header.
func serveCharm(s *Server, v *visitor, w http.ResponseWriter, r *http.Request) error {
	url := r.URL.Query().Get("url")
	if url == "" {
		return entity.Errorf(entity.Invalid, "expected url=CharmURL query argument")
	}
	archive, sum, err := v.model.Charms().Archive(r.Context(), url)
	if err != nil {
		return err
	}
	defer archive.Close()
	w.Header().Set("Content-Type", "application/zip")
	return s.send(w, r, v, archive, sum, "charm "+url)
}

// send answers with a file, and its SHA-256 in a header; what names it in the log.
func (s *Server) send(w http.ResponseWriter, r *http.Request, v *visitor, file io.Reader, sum, what string) error {
	if err := s.barrier(r.Context()); err != nil {
		return fmt.Errorf("cannot pass the barrier: %w", err)
	}
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(s.limits.UploadTime)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return err
	}
	w.Header().Set(params.SHA256Header, sum)
	if sized, ok := file.(interface{ Size() int64 }); ok {
		w.Header().Set("Content-Length", strconv.FormatInt(sized.Size(), 10))
	}
	if _, err := io.Copy(w, file); err != nil {
		logger.Warningf("%s@%s: cannot send %s: %v", v.tag, r.RemoteAddr, what, err)
		panic(http.ErrAbortHandler) // a partial file must not look complete
	}
	return nil
}
