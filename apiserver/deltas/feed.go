package deltas

import (
	"container/list"
	"context"
	"errors"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/juju/loggo"

	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/state"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.apiserver.deltas")

// Feeds has the feeds of the models that someone watches.
type Feeds struct {
	presence *presence.Recorder

	mu  sync.Mutex
	all map[string]*feed // by the model's UUID
}

// New returns Feeds in which agents are lost when presence says so.
func New(presence *presence.Recorder) *Feeds {
	return &Feeds{presence: presence, all: map[string]*feed{}}
}

// pauses bound how long a feed waits after a reading, so that changes come together. It waits as long as the reading
// took, so that it is busy for at most half of the time.
const shortestPause, longestPause = 5 * time.Millisecond, time.Second

// A feed is the parts of a model.
type feed struct {
	id    string // random; feeds of a model after each other differ
	owner *Feeds
	model params.DeltaModel
	st    *state.State
	live  *state.Live

	ready  chan struct{} // closed once it has begun
	failed error         // why it did not begin

	mu      sync.Mutex
	last    int64 // the number of the last change
	entries map[entity.PartKey]*list.Element
	changes *list.List // of *entry, the one that changed last first
	removed int        // how many entries are removed
	graves  []grave    // of all of them, in order
	forgot  int64      // the highest number of a removed entry that has been dropped
	away    int        // how many cursors are without a client
	resumes bool       // clients may come back
	cursors map[*cursor]bool
	stirred chan struct{} // closed with the next change
	ended   bool
	end     context.CancelFunc
}

// An entry is a part of the model, or one that was removed.
type entry struct {
	number int64       // of its last change
	steps  []int64     // the numbers at which it came, went, came again, …: see isKnownBy
	part   entity.Part // as it is, or was last; readers share it, and no one changes it
	isGone bool
}

// stepsKept limits the steps of an entry.
const stepsKept = 32

// step records that the part came or went. Without the oldest steps, a cursor that is behind them may be told of an end
// twice.
func (e *entry) step(number int64) {
	if e.steps = append(e.steps, number); len(e.steps) > stepsKept {
		e.steps = e.steps[2:]
	}
}

// isKnownBy reports whether a cursor's client knows the part: it may, if the part was there at any time between the numbers
// of the cursor.
func (e *entry) isKnownBy(c *cursor) bool {
	known := false
	for _, step := range e.steps {
		if step <= c.whole {
			known = !known
		} else if step <= c.at {
			known = true // it came, or went after it was known
		}
	}
	return known
}

// isNewsFor reports whether such a client has to be told of the entry.
func (e *entry) isNewsFor(c *cursor) bool {
	return e.number > c.at && (!e.isGone || e.isKnownBy(c))
}

// Watch returns a channel that has a value when something in a model has changed after what the values before it gave,
// beginning with everything that there is. It is closed when ctx or the model ends, or when the reader is too far behind.
// The reader must call each value that it receives.
func (f *Feeds) Watch(ctx context.Context, st *state.State, model params.DeltaModel) (<-chan Take, error) {
	return f.watch(ctx, st, model, &cursor{taken: make(chan struct{}, 1)}, "")
}

// Resume is Watch from a revision on, as News gave it. If that is unknown, or too long ago, it begins with everything. The
// feed remembers clients that have gone for a while, so that they can resume.
func (f *Feeds) Resume(ctx context.Context, st *state.State, model params.DeltaModel,
	revision string) (<-chan Take, error) {
	return f.watch(ctx, st, model, &cursor{taken: make(chan struct{}, 1), resumes: true}, revision)
}

func (f *Feeds) watch(ctx context.Context, st *state.State, model params.DeltaModel, c *cursor,
	revision string) (<-chan Take, error) {
	d, first := f.join(st, model, c)
	if first {
		d.begin()
	}
	select {
	case <-d.ready:
	case <-ctx.Done():
		d.leave(c)
		return nil, context.Cause(ctx)
	}
	if d.failed != nil {
		d.leave(c)
		return nil, d.failed
	}
	d.position(c, revision)
	out := make(chan Take)
	go func() {
		defer close(out)
		defer d.depart(c)
		d.offer(ctx, c, out)
	}()
	return out, nil
}

