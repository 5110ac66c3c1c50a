package client

import (
	"context"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"

	"juju/apiserver/params"
)

// Backup has the controller make a backup and returns it. The connection must be to the controller's own model, of a
// superuser. One that will not be encrypted is plain, and lacks the key of secrets. progress is called now and then with the bytes
// that the backup has so far. The caller closes the backup.
func (c *Conn) Backup(ctx context.Context, plain bool, progress func(bytes int64)) (io.ReadCloser, error) {
	query := url.Values{}
	if plain {
		query.Set(params.PlainBackup, "true")
	}
	ctx = onInformation(ctx, func(header textproto.MIMEHeader) {
		if bytes, err := strconv.ParseInt(header.Get(params.ProgressHeader), 10, 64); err == nil {
			progress(bytes)
		}
	})
	return c.transfer(ctx, http.MethodGet, "/backups", query, nil, nil)
}
