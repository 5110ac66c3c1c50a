package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/mongo/mongotest"
)

// A controller has the leases of a store, and a clock.
type controller struct {
	*testing.T
	*lease.Leases
	db       *mongo.Database
	time     *time.Time
	barriers int
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newControllers returns two controllers, whose clocks go alike.
func newControllers(t *testing.T) (a, b *controller) {
	t.Helper()
	_, db := mongotest.Open(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	another := func() *controller {
		c := &controller{T: t, db: db, time: &now}
		c.Leases = lease.New(db, lease.Collection, func(context.Context) error { c.barriers++; return nil },
			func() time.Time { return now })
		return c
	}
	return another(), another()
}

func (c *controller) later(d time.Duration) { *c.time = c.time.Add(d) }

func (c *controller) read(id string) lease.Lease {
	c.Helper()
	l, err := c.Read(c.Context(), id)
	ok(c.T, err)
	return l
}

// left checks how long a lease is held, and by whom.
func (c *controller) left(id, holder string, left time.Duration) {
	c.Helper()
	if l := c.read(id); l.Holder != holder || l.Left != left || l.There != (holder != "") {
		c.Errorf("%s is held by %q for %v (there: %v), want %q for %v", id, l.Holder, l.Left, l.There, holder, left)
	}
}

// swaps checks whether a lease is replaced, and that it is on disk before the caller knows.
func (c *controller) swaps(was lease.Lease, now lease.Doc, want bool) {
	c.Helper()
	before := c.barriers
	got, err := c.Swap(c.Context(), was, now)
	ok(c.T, err)
	if got != want || (c.barriers > before) != want {
		c.Errorf("replaced: %v after %d barriers, want %v", got, c.barriers-before, want)
	}
}

const id = "model#mysql"

func held(holder string, d time.Duration) lease.Doc {
	return lease.Doc{ID: id, Holder: holder, Epoch: 1, Duration: d}
}

// Each controller counts from when it first saw the lease as it is.
func TestTimeIsCountedFromWhenALeaseWasSeen(t *testing.T) {
	t.Parallel()
	a, b := newControllers(t)
	if lease.ID("model", "mysql") != id {
		t.Error(lease.ID("model", "mysql"))
	}
	a.left(id, "", 0)
	a.swaps(a.read(id), held("mysql/0", time.Minute), true)
	a.later(10 * time.Second)
	a.left(id, "mysql/0", 50*time.Second)
	b.left(id, "mysql/0", time.Minute)
	a.later(time.Minute)
	a.left(id, "mysql/0", -10*time.Second)
	b.left(id, "mysql/0", 0)
	b.swaps(b.read(id), b.read(id).Renewed(time.Minute), true)
	a.later(time.Second)
	a.left(id, "mysql/0", time.Minute) // new to it
	b.left(id, "mysql/0", 59*time.Second)
	// A lease that comes back as it was is new once it has been seen to be gone.
	was := a.read(id)
	dropped, err := a.Drop(t.Context(), was)
	if ok(t, err); !dropped {
		t.Error("it was not removed")
	}
	a.later(time.Hour)
	a.swaps(a.read(id), was.Doc, true)
	a.left(id, "mysql/0", time.Minute)
	b.left(id, "mysql/0", 58*time.Second-time.Hour+time.Second)
}

// A lease is replaced or removed only as it was read.
func TestSwap(t *testing.T) {
	t.Parallel()
	a, b := newControllers(t)
	none := a.read(id)
	a.swaps(none, held("mysql/0", time.Minute), true)
	b.swaps(none, held("mysql/1", time.Minute), false)
	was := b.read(id)
	for _, change := range []func(*lease.Lease){func(l *lease.Lease) { l.Holder = "mysql/1" }, func(l *lease.Lease) { l.Epoch = 2 },
		func(l *lease.Lease) { l.Beat = 1 }, func(l *lease.Lease) { l.ID = "model#riak" }} {
		other := was
		change(&other)
		b.swaps(other, held("mysql/1", time.Minute), false)
		if dropped, err := b.Drop(t.Context(), other); dropped || err != nil {
			t.Errorf("%+v was removed, and %+v is there; %v", other.Doc, was.Doc, err)
		}
	}
	b.swaps(was, was.Renewed(time.Hour), true)
	a.swaps(was, was.Released(), false)
	a.left(id, "mysql/0", time.Hour)
	before := a.barriers
	if dropped, err := a.Drop(t.Context(), a.read(id)); !dropped || err != nil || a.barriers == before {
		t.Errorf("removed: %v, %v", dropped, err)
	}
	a.left(id, "", 0)
}

// A renewal never shortens a lease; a release leaves its epoch.
func TestRenewedAndReleased(t *testing.T) {
	t.Parallel()
	l := lease.Lease{Doc: lease.Doc{ID: id, Holder: "mysql/0", Epoch: 3, Beat: 7, Duration: time.Minute}, There: true, Left: 10*time.Second + 1}
	for d, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, time.Second: 10*time.Second + time.Millisecond,
		time.Hour + 1: time.Hour + time.Millisecond} {
		if got := l.Renewed(d); got != (lease.Doc{ID: id, Holder: "mysql/0", Epoch: 3, Beat: 8, Duration: want}) {
			t.Errorf("renewed for %v: %+v", d, got)
		}
	}
	if got := l.Released(); got != (lease.Doc{ID: id, Epoch: 3, Beat: 8}) {
		t.Errorf("released: %+v", got)
	}
	for d, want := range map[time.Duration]time.Duration{0: 0, 1: time.Millisecond, time.Millisecond: time.Millisecond,
		time.Millisecond + 1: 2 * time.Millisecond} {
		if got := lease.WholeMillis(d); got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}

// The leases of a model are those whose ids begin with its own and a "#".
func TestLeasesOfAModel(t *testing.T) {
	t.Parallel()
	a, _ := newControllers(t)
	for _, name := range []string{"model#mysql", "model#riak", "model#", "model", "model2#mysql", "mode#mysql", "model!#x", "model$"} {
		a.swaps(a.read(name), lease.Doc{ID: name, Holder: "x", Duration: time.Minute}, true)
	}
	of := func(model string, want ...string) {
		t.Helper()
		got, err := a.IDs(t.Context(), model)
		ok(t, err)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s has %q, want %q", model, got, want)
		}
	}
	of("model", "model#", "model#mysql", "model#riak")
	before := a.barriers
	if ok(t, a.DropModel(t.Context(), "model")); a.barriers == before {
		t.Error("the removal is not on disk")
	}
	of("model")
	of("model2", "model2#mysql")
	of("mode", "mode#mysql")
	a.left("model#mysql", "", 0)
}

func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	a, _ := newControllers(t)
	a.db.Close(errors.New("away"))
	_, read := a.Read(t.Context(), id)
	_, swap := a.Swap(t.Context(), lease.Lease{Doc: lease.Doc{ID: id}}, held("x", 1))
	_, drop := a.Drop(t.Context(), lease.Lease{Doc: lease.Doc{ID: id}})
	_, ids := a.IDs(t.Context(), "model")
	for i, err := range []error{read, swap, drop, ids, a.DropModel(t.Context(), "model")} {
		if err == nil {
			t.Errorf("call %d succeeded", i)
		}
	}
	if a.barriers > 0 {
		t.Error("what was not written is said to be on disk")
	}
}

