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

// UploadCharm uploads the zip archive of a charm and returns the URL assigned to it, "local:series/name-revision". If
// series is "", the charm's own is used. The error is Invalid if the charm is not valid.
func (c *Conn) UploadCharm(ctx context.Context, archive io.Reader, series string) (string, error) {
	if c.planning.only {
		return c.planning.charm(archive, series)
	}
	query := url.Values{"schema": {"local"}}
	if series != "" {
		query.Set("series", series)
	}
	body, err := c.transfer(ctx, http.MethodPost, "/charms", query, &sent{
		"application/zip", archive, "charm archive", entity.MaxCharm}, nil)
	if err != nil {
		return "", err
	}
	defer body.Close()
	var result params.CharmsResponse
	if err := json.NewDecoder(io.LimitReader(body, 1<<20)).Decode(&result); err != nil {
		return "", entity.Errorf(entity.Unavailable, "cannot read the answer to an upload: %w", err)
	}
	return result.CharmURL, nil
}

// A CharmOrigin says where a charm comes from, or is to come from.
type CharmOrigin = params.CharmOrigin

// A CharmInfo is what a charm of the model is.
type CharmInfo = params.Charm

// ResolveCharm asks the model's store for a charm: for a revision, or the newest in a channel. It returns its URL and origin.
func (c *Conn) ResolveCharm(ctx context.Context, name string, want CharmOrigin) (url string, origin CharmOrigin, err error) {
	var result params.ResolveCharmResults
	err = c.call(ctx, "Charms", 6, "ResolveCharms", params.ResolveCharms{Resolve: []params.ResolveCharm{{Reference: name, Origin: want}}}, &result)
	if err == nil {
		err = isOne(len(result.Results))
	}
	if err != nil {
		return "", origin, err
	}
	r := result.Results[0]
	return r.URL, r.Origin, params.FromError(r.Error)
}

// AddCharm has the model get a charm that ResolveCharm has returned, unless it has it. It does so also where changes are only
// planned: what hooks a charm has is in its archive.
func (c *Conn) AddCharm(ctx context.Context, url string, origin CharmOrigin) (CharmOrigin, error) {
	var result params.CharmOriginResult
	err := c.callNow(ctx, "Charms", 6, "AddCharm", params.AddCharmWithOrigin{URL: url, Origin: origin}, &result)
	if err == nil {
		err = params.FromError(result.Error)
	}
	return result.Origin, err
}

// CharmInfo returns what a charm of the model is.
func (c *Conn) CharmInfo(ctx context.Context, url string) (*CharmInfo, error) {
	info := &CharmInfo{}
	return info, c.call(ctx, "Charms", 6, "CharmInfo", params.CharmURL{URL: url}, info)
}

// CharmArchive opens the zip archive of a charm and returns its SHA-256 in hex. The reader fails when ctx or the
// connection ends, or when it is closed.
func (c *Conn) CharmArchive(ctx context.Context, charmURL string) (archive io.ReadCloser, sha256 string, err error) {
	header := http.Header{}
	archive, err = c.transfer(ctx, http.MethodGet, "/charms", url.Values{"url": {charmURL}}, nil, header)
	return archive, header.Get(params.SHA256Header), err
}

// CharmArchive is Conn.CharmArchive for a unit's agent.
func (f UniterFacade) CharmArchive(ctx context.Context, url string) (archive io.ReadCloser, sha256 string, err error) {
	err = f.Do(ctx, func(c *Conn) error {
		archive, sha256, err = c.CharmArchive(ctx, url)
		return err
	})
	return archive, sha256, err
}
