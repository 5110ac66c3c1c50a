package watcher

import (
	"context"
	"fmt"
	"sync"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
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
}

// Tail follows a source and publishes each document that a transaction changed, until ctx ends. Each time it finds its
// position, at the start and after losing a cursor, it makes all watchers reread everything, so it never needs to know
// what it missed.
//
// open returns a source for Tail's exclusive use. Tail passes the barrier before it publishes
// anything, so no watcher acts on a change that a power loss could undo.
func Tail(ctx context.Context, open func() Source, barrier func(context.Context) error, hub *Hub) {
	const shortest, longest = 10 * time.Millisecond, 5 * time.Second
	pause := shortest
	for ctx.Err() == nil {
		began := time.Now()
		err := tailOnce(ctx, open, barrier, hub)
		if ctx.Err() != nil {
			return
		}
		logger.Infof("following the changes anew: %v", err)
		if time.Since(began) > longest {
			pause = shortest
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longest)
	}
}

// awaitFor limits one wait of the cursor. A mgo session can't be closed while a call uses it, so a tail
// outlives its context until the server notices that the cursor was killed, by at most awaitFor.
const awaitFor = time.Second

func tailOnce(ctx context.Context, open func() Source, barrier func(context.Context) error, hub *Hub) error {
	source := open()
	defer source.DB.Session.Close()
	if source.Log == "" {
		return streamOnce(ctx, source, barrier, hub)
	}
	log := source.DB.C(source.Log)
	// The log may be long; the reset covers its existing entries. Entries written during the count may be
	// reported twice.
	n, err := log.Count()
	if err != nil {
		return fmt.Errorf("cannot count the log: %w", err)
	}
	iter := log.Find(nil).Skip(max(0, n-1)).Tail(awaitFor)
	return follow(ctx, iter, barrier, hub, func(ctx context.Context, entries *queue) error {
		for first := true; ; first = false {
			var entry bson.D
			for iter.Next(&entry) {
				// The log is never empty, so the first reply comes soon. From then on the cursor is positioned
				// and misses nothing.
				entries.add(parse(entry), first)
				first, entry = false, nil
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := iter.Err(); err != nil {
				return fmt.Errorf("cannot follow the log: %w", err)
			}
			if !iter.Timeout() {
				return fmt.Errorf("the cursor is dead")
			}
			if first {
				// The log has lost entries since the count: the cursor is past its end and would miss the next
				// ones.
				return fmt.Errorf("the log has become shorter")
			}
		}
	})
}

// follow calls read, which queues what iter returns until ctx ends or it fails, and publishes what is queued.
func follow(
	ctx context.Context, iter *mgo.Iter, barrier func(context.Context) error, hub *Hub,
	read func(context.Context, *queue) error,
) error {
	var entries queue
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		defer cancel() // unpublished changes are covered by the next reset
		entries.publish(ctx, barrier, hub)
	})
	group.Go(func() {
		<-ctx.Done()
		iter.Close() // unblocks its wait
	})
	defer func() {
		cancel()
		group.Wait()
		iter.Close() // a cursor created meanwhile; its errors were handled
	}()
	return read(ctx, &entries)
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
	mu      sync.Mutex
	changes []Change
	reset   bool
	wake    chan struct{}
}

func (q *queue) add(changes []Change, reset bool) {
	q.mu.Lock()
	q.changes = append(q.changes, changes...)
	q.reset = q.reset || reset
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
		changes, reset := q.changes, q.reset
		q.changes, q.reset = nil, false
		q.mu.Unlock()
		if err := barrier(ctx); err != nil {
			return // the store is closing, or a write failed and the process terminates
		}
		if reset {
			hub.Reset()
		}
		hub.Publish(changes...)
	}
}
