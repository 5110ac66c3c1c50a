package watcher

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/juju/loggo"
	"go.opentelemetry.io/otel/trace"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity/backoff"
	"juju/state/mongo/cursor"
)

// A Tailer follows the log of one database while its hub has subscriptions.
type Tailer struct {
	hub    *Hub
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// Follow returns the hub of a database. tail publishes to it until ctx ends, and runs while the hub has
// subscriptions.
func Follow(tail func(ctx context.Context, hub *Hub)) (*Hub, *Tailer) {
	t := &Tailer{}
	t.hub = NewHub(func(wanted bool) {
		if !wanted {
			t.cancel()
			return
		}
		var ctx context.Context
		ctx, t.cancel = context.WithCancel(context.Background())
		t.group.Go(func() { tail(ctx, t.hub) })
	})
	return t.hub, t
}

// End ends all watches, and returns once the tailer has stopped following the log.
func (t *Tailer) End() {
	t.hub.Close()
	t.group.Wait()
}

// A Source announces the changes of a database.
type Source struct {
	DB  *mgo.Database // on a session of its own, which is closed afterwards
	Log string        // the capped log of mgo/txn's transactions; if "", the server's change stream is followed
	// Ignored is a field that transactions change in documents that they only assert.
	Ignored string
	// Delivered, if not nil, is told how long before its watchers heard of it the oldest of some changes was made. The log
	// of mgo/txn does not say when that was.
	Delivered func(age time.Duration)
	// Span, if not nil, returns the span of a transaction of the server by its session's UUID and its number. It is not valid
	// if it is not known.
	Span func(session []byte, number int64) trace.SpanContext
}

// spans returns the spans of the transaction of an event for its changes; nil if they have none.
func (s Source) spans(e *event, changes []Change) map[Change]trace.SpanContext {
	if s.Span == nil || len(e.Session.ID.Data) == 0 || len(changes) == 0 {
		return nil
	}
	span := s.Span(e.Session.ID.Data, e.Number)
	if !span.IsValid() {
		return nil
	}
	return map[Change]trace.SpanContext{changes[0]: span} // an event has one
}

// Tail follows a source and publishes each document that a transaction changed, until ctx ends. Each time it finds its
// position, at the start and after losing a cursor, it makes all watchers reread everything, so it never needs to know
// what it missed.
//
// open returns a source for Tail's exclusive use. Tail passes the barrier before it publishes
// anything, so no watcher acts on a change that a power loss could undo.
func Tail(ctx context.Context, open func() Source, barrier func(context.Context) error, hub *Hub) {
	const shortest, longest = 10 * time.Millisecond, 5 * time.Second
	pauses, fresh := backoff.New(shortest, longest), true
	for ctx.Err() == nil {
		began := time.Now()
		err := tailOnce(ctx, open, barrier, hub)
		if ctx.Err() != nil {
			return
		}
		hub.Lost()
		if time.Since(began) > longest {
			pauses.Reset()
			fresh = true
		}
		level := loggo.INFO
		if !fresh {
			level = loggo.DEBUG // the store is away, and has been
		}
		logger.Logf(level, "following the changes anew: %v", err)
		fresh = false
		if pauses.Sleep(ctx) != nil {
			return
		}
	}
}

// awaitFor limits one wait of the cursor. A mgo session can't be closed while a call uses it, so a tail
// outlives its context until the server notices that the cursor was killed, by at most awaitFor.
const awaitFor = time.Second

func tailOnce(ctx context.Context, open func() Source, barrier func(context.Context) error, hub *Hub) error {
	source := open()
	defer source.DB.Session.Close()
	if source.Log == "" {
		return follow(ctx, source, openStream(source.DB, source.Span != nil), barrier, hub, func(entry bson.Raw) news {
			var e event
			if err := entry.Unmarshal(&e); err != nil {
				return news{reset: true}
			}
			changes := e.changes(source.Ignored)
			return news{changes, e.ofCollection(), e.at(), source.spans(&e, changes)}
		})
	}
	log := source.DB.C(source.Log)
	// The log may be long; the reset covers its existing entries. Entries written during the count may be
	// reported twice.
	n, err := log.Count()
	if err != nil {
		return fmt.Errorf("cannot count the log: %w", err)
	}
	entries := cursor.Find(log, nil).Skip(max(0, n-1)).Tail(awaitFor)
	var last bson.Raw
	if !entries.Next(&last) && entries.Open() {
		// The log is never empty, and has lost entries since the count: the cursor is past its end and would miss the
		// next ones.
		return errors.New("the log has become shorter")
	}
	return follow(ctx, source, entries, barrier, hub, func(entry bson.Raw) news {
		var e bson.D
		if err := entry.Unmarshal(&e); err != nil {
			return news{reset: true}
		}
		return news{changes: parse(e)}
	})
}

// news is what entries say.
type news struct {
	changes []Change
	reset   bool                         // everything must be reread
	since   time.Time                    // when the first of the changes was made; zero if that is not known
	spans   map[Change]trace.SpanContext // of the transactions that made them, as far as they are known
}

// add adds what later entries say.
func (n *news) add(more news) {
	if len(n.changes) == 0 {
		n.since = more.since
	}
	n.changes, n.reset = append(n.changes, more.changes...), n.reset || more.reset
	if n.spans == nil {
		n.spans = more.spans
	} else {
		maps.Copy(n.spans, more.spans)
	}
}

// follow publishes the entries that the cursor returns until ctx ends, or it fails. parse returns what an entry says.
func follow(
	ctx context.Context, source Source, entries *cursor.Cursor, barrier func(context.Context) error, hub *Hub,
	parse func(bson.Raw) news,
) error {
	q := queue{delivered: source.Delivered}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	ended := make(chan struct{})
	group.Go(func() {
		defer cancel() // unpublished changes are covered by the next reset
		q.publish(ctx, barrier, hub)
	})
	group.Go(func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
		}
		session := source.DB.Session.Copy()
		defer session.Close()
		if err := entries.Kill(source.DB.With(session)); err != nil {
			logger.Debugf("cannot end a cursor: %v", err) // its wait ends after awaitFor
		}
	})
	defer func() {
		cancel()
		close(ended)
		group.Wait()
	}()
	q.add(news{reset: true}) // the cursor is positioned, and misses nothing from now on
	for ctx.Err() == nil {
		var entry bson.Raw
		var together news
		for ctx.Err() == nil && entries.Next(&entry) {
			together.add(parse(entry))
			// A transaction has an entry for each document in a change stream. Who is told of one must not read copies from
			// before of the others.
			if entries.Buffered() == 0 {
				q.add(together)
				together = news{}
			}
		}
		if err := entries.Err(); err != nil && ctx.Err() == nil {
			return fmt.Errorf("cannot follow the changes: %w", err)
		}
		if !entries.Open() {
			return errors.New("the cursor is dead")
		}
	}
	return ctx.Err()
}