// join adds a cursor to the feed of a model. first means that the caller must begin the feed.
func (f *Feeds) join(st *state.State, model params.DeltaModel, c *cursor) (d *feed, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d = f.all[model.UUID]
	if d == nil {
		first = true
		d = &feed{id: uuid.NewString(), owner: f, model: model, st: st, ready: make(chan struct{}), entries: map[entity.PartKey]*list.Element{},
			changes: list.New(), cursors: map[*cursor]bool{}, stirred: make(chan struct{})}
		f.all[model.UUID] = d
	}
	d.mu.Lock()
	d.cursors[c] = true
	d.mu.Unlock()
	return d, first
}

// leave removes a cursor, and ends the feed after the last one.
func (d *feed) leave(c *cursor) {
	d.owner.mu.Lock()
	defer d.owner.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.cursors, c)
	d.forget()
	if len(d.cursors) > 0 {
		return
	}
	d.retire()
	if d.end != nil {
		d.end()
	}
}

// retire lets those who come later begin another feed. The caller holds the lock of Feeds.
func (d *feed) retire() {
	if d.owner.all[d.model.UUID] == d {
		delete(d.owner.all, d.model.UUID)
	}
}

// begin reads the model, and starts to follow it until the last cursor has left or the model ends.
func (d *feed) begin() {
	defer close(d.ready)
	if d.failed = d.start(); d.failed != nil {
		d.owner.mu.Lock()
		defer d.owner.mu.Unlock()
		d.retire()
	}
}

func (d *feed) start() error {
	ctx, end := context.WithCancel(context.Background()) // not that of who came first: others wait for it too
	live, keys, err := d.st.Watches().Live(ctx)
	if err != nil {
		end()
		return err
	}
	agents := d.owner.presence.Watch(ctx, d.model.UUID, nil)
	d.live = live
	if err := d.apply(ctx, keys); err != nil {
		end()
		live.Close()
		return err
	}
	d.mu.Lock()
	d.end = end
	d.mu.Unlock()
	go func() {
		defer d.stop()
		defer end()
		defer live.Close()
		if err := d.follow(ctx, agents); err != nil && ctx.Err() == nil {
			logger.Warningf("a watch of everything in model %q has ended: %v", d.st.Name(), err)
		}
	}()
	return nil
}

// stop ends all cursors.
func (d *feed) stop() {
	d.owner.mu.Lock()
	defer d.owner.mu.Unlock()
	d.retire()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.stir()
}

// follow applies changes until ctx or the model ends.
func (d *feed) follow(ctx context.Context, agents <-chan struct{}) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		var keys []entity.PartKey
		var err error
		began := time.Now()
		select {
		case <-ctx.Done():
			return nil
		case <-d.live.Done():
			return nil
		case <-d.live.Wake():
			began = time.Now()
			if keys, err = d.live.Update(ctx); err != nil {
				return err
			}
		case _, open := <-agents:
			if !open {
				return nil
			}
			keys = d.agents()
		}
		if err := d.apply(ctx, keys); err != nil {
			return err
		}
		pause.Reset(min(max(time.Since(began), shortestPause), longestPause))
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
	}
}

// agents returns the parts that have an agent.
func (d *feed) agents() (keys []entity.PartKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.entries {
		if key.Kind == entity.PartMachine || key.Kind == entity.PartUnit {
			keys = append(keys, key)
		}
	}
	return keys
}

