package deltas

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
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
	Changes []Change
	// Whole is set if a client must forget all that it knew: the changes begin with everything.
	Whole bool
	// Revision is what to resume after; "" while not all that had changed by then has been given.
	Revision string

	model params.DeltaModel
}

// A Change is a part of the model as it is now, or as it was when it was removed. It is shared: no one may change it.
type Change struct {
	Part    entity.Part
	Removed bool
}

// Deltas returns what has changed as AllWatcher and the stream of events send it.
func (n News) Deltas() ([]params.Delta, error) {
	all := make([]params.Delta, len(n.Changes))
	for i, c := range n.Changes {
		var err error
		if all[i], err = params.DeltaOf(n.model, c.Part, c.Removed); err != nil {
			return nil, fmt.Errorf("cannot encode %v: %w", c.Part.Key, err)
		}
	}
	return all, nil
}

// How long, and for how many at most, a feed goes on for clients that have gone. As long it knows of each part that was
// removed, even if all clients were sent that: what was sent to one that lost its connection may not have arrived.
const (
	awayTime = time.Minute
	awayMax  = 100
)

// position sets a cursor to a revision, if the feed has all that has changed since.
func (d *feed) position(c *cursor, revision string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resumes = d.resumes || c.resumes
	number, ok := strings.CutPrefix(revision, d.id+"-")
	if n, err := strconv.ParseInt(number, 10, 64); ok && err == nil && n >= d.forgot && n <= d.last {
		c.whole, c.at = n, n
	}
}

// depart removes a cursor: at once, or after a while if its client may come back, so that the feed goes on until then.
func (d *feed) depart(c *cursor) {
	d.mu.Lock()
	stays := c.resumes && !c.lost && !d.ended && d.away < awayMax
	if stays {
		d.away++
		c.at = math.MaxInt64 // nothing is kept for it
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

// removedKept is how many removed parts a feed keeps for cursors that are behind, and for clients that come back.
const removedKept = 10_000

// A grave is that of an entry which was removed with a number. If it came again, its number is another one.
type grave struct {
	*entry
	of int64
	at time.Time
}

// isEmpty reports whether the part came again.
func (g grave) isEmpty() bool { return !g.isGone || g.number != g.of }

// bury records that an entry was removed. The caller holds the lock.
func (d *feed) bury(e *entry) {
	d.graves = append(d.graves, grave{e, e.number, time.Now()})
	if len(d.graves) > 2*max(d.removed, 100) {
		d.graves = slices.DeleteFunc(d.graves, grave.isEmpty)
	}
}

// forget drops the removed parts that all cursors know of, and that no client needs to resume. If too many are left, it ends
// the cursors that are behind. The caller holds the lock.
func (d *feed) forget() {
	for len(d.graves) > 0 {
		oldest := d.last
		for c := range d.cursors {
			if !c.lost {
				oldest = min(oldest, c.at)
			}
		}
		d.clear(oldest)
		if d.removed <= removedKept {
			return
		}
		for c := range d.cursors {
			c.lost = c.lost || c.at == oldest
		}
	}
}

// clear drops removed parts, up to the number oldest.
func (d *feed) clear(oldest int64) {
	for len(d.graves) > 0 {
		g := d.graves[0]
		if !g.isEmpty() {
			needed := d.resumes && d.removed <= removedKept && time.Since(g.at) < awayTime
			if g.of > oldest || needed {
				return
			}
			d.forgot = max(d.forgot, g.of)
			d.changes.Remove(d.entries[g.part.Key])
			delete(d.entries, g.part.Key)
			d.removed--
		}
		d.graves = d.graves[1:]
	}
}