// parse parses an entry: {_id: txn id, collection: {d: [ids], r: [revnos]}, …}. No one watches documents
// whose ids aren't strings, so it skips those, whatever their type.
func parse(entry bson.D) []Change {
	var changes []Change
	for _, e := range entry {
		docs, ok := e.Value.(bson.D)
		if !ok {
			continue
		}
		for _, field := range docs {
			if field.Name != "d" {
				continue
			}
			ids, _ := field.Value.([]any)
			for _, id := range ids {
				if s, ok := id.(string); ok {
					changes = append(changes, Change{Collection: e.Name, ID: s})
				}
			}
		}
	}
	return changes
}

// A queue decouples reading entries from publishing them, so that one barrier serves all entries read during
// the previous one.
type queue struct {
	delivered func(age time.Duration) // see Source

	mu      sync.Mutex
	waiting news
	wake    chan struct{}
}

func (q *queue) add(more news) {
	q.mu.Lock()
	q.waiting.add(more)
	wake := q.waker()
	q.mu.Unlock()
	select {
	case wake <- struct{}{}:
	default:
	}
}

// waker returns the channel, created on first use. The caller holds mu.
func (q *queue) waker() chan struct{} {
	if q.wake == nil {
		q.wake = make(chan struct{}, 1)
	}
	return q.wake
}

func (q *queue) publish(ctx context.Context, barrier func(context.Context) error, hub *Hub) {
	q.mu.Lock()
	wake := q.waker()
	q.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
		q.mu.Lock()
		now := q.waiting
		q.waiting = news{}
		q.mu.Unlock()
		if err := barrier(ctx); err != nil {
			return // the store is closing, or a write failed and the process terminates
		}
		if now.reset {
			hub.Reset()
		}
		hub.publish(now.spans, now.changes...)
		if q.delivered != nil && len(now.changes) > 0 && !now.since.IsZero() {
			q.delivered(max(0, time.Since(now.since))) // two clocks may differ
		}
	}
}