// apply compares parts with their entries, and numbers those that differ. If a damaged document makes it panic, that ends
// this feed, and not the controller.
func (d *feed) apply(ctx context.Context, keys []entity.PartKey) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logger.Criticalf("a watch of everything in model %s: panic: %v\n%s", d.model.UUID, p, debug.Stack())
			err = errors.New("panic")
		}
	}()
	parts := make([]entity.Part, 0, len(keys))
	var gone []entity.PartKey
	for _, key := range keys {
		if p, exists := d.live.Part(ctx, key); exists {
			parts = append(parts, p)
		} else {
			gone = append(gone, key)
		}
	}
	if err := d.mark(ctx, parts); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.last
	for _, p := range parts {
		d.set(p)
	}
	for _, key := range gone {
		d.remove(key)
	}
	if d.last != before {
		d.forget()
		d.stir()
	}
	return nil
}

// stir wakes all cursors. The caller holds the lock.
func (d *feed) stir() {
	close(d.stirred)
	d.stirred = make(chan struct{})
}

func (d *feed) set(p entity.Part) {
	at := d.entries[p.Key]
	if at == nil {
		d.last++
		d.entries[p.Key] = d.changes.PushFront(&entry{number: d.last, steps: []int64{d.last}, part: p})
		return
	}
	e := at.Value.(*entry)
	if !e.isGone && reflect.DeepEqual(e.part, p) {
		return
	}
	d.last++
	if e.isGone {
		d.removed--
		e.step(d.last)
	}
	e.part, e.isGone, e.number = p, false, d.last
	d.changes.MoveToFront(at)
}

func (d *feed) remove(key entity.PartKey) {
	at := d.entries[key]
	if at == nil || at.Value.(*entry).isGone {
		return
	}
	e := at.Value.(*entry)
	d.last++
	e.isGone, e.number = true, d.last
	e.step(d.last)
	d.changes.MoveToFront(at)
	d.removed++
	d.bury(e)
}

// offer sends a cursor's client what has changed, whenever something has.
func (d *feed) offer(ctx context.Context, c *cursor, out chan<- Take) {
	for {
		d.mu.Lock()
		stirred, over := d.stirred, d.ended || c.lost
		var send chan<- Take
		if d.hasNews(c) {
			send = out
		}
		d.mu.Unlock()
		if over {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-stirred:
			continue
		case send <- func() (News, error) { return d.take(ctx, c) }:
		}
		select {
		case <-ctx.Done():
			return
		case <-c.taken:
		}
	}
}

// hasNews reports whether there is something to tell a cursor's client. If all that came after it has gone again, it moves
// the cursor. The caller holds the lock.
func (d *feed) hasNews(c *cursor) bool {
	for at := d.changes.Front(); at != nil && at.Value.(*entry).number > c.at; at = at.Next() {
		if at.Value.(*entry).isNewsFor(c) {
			return true
		}
	}
	c.whole, c.at = d.last, d.last
	return false
}

// tasksAtOnce limits how many tasks one reply has, because a task can be large.
const tasksAtOnce = 100

// take returns what has changed after the cursor, in order, and moves it.
func (d *feed) take(ctx context.Context, c *cursor) (News, error) {
	defer func() { c.taken <- struct{}{} }()
	changes, next := d.after(c)
	if err := d.fill(ctx, changes); err != nil {
		return News{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	news := News{Changes: changes, Whole: c.at == 0, model: d.model}
	if next.whole == next.at {
		news.Revision = d.id + "-" + strconv.FormatInt(next.at, 10)
	}
	c.whole, c.at = next.whole, next.at
	d.forget()
	return news, nil
}

// after returns the changes for a cursor, in order, and where it is after them. Tasks have only what the feed knows of them.
func (d *feed) after(c *cursor) (changes []Change, next cursor) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var news []*entry
	for e := d.changes.Front(); e != nil && e.Value.(*entry).number > c.at; e = e.Next() {
		news = append(news, e.Value.(*entry))
	}
	next = cursor{whole: d.last, at: d.last}
	reached, tasks := c.at, 0
	for _, e := range slices.Backward(news) {
		if tasks == tasksAtOnce {
			next.whole, next.at = c.whole, reached
			break
		}
		reached = e.number
		if !e.isNewsFor(c) {
			continue
		}
		if e.part.Task != nil && !e.isGone {
			tasks++
		}
		changes = append(changes, Change{e.part, e.isGone})
	}
	return changes, next
}
