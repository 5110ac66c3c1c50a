package charmhub

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"juju/state/entity"
	"juju/state/entity/backoff"
)

// stallTime is how long a download may bring nothing.
const stallTime = 30 * time.Second

// pieces is how many times a download is resumed without having brought anything in between.
const pieces = 5

// Fetch downloads a file of a store to w, which is at its beginning, and checks its size and its hashes. If the connection breaks, it
// goes on where it was. On an error w has part of it, or what is not it. limit bounds the bytes. progress, unless nil, is called
// with how many there are.
func (c *Client) Fetch(ctx context.Context, f File, w Target, limit int64, progress func(int64)) error {
	if f.HashSHA256 == "" && f.HashSHA384 == "" {
		return entity.Errorf(entity.Invalid, "the charm store has no hash for %s", plain(f.URL))
	}
	if f.Size > limit {
		return entity.Errorf(entity.Invalid, "%s has %d bytes, the limit is %d", plain(f.URL), f.Size, limit)
	}
	if f.Size > 0 {
		limit = f.Size
	}
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || c.base.Scheme == "https" && u.Scheme != "https" {
		return entity.Errorf(entity.Invalid, "the charm store names a file at %q", plain(f.URL))
	}
	d := &download{c: c, url: f.URL, w: w, limit: limit, progress: progress}
	pause := backoff.New(firstPause, longestPause)
	for failed := 0; ; {
		before := d.at
		err := d.piece(ctx)
		if err == nil {
			break
		}
		var later laterError
		if !errors.As(err, &later) || ctx.Err() != nil {
			return err
		}
		if failed++; d.at > before {
			failed = 0
			pause.Reset()
		}
		if failed == pieces {
			return err
		}
		c.retried(err)
		if err := c.sleep(ctx, min(max(pause.Next(), later.after), longestPause)); err != nil {
			return err
		}
	}
	return d.check(f)
}

// A Target is where a file is downloaded to: it is written, and read again to be checked.
type Target interface {
	io.Writer
	io.ReaderAt
	Truncate(size int64) error
	Seek(offset int64, whence int) (int64, error)
}

type download struct {
	c        *Client
	url      string
	w        Target
	at       int64 // how many bytes there are
	etag     string
	limit    int64
	progress func(int64)
}

// piece downloads what is left. After a laterError, more may follow.
func (d *download) piece(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(stallTime, func() { cancel(fmt.Errorf("%s sends nothing for %v", d.url, stallTime)) })
	defer stall.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "Juju/"+entity.JujuVersion)
	r.Header.Set("Accept-Encoding", "identity") // the hashes are of the file as it is
	if d.at > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.at))
		if d.etag != "" {
			r.Header.Set("If-Range", d.etag)
		}
	}
	reply, err := d.c.http.Do(r)
	if err != nil {
		return laterError{error: unreachable(ctx, d.url, err)}
	}
	defer reply.Body.Close()
	switch code := reply.StatusCode; {
	case code == http.StatusPartialContent && d.at > 0 && strings.HasPrefix(reply.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", d.at)):
	case code == http.StatusOK:
		if err := d.restart(); err != nil {
			return err
		}
		if etag := reply.Header.Get("ETag"); !strings.HasPrefix(etag, "W/") {
			d.etag = etag
		}
	case code == http.StatusNotFound:
		return entity.Errorf(entity.NotFound, "archive not found")
	case code == http.StatusTooManyRequests || code >= 500:
		return laterError{error: fmt.Errorf("unable to locate archive (store API responded with status: %s)", reply.Status)}
	default:
		return fmt.Errorf("unable to locate archive (store API responded with status: %s)", reply.Status)
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := reply.Body.Read(buffer)
		stall.Reset(stallTime)
		if d.at+int64(n) > d.limit {
			return entity.Errorf(entity.Invalid, "%s has more than the %d bytes that it may have", d.url, d.limit)
		}
		if _, werr := d.w.Write(buffer[:n]); werr != nil {
			return werr
		}
		d.at += int64(n)
		if d.progress != nil && n > 0 {
			d.progress(d.at)
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return laterError{error: unreachable(ctx, d.url, err)}
		}
	}
}

// restart drops what there is.
func (d *download) restart() error {
	if d.at == 0 {
		return nil
	}
	d.at, d.etag = 0, ""
	if err := d.w.Truncate(0); err != nil {
		return err
	}
	_, err := d.w.Seek(0, io.SeekStart)
	return err
}

// check compares what was downloaded with what the store has promised.
func (d *download) check(f File) error {
	if f.Size > 0 && d.at != f.Size {
		return entity.Errorf(entity.Invalid, "%s has %d bytes, and not the %d that the charm store says", d.url, d.at, f.Size)
	}
	sums := map[string]hash.Hash{"SHA256": sha256.New(), "SHA384": sha512.New384()}
	if _, err := io.Copy(io.MultiWriter(sums["SHA256"], sums["SHA384"]), io.NewSectionReader(d.w, 0, d.at)); err != nil {
		return err
	}
	for name, want := range map[string]string{"SHA256": f.HashSHA256, "SHA384": f.HashSHA384} {
		if got := hex.EncodeToString(sums[name].Sum(nil)); want != "" && !strings.EqualFold(want, got) {
			return entity.WithHint(entity.Errorf(entity.Invalid, "detected %s hash mismatch", name),
				"%s is not the file that the charm store has promised: %s, and not %s. Nothing of it was used.", d.url, got, plain(want))
		}
	}
	return nil
}
