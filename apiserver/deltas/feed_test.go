package deltas

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"juju/apiserver/params"
	"juju/apiserver/presence"
	"juju/state/entity"
	"juju/state/statetest"
)

func newFeed() *feed {
	return &feed{id: "feed", owner: New(presence.New(time.Now)), entries: map[entity.PartKey]*list.Element{}, changes: list.New(),
		cursors: map[*cursor]bool{}, stirred: make(chan struct{})}
}

func unit(n int) entity.PartKey {
	return entity.PartKey{Kind: entity.PartUnit, ID: fmt.Sprint("u/", n)}
}

// sets sets a unit to a value.
func (d *feed) sets(n, value int) {
	u := entity.UnitStatus{Name: fmt.Sprint("u/", n), WorkloadVersion: fmt.Sprint(value)}
	d.set(entity.Part{Key: unit(n), Unit: &entity.UnitPart{UnitStatus: u}})
}

// takes returns what a cursor gets, in a few words; "" for nothing.
func (d *feed) takes(ctx context.Context, c *cursor) string {
	if !d.hasNews(c) {
		return ""
	}
	c.taken = make(chan struct{}, 1)
	news, err := d.take(ctx, c)
	if err != nil {
		return err.Error()
	}
	var words []string
	for _, change := range news.Changes {
		if u := change.Part.Unit; change.Removed {
			words = append(words, "-"+u.Name)
		} else {
			words = append(words, u.Name+"="+u.WorkloadVersion)
		}
	}
	return strings.Join(words, " ")
}

// A client gets each part as it is when it takes it, in the order of the last changes, and is told of the end of those
// that it knows, however often they have come and gone meanwhile.
func TestNews(t *testing.T) {
	d := newFeed()
	a, b := &cursor{}, &cursor{}
	d.cursors[a], d.cursors[b] = true, true
	is := func(c *cursor, want string) {
		t.Helper()
		if got := d.takes(t.Context(), c); got != want {
			t.Errorf("it gets %q, want %q", got, want)
		}
	}
	d.sets(1, 1)
	d.sets(2, 1)
	is(a, "u/1=1 u/2=1")
	is(a, "")
	d.sets(1, 1) // as before
	is(a, "")
	d.sets(1, 2)
	d.sets(2, 2)
	d.sets(1, 3)
	is(a, "u/2=2 u/1=3")
	d.remove(unit(1))
	d.sets(3, 1)
	d.remove(unit(3)) // a has not seen it
	is(a, "-u/1")
	d.sets(1, 4)
	d.remove(unit(1)) // nor this one
	is(a, "")
	d.sets(1, 5)
	is(a, "u/1=5")
	is(b, "u/2=2 u/1=5")
	d.remove(unit(1))
	is(a, "-u/1")
	if d.removed == 0 {
		t.Error("a removed part is forgotten before all know of it")
	}
	is(b, "-u/1")
	if d.removed != 0 || len(d.entries) != 1 || d.changes.Len() != 1 {
		t.Errorf("%d removed parts are kept for no one", d.removed)
	}
}

// A client that takes many tasks in several replies is told of the end of a part that it knew before them, even if the part
// came again after the tasks, and only then went for good.
func TestEndsAreToldBetweenReplies(t *testing.T) {
	d := newFeed()
	c := &cursor{}
	d.cursors[c] = true
	takes := func() (n, gone int) {
		changes, next := d.after(c)
		c.whole, c.at = next.whole, next.at
		d.forget()
		for _, change := range changes {
			if change.Removed {
				gone++
			}
		}
		return len(changes), gone
	}
	d.sets(1, 1)
	takes()
	d.remove(unit(1))
	d.sets(2, 1)
	for n := range tasksAtOnce + 1 {
		d.set(entity.Part{Key: entity.PartKey{Kind: entity.PartTask, ID: fmt.Sprint(n)}, Task: &entity.Task{}})
	}
	d.sets(1, 2)
	if n, gone := takes(); n != 1+tasksAtOnce || gone != 0 {
		t.Errorf("the first reply has %d deltas, %d of them ends", n, gone)
	}
	d.remove(unit(1))
	d.remove(unit(2)) // which came with the first reply
	if n, gone := takes(); n != 3 || gone != 2 {
		t.Errorf("the second reply has %d deltas, %d of them ends", n, gone)
	}
	d.sets(1, 3)
	d.remove(unit(1))
	if n, _ := takes(); n != 0 {
		t.Errorf("of what it has not seen, it is told %d times", n)
	}
}

