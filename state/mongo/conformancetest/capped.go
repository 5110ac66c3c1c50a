package conformancetest

import (
	"slices"
	"testing"
	"time"

	"gopkg.in/mgo.v2"

	"juju/doc/tools/verify"
)

// capped creates a capped collection that holds at most max documents.
func (s *store) capped(t *testing.T, max int) *mgo.Collection {
	t.Helper()
	c := s.fresh(t)
	must(t, c.Create(&mgo.CollectionInfo{Capped: true, MaxBytes: 1 << 20, MaxDocs: max}))
	return c
}

func testCapped(t *testing.T, s *store) {
	t.Run("by number", func(t *testing.T) {
		c := s.capped(t, 10)
		for i := range 25 {
			must(t, c.Insert(D{{"_id", i}, {"v", i % 3}}))
		}
		want := []int{15, 16, 17, 18, 19, 20, 21, 22, 23, 24}
		if got := ids(t, c.Find(nil)); !slices.Equal(got, want) {
			t.Errorf("holds %v", got)
		}
		if got := ids(t, c.Find(nil).Sort("$natural").Batch(3)); !slices.Equal(got, want) {
			t.Errorf("in natural order: %v", got)
		}
		down := ids(t, c.Find(nil).Sort("-$natural").Batch(3))
		slices.Reverse(down)
		if !slices.Equal(down, want) {
			t.Errorf("in reverse natural order, reversed: %v", down)
		}
		if n, err := c.Count(); n != 10 || err != nil {
			t.Errorf("count is %d, %v", n, err)
		}
		if got := ids(t, c.FindId(14)); len(got) > 0 {
			t.Errorf("an evicted document is found by _id")
		}
		must(t, c.Insert(D{{"_id", 3}})) // its _id is free again
		// The order is insertion order, whatever the _ids are.
		if got := ids(t, c.Find(nil).Sort("-$natural").Limit(2)); !slices.Equal(got, []int{3, 24}) {
			t.Errorf("the last two are %v, want [3 24]", got)
		}
	})
	t.Run("by size", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.Create(&mgo.CollectionInfo{Capped: true, MaxBytes: 64 << 10}))
		pad := make([]byte, 1000)
		for i := range 200 {
			must(t, c.Insert(D{{"_id", i}, {"pad", pad}}))
		}
		got := ids(t, c.Find(nil))
		if len(got) < 40 || len(got) > 66 {
			t.Errorf("64 KiB hold %d documents of 1 kB", len(got))
		}
		for i, id := range got {
			if id != 200-len(got)+i {
				t.Fatalf("holds %v", got)
			}
		}
	})
	t.Run("made again", func(t *testing.T) {
		c := s.capped(t, 10)
		err := c.Create(&mgo.CollectionInfo{Capped: true, MaxBytes: 1 << 21, MaxDocs: 20})
		wantCode(t, err, codeNamespaceExists)
	})
	t.Run("with an index", func(t *testing.T) {
		c := s.capped(t, 5)
		must(t, c.EnsureIndexKey("v"))
		for i := range 12 {
			must(t, c.Insert(D{{"_id", i}, {"v", i % 3}}))
		}
		if got := ids(t, c.Find(D{{"v", 1}}).Sort("_id")); !slices.Equal(got, []int{7, 10}) {
			t.Errorf("by an index: %v, want [7 10]", got)
		}
	})
}

// next is one step of a tail.
type next struct {
	id int
	ok bool
}

// follow reads a tail in a goroutine until the tail ends, or the test does: its session must not
// be closed during a read.
func follow(t *testing.T, iter *mgo.Iter) <-chan next {
	t.Helper()
	steps := make(chan next, 1000)
	go func() {
		defer close(steps)
		for {
			var doc struct {
				ID int `bson:"_id"`
			}
			ok := iter.Next(&doc)
			if !ok && iter.Timeout() {
				continue
			}
			steps <- next{doc.ID, ok}
			if !ok {
				iter.Close()
				return
			}
		}
	}()
	t.Cleanup(func() {
		iter.Close()
		for range steps {
		}
	})
	return steps
}

// step waits for the next document of a tail, or its end.
func step(t *testing.T, steps <-chan next) next {
	t.Helper()
	select {
	case n := <-steps:
		return n
	case <-time.After(verify.Patience):
		t.Fatal("the tail returns nothing")
		return next{}
	}
}

func wantStep(t *testing.T, steps <-chan next, id int) {
	t.Helper()
	if n := step(t, steps); !n.ok || n.id != id {
		t.Fatalf("the tail gave %+v, want document %d", n, id)
	}
}

