package embedded

import (
	"time"

	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/storage"
)

// A tail is the state of a tailable cursor: it reads a capped collection in natural order, and waits at the
// end for new documents.
type tail struct {
	coll    *storage.Collection
	filter  *query.Filter
	started bool
	seen    uint64 // number of the last document read
}

// newTail returns a tail that starts at the oldest document.
func newTail(coll *storage.Collection, filter *query.Filter, order query.Sort) (*tail, error) {
	if !coll.Options().Capped {
		return nil, mongoerr.New(mongoerr.BadValue, "error processing query: tailable cursor requested on non capped collection %s", coll.Namespace())
	}
	if len(order.Fields) > 0 || order.Natural < 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "cannot use tailable option with a sort other than {$natural: 1}")
	}
	first, _, err := coll.Extent()
	return &tail{coll: coll, filter: filter, seen: first - 1}, err
}

// read is fill for a tailable cursor: it reads the new documents up to the current end.
func (t *tail) read(c *conn, cur *cursor, b *batch, n int64) error {
	scan := t.coll.Natural()
	defer scan.Pause()
	scan.SkipTo(t.seen)
	for (n == 0 || int64(len(b.ends)) < n) && len(b.data) < maxBatch && cur.left != 0 && !c.full {
		record, doc, err := scan.Next()
		if err != nil {
			return err
		}
		if doc == nil {
			break
		}
		number := storage.Number(record)
		if t.started && number != t.seen+1 {
			return mongoerr.New(mongoerr.CappedPositionLost,
				"CollectionScan died due to position in capped collection being deleted. Last seen record: %d", t.seen)
		}
		t.started, t.seen = true, number
		if !t.filter.Match(doc) {
			continue
		}
		if cur.skip > 0 {
			cur.skip--
			continue
		}
		if cur.left > 0 {
			cur.left--
		}
		if err := c.room(len(doc)); err != nil {
			return err
		}
		if b.data, err = cur.show.Append(b.data, doc, t.filter.Position()); err != nil {
			return err
		}
		b.ends = append(b.ends, len(b.data))
	}
	if t.coll.Dropped() {
		return mongoerr.New(mongoerr.QueryPlanKilled, "collection %s was dropped", t.coll.Namespace())
	}
	return nil
}

// wait is like read, but waits up to d if there are no new documents.
func (t *tail) wait(c *conn, cur *cursor, b *batch, n int64, d time.Duration) error {
	var timer *time.Timer
	for {
		changed := t.coll.Changed()
		if err := t.read(c, cur, b, n); err != nil || len(b.ends) > 0 || d <= 0 {
			return err
		}
		if timer == nil {
			timer = time.NewTimer(d)
			defer timer.Stop()
		}
		if more, err := cur.waitFor(c, changed, timer.C); !more {
			return err
		}
	}
}
