package client

import (
	"context"
	"io"
	"net/http"
)

// Backup has the controller make a backup and returns it. The connection must be to the controller's own model, of a
// superuser. The caller closes the backup.
func (c *Conn) Backup(ctx context.Context) (io.ReadCloser, error) {
	return c.transfer(ctx, http.MethodGet, "/backups", nil, nil, nil)
}