func testTail(t *testing.T, s *store) {
	// tail opens a tail on its own connection, which is closed when the test ends.
	tail := func(t *testing.T, c *mgo.Collection, query any, timeout time.Duration) *mgo.Iter {
		return s.again(t).db.C(c.Name).Find(query).Sort("$natural").Tail(timeout)
	}
	t.Run("wakes", func(t *testing.T) {
		c := s.capped(t, 100)
		must(t, c.Insert(D{{"_id", 1}}, D{{"_id", 2}}))
		var b batch
		must(t, s.db.Run(D{{"find", c.Name}, {"tailable", true}, {"awaitData", true}}, &b))
		id := b.Cursor.ID
		waiting := s.again(t)
		for n := 3; n <= 8; n++ {
			inserted := make(chan error, 1)
			time.AfterFunc(100*time.Millisecond, func() { inserted <- c.Insert(D{{"_id", n}}) }) // while it waits
			var b batch
			// Only the insert can end this wait within the timeout of the session.
			err := waiting.db.Run(D{{"getMore", id}, {"collection", c.Name}, {"maxTimeMS", 2 * verify.Patience.Milliseconds()}}, &b)
			must(t, <-inserted)
			must(t, err)
			if len(b.Cursor.Next) != 1 || b.Cursor.Next[0].ID != n {
				t.Fatalf("the tail gave %+v, want document %d", b, n)
			}
		}
	})
	t.Run("many inserts", func(t *testing.T) {
		c := s.capped(t, 10000)
		must(t, c.Insert(D{{"_id", 0}}))
		steps := follow(t, tail(t, c, nil, -1))
		n := load(600)
		for i := 1; i <= n; i++ {
			must(t, c.Insert(D{{"_id", i}}))
		}
		for i := range n + 1 {
			wantStep(t, steps, i)
		}
	})
	t.Run("by a query", func(t *testing.T) {
		c := s.capped(t, 100)
		must(t, c.Insert(D{{"_id", 1}, {"k", "a"}}))
		steps := follow(t, tail(t, c, D{{"k", "a"}}, -1))
		wantStep(t, steps, 1)
		must(t, c.Insert(D{{"_id", 2}, {"k", "b"}}, D{{"_id", 3}, {"k", "a"}}))
		wantStep(t, steps, 3)
	})
	t.Run("times out and goes on", func(t *testing.T) {
		c := s.capped(t, 100)
		must(t, c.Insert(D{{"_id", 1}}))
		iter := tail(t, c, nil, 100*time.Millisecond)
		var doc struct {
			ID int `bson:"_id"`
		}
		if !iter.Next(&doc) {
			t.Fatal(iter.Err())
		}
		start := time.Now()
		if iter.Next(&doc) || !iter.Timeout() {
			t.Fatalf("no insert: %v, timeout %v", iter.Err(), iter.Timeout())
		}
		if waited := time.Since(start); waited < 50*time.Millisecond {
			t.Errorf("timed out after %v", waited)
		}
		must(t, c.Insert(D{{"_id", 2}}))
		for !iter.Next(&doc) {
			if !iter.Timeout() {
				t.Fatal(iter.Err())
			}
		}
		if doc.ID != 2 {
			t.Errorf("the next document is %d", doc.ID)
		}
		must(t, iter.Close())
	})
	t.Run("wraps under a tail that keeps up", func(t *testing.T) {
		c := s.capped(t, 10)
		must(t, c.Insert(D{{"_id", 0}}))
		steps := follow(t, tail(t, c, nil, -1))
		wantStep(t, steps, 0)
		for i := 1; i <= 35; i++ {
			must(t, c.Insert(D{{"_id", i}}))
			wantStep(t, steps, i)
		}
	})
	t.Run("is lost when its place is", func(t *testing.T) {
		c := s.capped(t, 10)
		for i := range 10 {
			must(t, c.Insert(D{{"_id", i}}))
		}
		other := s.again(t)
		iter := other.db.C(c.Name).Find(nil).Sort("$natural").Batch(2).Prefetch(0).Tail(-1)
		var doc struct {
			ID int `bson:"_id"`
		}
		for range 2 {
			if !iter.Next(&doc) {
				t.Fatal(iter.Err())
			}
		}
		for i := 10; i < 40; i++ {
			must(t, c.Insert(D{{"_id", i}}))
		}
		// It may have some documents buffered; after them it must end, not continue after a gap
		// as if nothing were missing.
		last := doc.ID
		for iter.Next(&doc) {
			if doc.ID != last+1 {
				t.Fatalf("after %d came %d", last, doc.ID)
			}
			last = doc.ID
		}
		if err := iter.Close(); err == nil {
			t.Errorf("it ended after %d of 39 without an error", last)
		}
	})
	t.Run("of what is empty", func(t *testing.T) {
		// MongoDB immediately ends a tail that finds nothing ("Tailable Cursors" in its manual);
		// waiting, as at any other position, is fine too. Either way a client that tails again
		// sees the first document.
		c := s.capped(t, 10)
		iter := tail(t, c, nil, 200*time.Millisecond)
		var doc struct {
			ID int `bson:"_id"`
		}
		if iter.Next(&doc) {
			t.Fatalf("an empty collection gave %+v", doc)
		}
		ended := !iter.Timeout()
		must(t, c.Insert(D{{"_id", 1}}))
		if ended {
			iter.Close()
			iter = tail(t, c, nil, 5*time.Second)
		}
		for !iter.Next(&doc) {
			if !iter.Timeout() {
				t.Fatalf("the tail ended: %v", iter.Err())
			}
		}
		iter.Close()
	})
	t.Run("ends with its collection", func(t *testing.T) {
		c := s.capped(t, 10)
		must(t, c.Insert(D{{"_id", 1}}))
		steps := follow(t, tail(t, c, nil, -1))
		wantStep(t, steps, 1)
		must(t, c.DropCollection())
		if n := step(t, steps); n.ok {
			t.Errorf("after the drop it gave %+v", n)
		}
	})
	t.Run("ends with its database", func(t *testing.T) {
		other := s.again(t)
		db := other.session.DB(s.db.Name + "-other")
		c := db.C("log")
		must(t, c.Create(&mgo.CollectionInfo{Capped: true, MaxBytes: 1 << 20}))
		must(t, c.Insert(D{{"_id", 1}}))
		steps := follow(t, s.again(t).session.DB(db.Name).C("log").Find(nil).Tail(-1))
		wantStep(t, steps, 1)
		must(t, db.DropDatabase())
		if n := step(t, steps); n.ok {
			t.Errorf("after the drop it gave %+v", n)
		}
	})
	t.Run("ends when it is closed", func(t *testing.T) {
		c := s.capped(t, 10)
		must(t, c.Insert(D{{"_id", 1}}))
		iter := tail(t, c, nil, -1)
		steps := follow(t, iter)
		wantStep(t, steps, 1)
		iter.Close() // while the other goroutine waits in it, on the same connection
		if n := step(t, steps); n.ok {
			t.Errorf("closed, it gave %+v", n)
		}
	})
	t.Run("ends when another kills it", func(t *testing.T) {
		c := s.capped(t, 10)
		must(t, c.Insert(D{{"_id", 1}}))
		var b batch
		must(t, s.db.Run(D{{"find", c.Name}, {"tailable", true}, {"awaitData", true}}, &b))
		if b.Cursor.ID == 0 || len(b.Cursor.First) != 1 {
			t.Fatalf("find gave %+v", b)
		}
		id := b.Cursor.ID
		waiting := s.again(t)
		ended := make(chan error, 1)
		more := func() error {
			var b batch
			err := waiting.db.Run(D{{"getMore", id}, {"collection", c.Name}, {"maxTimeMS", 5000}}, &b)
			if len(b.Cursor.Next) > 0 {
				t.Errorf("killed, it gave %+v", b)
			}
			return err
		}
		go func() { ended <- more() }()
		var killed struct {
			Killed []int64 `bson:"cursorsKilled"`
		}
		must(t, s.db.Run(D{{"killCursors", c.Name}, {"cursors", []int64{id}}}, &killed))
		if len(killed.Killed) != 1 {
			t.Errorf("killed %v", killed.Killed)
		}
		select {
		case err := <-ended:
			// MongoDB 3.6 doesn't interrupt the wait for inserts, only what follows it; the
			// waiting client may then get an empty batch. After that the cursor no longer
			// exists.
			if err == nil {
				err = more()
			}
			// Which one depends on whether it had begun to wait when it was killed.
			wantCode(t, err, codeCursorNotFound, codeCursorKilled, codeInterrupted)
		case <-time.After(verify.Patience):
			t.Error("it still waits after it was killed, although its limit was 5 s")
		}
	})
	t.Run("of a collection that isn't capped", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.Insert(D{{"_id", 1}}))
		iter := tail(t, c, nil, time.Second)
		var doc D
		if iter.Next(&doc) {
			t.Errorf("it gave %v", doc)
		}
		wantCode(t, iter.Close(), codeBadValue)
	})
}