// Whoever has the lease with an earlier epoch can't write once a later one is recorded, and does not learn of it otherwise.
func TestFence(t *testing.T) {
	t.Parallel()
	_, db := mongotest.Open(t)
	fence := func(epoch int64) (context.Context, error) { return lease.Fence(t.Context(), db, epoch) }
	write := func(ctx context.Context, name string) error {
		return db.Run(ctx, func(int) ([]txn.Op, error) {
			return []txn.Op{{C: "c", Id: name, Assert: txn.DocMissing, Insert: mongotest.Doc{ID: name}}}, nil
		})
	}
	recorded := func(want int64) {
		t.Helper()
		if got, err := lease.Fenced(t.Context(), db); got != want || err != nil {
			t.Errorf("recorded is %d (%v), want %d", got, err, want)
		}
	}
	recorded(0)
	first, err := fence(3)
	ok(t, err)
	recorded(3)
	again, err := fence(3)
	ok(t, err)
	for i, ctx := range []context.Context{first, again, t.Context()} {
		ok(t, write(ctx, fmt.Sprint("before", i)))
	}
	second, err := fence(5)
	ok(t, err)
	recorded(5)
	for i, ctx := range []context.Context{first, again} {
		if err := write(ctx, fmt.Sprint("after", i)); entity.KindOf(err) != entity.Unavailable || err.Error() != "another controller has taken over this work" {
			t.Errorf("an earlier holder wrote: %v", err)
		}
	}
	ok(t, write(second, "second"))
	if _, err := fence(4); entity.KindOf(err) != entity.Unavailable {
		t.Errorf("an earlier epoch is recorded: %v", err)
	}
	recorded(5)
	// Another takes over while it is recorded.
	mongotest.HooksOf(db).Set(mongotest.TestHook{Before: func() {
		_, err := fence(9)
		ok(t, err)
	}})
	if _, err := fence(7); entity.KindOf(err) != entity.Unavailable {
		t.Errorf("an earlier epoch is recorded: %v", err)
	}
	recorded(9)
}

// What begins in one database under a lease goes on under it in another.
func TestFenceToo(t *testing.T) {
	t.Parallel()
	store, db := mongotest.Open(t)
	ok(t, store.Make(t.Context(), "other", mongo.Schema{LogSize: 1 << 20}))
	other := store.Open("other")
	t.Cleanup(func() { other.Close(errors.New("the test has ended")) })
	ctx, err := lease.FenceToo(t.Context(), other)
	if ok(t, err); ctx != t.Context() {
		t.Error("a context without a fence has got one")
	}
	fenced, err := lease.Fence(t.Context(), db, 4)
	ok(t, err)
	_, err = lease.FenceToo(fenced, other)
	ok(t, err)
	if got, err := lease.Fenced(t.Context(), other); got != 4 || err != nil {
		t.Errorf("recorded is %d, %v", got, err)
	}
	_, err = lease.Fence(t.Context(), other, 5)
	ok(t, err)
	if _, err = lease.FenceToo(fenced, other); entity.KindOf(err) != entity.Unavailable {
		t.Errorf("got %v", err)
	}
}
