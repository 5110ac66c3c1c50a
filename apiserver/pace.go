package apiserver

import (
	"errors"
	"net/http"
	"time"
)

// slowest is how many bytes a second a transfer must move once it has lasted UploadTime.
const slowest = 64 << 10

// A pace moves the deadline of a transfer on with the data that is written to it. So a large file takes as long as it
// takes, and a client can't hold a transfer by hardly reading or writing.
type pace struct {
	set   func(time.Time) error // sets the deadline
	until time.Time
	moved int // bytes since the deadline was set
}

// start sets the deadline of a transfer that begins now.
func (s *Server) start(set func(time.Time) error) (*pace, error) {
	p := &pace{set: set, until: time.Now().Add(s.limits.UploadTime)}
	return p, p.apply()
}

func (p *pace) apply() error {
	err := p.set(p.until)
	if errors.Is(err, http.ErrNotSupported) { // in tests
		err = nil
	}
	return err
}

// Write counts data that has been transferred.
func (p *pace) Write(data []byte) (int, error) {
	p.moved += len(data)
	seconds := p.moved / slowest
	if seconds == 0 {
		return len(data), nil
	}
	p.moved -= seconds * slowest
	p.until = p.until.Add(time.Duration(seconds) * time.Second)
	return len(data), p.apply()
}
