package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

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
			content = send.content // the caller closes it
		}
	}
	ctx, moved, cancel := whileMoving(ctx, func() error {
		return entity.Errorf(entity.Unavailable, "nothing was transferred for %v", callTime)
	})
	stop := context.AfterFunc(c.ctx, cancel)
	done := func() {
		stop()
		cancel()
	}
	if content != nil {
		content = io.NopCloser(&movingReader{content, moved})
	}
	ctx = onInformation(ctx, func(textproto.MIMEHeader) { moved() })
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
	return &body{&movingReader{response.Body, moved}, response.Body, done}, nil
}

// A body releases its request's resources when it is closed.
type body struct {
	io.Reader
	closer io.Closer
	done   func()
}

func (b *body) Close() error {
	defer b.done()
	return b.closer.Close()
}

// readError returns the server's error in a response, or nil if there is none.
func readError(response *http.Response) error {
	var e params.CharmsResponse
	if json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&e) != nil || e.Error == "" {
		return nil
	}
	return params.FromError(&params.Error{Message: e.Error, Code: e.ErrorCode, Info: e.ErrorInfo})
}

// whileMoving returns a context that ends, for a reason, when something has stood still for callTime. moved must be called
// while it goes on, and cancel at its end.
func whileMoving(ctx context.Context, late func() error) (_ context.Context, moved, cancel func()) {
	ctx, end := context.WithCancelCause(ctx)
	clock := time.AfterFunc(callTime, func() { end(late()) })
	return ctx, func() { clock.Reset(callTime) }, func() {
		clock.Stop()
		end(context.Canceled)
	}
}

// onInformation makes f be called with the headers of each informational response to a request.
func onInformation(ctx context.Context, f func(textproto.MIMEHeader)) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
		f(header)
		return nil
	}})
}

// A movingReader calls moved when data is read.
type movingReader struct {
	io.Reader
	moved func()
}

func (r *movingReader) Read(p []byte) (n int, err error) {
	if n, err = r.Reader.Read(p); n > 0 {
		r.moved()
	}
	return n, err
}
