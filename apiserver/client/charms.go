package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// transferTime limits how long the transfer of an archive may take.
const transferTime = 10 * time.Minute

// UploadCharm uploads the zip archive of a charm and returns the URL assigned to it, "local:series/name-revision". If
// series is "", the charm's own is used. The error is Invalid if the charm is not valid.
func (c *Conn) UploadCharm(ctx context.Context, archive io.Reader, series string) (string, error) {
	if c.planning.only {
		return c.planning.upload(archive, series)
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

// sent is the body of a request.
type sent struct {
	kind    string // the MIME type
	content io.Reader
	what    string // its name in errors
	limit   int64  // the controller's limit, in bytes
}

// size returns the number of bytes left to read, or -1 if it is unknown, as for a pipe.
func (s *sent) size() int64 {
	seeker, ok := s.content.(io.Seeker)
	if !ok {
		return -1
	}
	at, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return -1
	}
	end, err := seeker.Seek(0, io.SeekEnd)
	if _, back := seeker.Seek(at, io.SeekStart); err != nil || back != nil {
		return -1
	}
	return end - at
}

// transfer makes an HTTP request below the path of the connection's model. It returns the body of a successful
// response, and copies the response's headers to header.
func (c *Conn) transfer(
	ctx context.Context, method, path string, query url.Values, send *sent, header http.Header,
) (io.ReadCloser, error) {
	return c.fetch(ctx, method, c.dialer.modelPath(path)+"?"+query.Encode(), send, header)
}

// fetch is transfer for any path of the controller.
func (c *Conn) fetch(
	ctx context.Context, method, path string, send *sent, header http.Header,
) (io.ReadCloser, error) {
	var content io.Reader
	length := int64(0)
	if send != nil {
		// Reject content that is too large before sending any of it.
		if length = send.size(); length > send.limit {
			return nil, entity.TooLarge(send.what, send.limit)
		}
		if length != 0 {
			content = io.NopCloser(send.content) // the caller closes it
		}
	}
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	stop := context.AfterFunc(c.ctx, cancel)
	done := func() {
		stop()
		cancel()
	}
	target := "http" + c.dialer.scheme + "://" + c.dialer.address + path
	req, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		done()
		return nil, fmt.Errorf("cannot make a request: %w", err)
	}
	c.dialer.authorise(req.Header)
	if send != nil {
		req.Header.Set("Content-Type", send.kind)
		req.ContentLength = length
	}
	response, err := c.http.Do(req)
	if err != nil {
		done()
		if c.ctx.Err() != nil {
			return nil, lost(c.Err())
		}
		return nil, entity.Errorf(entity.Unavailable, "cannot reach the controller: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		defer done()
		defer response.Body.Close()
		if err := readError(response); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the controller responded with %s", response.Status)
	}
	for key, values := range response.Header {
		if header != nil {
			header[key] = values
		}
	}
	return &body{response.Body, done}, nil
}

// A body releases its request's resources when it is closed.
type body struct {
	io.ReadCloser
	done func()
}

func (b *body) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// readError returns the server's error in a response, or nil if there is none.
func readError(response *http.Response) error {
	var e params.CharmsResponse
	if json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&e) != nil || e.Error == "" {
		return nil
	}
	return params.FromError(&params.Error{Message: e.Error, Code: e.ErrorCode, Info: e.ErrorInfo})
}
