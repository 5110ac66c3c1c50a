package deltas

import (
	"strconv"
	"strings"
	"time"

	"juju/apiserver/params"
)

// A cursor is how far a client has come. It knows each part as it was at a number from whole to at: these differ while it
// takes what has changed in several replies, because a part that has changed again meanwhile comes in a later one.
type cursor struct {
	whole, at int64
	taken     chan struct{} // receives after each Take
	lost      bool          // it is too far behind
	resumes   bool          // its client may come back
}

// A Take returns what has changed, and regards it as known.
type Take func() (News, error)

// News is what has changed.
type News struct {
	Deltas []params.Delta
	// Whole is set if a client must forget all that it knew: the deltas begin with everything.
	Whole bool
	// Revision is what to resume after; "" while not all that had changed by then has been given.
	Revision string
}

// How long, and for how many at most, a feed remembers how far clients were that have gone.
const (
	awayTime = time.Minute
	awayMax  = 100
)

// position sets a cursor to a revision, if the feed has all that has changed since.
func (d *feed) position(c *cursor, revision string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	number, ok := strings.CutPrefix(revision, d.id+"-")
	if n, err := strconv.ParseInt(number, 10, 64); ok && err == nil && n >= d.forgot && n <= d.last {
		c.whole, c.at = n, n
	}
}

// depart removes a cursor: at once, or after a while if its client may come back.
func (d *feed) depart(c *cursor) {
	d.mu.Lock()
	stays := c.resumes && !c.lost && !d.ended && d.away < awayMax
	if stays {
		d.away++
	}
	d.mu.Unlock()
	if !stays {
		d.leave(c)
		return
	}
	time.AfterFunc(awayTime, func() {
		d.mu.Lock()
		d.away--
		d.mu.Unlock()
		d.leave(c)
	})
}
