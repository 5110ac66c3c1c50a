package lxd

import (
	"bytes"
	"io"
)

// A Reporter is told the steps of StartController.
type Reporter interface {
	Say(format string, args ...any)
	Count(done, size int64) // bytes of the current step
}

// ReportTo has the steps of StartController reported. It is for a Cloud of which nothing else is asked meanwhile.
func (c *Cloud) ReportTo(r Reporter) { c.reporter = r }

func (c *Cloud) say(format string, args ...any) {
	if c.reporter != nil {
		c.reporter.Say(format, args...)
	}
}

// reported returns the body of a request, whose progress is reported if it is large.
func (c *Cloud) reported(body io.Reader) io.Reader {
	content, ok := body.(*bytes.Reader)
	if !ok || c.reporter == nil || content.Len() < 1<<20 {
		return body
	}
	return &countedBody{content: content, size: content.Size(), seen: c.reporter.Count}
}

// A countedBody says how much of it was read. It can be read again, as http.Client does after a lost connection.
type countedBody struct {
	content *bytes.Reader
	size    int64
	seen    func(done, size int64)
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	b.seen(b.size-int64(b.content.Len()), b.size)
	return n, err
}

func (b *countedBody) again() (io.ReadCloser, error) {
	_, err := b.content.Seek(0, io.SeekStart)
	return io.NopCloser(b), err
}