// A feed keeps a bounded number of removed parts. A client that is too far behind to be told of them is ended, and the
// others are not.
func TestACursorTooFarBehindEnds(t *testing.T) {
	d := newFeed()
	slow, quick := &cursor{}, &cursor{}
	d.cursors[slow], d.cursors[quick] = true, true
	for n := range removedKept + 1 {
		d.sets(n, 1)
	}
	d.takes(t.Context(), slow)
	for n := range removedKept + 1 {
		if slow.lost {
			t.Fatalf("ended after %d", n)
		}
		d.remove(unit(n))
		if n%1000 == 0 || n == removedKept {
			d.takes(t.Context(), quick)
		}
	}
	if !slow.lost || quick.lost || d.removed != 0 {
		t.Errorf("slow ended %v, quick ended %v, %d removed parts are kept", slow.lost, quick.lost, d.removed)
	}
}

// A model is followed only while someone watches it; then the next one begins anew.
func TestTheLastCursorEndsTheFeed(t *testing.T) {
	_, st := statetest.Controller(t)
	feeds := New(presence.New(time.Now))
	count := func() int {
		feeds.mu.Lock()
		defer feeds.mu.Unlock()
		return len(feeds.all)
	}
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		first, err := feeds.Watch(ctx, st, params.DeltaModel{UUID: st.UUID()})
		if err != nil {
			t.Fatal(err)
		}
		second, err := feeds.Watch(ctx, st, params.DeltaModel{UUID: st.UUID()})
		if err != nil {
			t.Fatal(err)
		}
		for _, takes := range []<-chan Take{first, second} {
			if news, err := (<-takes)(); err != nil || len(news.Changes) != 1 || news.Changes[0].Part.Model == nil || !news.Whole {
				t.Errorf("first there is %v, %v", news, err)
			}
		}
		if count() != 1 {
			t.Errorf("two cursors have %d feeds", count())
		}
		cancel()
		for range first {
		}
		for range second {
		}
		if count() != 0 {
			t.Error("the feed outlives its cursors")
		}
	}
}

// A client that has lost its connection resumes after the last revision that it got, and is told of what was removed
// meanwhile. If the feed no longer knows that, or has ended, it begins anew.
func TestResumption(t *testing.T) {
	d := newFeed()
	first := &cursor{taken: make(chan struct{}, 1), resumes: true}
	d.cursors[first] = true
	take := func(c *cursor) News {
		t.Helper()
		news, err := d.take(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		<-c.taken
		return news
	}
	d.sets(1, 1)
	d.sets(2, 1)
	then := take(first)
	if !then.Whole || then.Revision == "" {
		t.Fatalf("first there is %+v", then)
	}
	d.remove(unit(1))
	d.sets(2, 2)
	again := func(revision string) News {
		c := &cursor{taken: make(chan struct{}, 1)}
		d.cursors[c] = true
		d.position(c, revision)
		defer delete(d.cursors, c)
		return take(c)
	}
	if news := again(then.Revision); news.Whole || len(news.Changes) != 2 || !news.Changes[0].Removed {
		t.Errorf("after %s there is %+v", then.Revision, news)
	}
	for _, unknown := range []string{"", "x", "other-2", d.id + "-99", d.id + "--1"} {
		if news := again(unknown); !news.Whole || len(news.Changes) != 1 {
			t.Errorf("after %q there is %+v", unknown, news)
		}
	}
	d.resumes = true
	take(first) // it was sent that the unit is removed
	if news := again(then.Revision); news.Whole || len(news.Changes) != 2 {
		t.Errorf("after %s, when what followed was sent in vain, there is %+v", then.Revision, news)
	}
	d.graves[0].at = d.graves[0].at.Add(-awayTime)
	d.forget()
	if news := again(then.Revision); !news.Whole {
		t.Errorf("after a revision that is forgotten there is %+v", news)
	}
}
