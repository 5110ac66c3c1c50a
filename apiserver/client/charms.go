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
