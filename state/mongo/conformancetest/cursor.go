package conformancetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"juju/doc/tools/verify"
)

// batch is the reply to find and getMore.
type batch struct {
	Cursor struct {
		ID    int64 `bson:"id"`
		NS    string
		First []struct {
			ID int `bson:"_id"`
		} `bson:"firstBatch"`
		Next []struct {
			ID int `bson:"_id"`
		} `bson:"nextBatch"`
	}
}

func testCursors(t *testing.T, s *store) {
	c := s.db.C("c")
	n := load(1000)
	bulk := c.Bulk()
	var want []int
	for i := range n {
		bulk.Insert(D{{"_id", i}, {"v", i % 10}, {"pad", strings.Repeat("x", i%50)}})
		want = append(want, i)
	}
	_, err := bulk.Run()
	must(t, err)

	t.Run("batches", func(t *testing.T) {
		for _, size := range []int{0, 2, 7, 100, n, n + 1} {
			q := c.Find(nil).Sort("_id")
			if size > 0 {
				q.Batch(size)
			}
			if got := ids(t, q); !slices.Equal(got, want) {
				t.Errorf("in batches of %d: %d documents, in order: %v", size, len(got), slices.IsSorted(got))
			}
		}
		if got := ids(t, c.Find(D{{"v", 3}}).Batch(4)); len(got) != n/10 {
			t.Errorf("a filter in batches gave %d documents, want %d", len(got), n/10)
		}
	})
	t.Run("large documents", func(t *testing.T) {
		// A batch is limited by its size too: 18 documents of 1 MB need two.
		big := s.fresh(t)
		pad := strings.Repeat("x", 1<<20)
		for i := range 18 {
			must(t, big.Insert(D{{"_id", i}, {"pad", pad}}))
		}
		if got := ids(t, big.Find(nil).Sort("_id").Batch(1000)); len(got) != 18 {
			t.Errorf("got %d documents", len(got))
		}
	})

	find := func(t *testing.T, extra ...D) batch {
		t.Helper()
		cmd := D{{"find", "c"}, {"sort", D{{"_id", 1}}}, {"batchSize", 5}}
		for _, e := range extra {
			cmd = append(cmd, e...)
		}
		var b batch
		must(t, s.db.Run(cmd, &b))
		return b
	}
	more := func(s *store, id int64, size int) (batch, error) {
		var b batch
		cmd := D{{"getMore", id}, {"collection", "c"}}
		if size > 0 {
			cmd = append(cmd, D{{"batchSize", size}}...)
		}
		err := s.db.Run(cmd, &b)
		return b, err
	}
	t.Run("commands", func(t *testing.T) {
		b := find(t)
		if len(b.Cursor.First) != 5 || b.Cursor.ID == 0 || b.Cursor.NS != s.db.Name+".c" {
			t.Fatalf("find gave %+v", b)
		}
		// The cursor belongs to the server: another connection may continue it.
		b, err := more(s.again(t), b.Cursor.ID, 3)
		if err != nil || len(b.Cursor.Next) != 3 || b.Cursor.Next[0].ID != 5 {
			t.Fatalf("getMore gave %+v, %v", b, err)
		}
		b, err = more(s, b.Cursor.ID, 0)
		if err != nil || len(b.Cursor.Next) != n-8 || b.Cursor.ID != 0 {
			t.Errorf("getMore of the rest gave %d, cursor %d, %v", len(b.Cursor.Next), b.Cursor.ID, err)
		}
		b = find(t, D{{"limit", 8}})
		b, err = more(s, b.Cursor.ID, 5)
		if err != nil || len(b.Cursor.Next) != 3 || b.Cursor.ID != 0 {
			t.Errorf("getMore of a limited find gave %d, cursor %d, %v", len(b.Cursor.Next), b.Cursor.ID, err)
		}
		if b = find(t, D{{"singleBatch", true}}); b.Cursor.ID != 0 || len(b.Cursor.First) != 5 {
			t.Errorf("a single batch left cursor %d after %d", b.Cursor.ID, len(b.Cursor.First))
		}
		_, err = more(s, 123456789, 0)
		wantCode(t, err, codeCursorNotFound)
		// With a batch size of 0 the reply is a cursor and no document.
		b = batch{}
		must(t, s.db.Run(D{{"find", "c"}, {"batchSize", 0}}, &b))
		if b.Cursor.ID == 0 || len(b.Cursor.First) != 0 {
			t.Errorf("an empty first batch: %+v", b)
		}
		if _, err := more(s, b.Cursor.ID, 1); err != nil {
			t.Error(err)
		}
		b = batch{}
		must(t, s.db.Run(D{{"listIndexes", "c"}, {"cursor", D{{"batchSize", 1}}}}, &b))
		if b.Cursor.ID != 0 || len(b.Cursor.First) != 1 {
			t.Errorf("a list that fills its first batch: %+v", b)
		}
	})
	t.Run("kill", func(t *testing.T) {
		b := find(t)
		var killed struct {
			Killed   []int64 `bson:"cursorsKilled"`
			NotFound []int64 `bson:"cursorsNotFound"`
		}
		must(t, s.again(t).db.Run(D{{"killCursors", "c"}, {"cursors", []int64{b.Cursor.ID, 42}}}, &killed))
		if !slices.Equal(killed.Killed, []int64{b.Cursor.ID}) || !slices.Equal(killed.NotFound, []int64{42}) {
			t.Errorf("killed %+v", killed)
		}
		_, err := more(s, b.Cursor.ID, 0)
		wantCode(t, err, codeCursorNotFound)
	})
	t.Run("closed early", func(t *testing.T) {
		// mgo sends OP_KILL_CURSORS on any connection that it has, and doesn't wait; so
		// poll until the cursor is gone. A tailable one has no end that polling could reach.
		c := s.capped(t, 100)
		must(t, c.Insert(D{{"_id", 1}}))
		var b batch
		must(t, s.db.Run(D{{"find", c.Name}, {"tailable", true}}, &b))
		iter := c.NewIter(s.again(t).session, nil, b.Cursor.ID, nil)
		must(t, iter.Close())
		deadline := time.Now().Add(verify.Patience)
		for {
			err := s.db.Run(D{{"getMore", b.Cursor.ID}, {"collection", c.Name}}, nil)
			if err != nil {
				wantCode(t, err, codeCursorNotFound)
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the closed cursor is still there")
			}
		}
	})
	t.Run("while documents change", func(t *testing.T) {
		// A document that exists the whole time is seen once, whatever happens
		// concurrently.
		iter := c.Find(D{{"_id", D{{"$lt", n}}}}).Batch(10).Iter()
		seen := map[int]int{}
		var doc struct {
			ID int `bson:"_id"`
		}
		for i := 0; iter.Next(&doc); i++ {
			seen[doc.ID]++
			if i%10 == 0 {
				must(t, c.Insert(D{{"_id", n + i}}))
				must(t, c.UpdateId((i*37)%n, D{{"$set", D{{"pad", strings.Repeat("y", i)}}}}))
				must(t, c.RemoveId(n+i))
			}
		}
		must(t, iter.Close())
		for i := range n {
			if seen[i] != 1 {
				t.Fatalf("document %d was seen %d times", i, seen[i])
			}
		}
	})
	t.Run("under a drop", func(t *testing.T) {
		d := s.fresh(t)
		for i := range 50 {
			must(t, d.Insert(D{{"_id", i}}))
		}
		iter := d.Find(nil).Batch(5).Prefetch(0).Iter()
		var doc D
		if !iter.Next(&doc) {
			t.Fatal(iter.Err())
		}
		must(t, d.DropCollection())
		for iter.Next(&doc) {
		}
		iter.Close() // it may fail, but must return
		must(t, s.session.Ping())
	})
	t.Run("many at once", func(t *testing.T) {
		var open []int64
		for range 100 {
			open = append(open, find(t).Cursor.ID)
		}
		for i, id := range open {
			b, err := more(s, id, 1)
			if err != nil || len(b.Cursor.Next) != 1 || b.Cursor.Next[0].ID != 5 {
				t.Errorf("cursor %d: %+v, %v", i, b, err)
			}
		}
		must(t, s.db.Run(D{{"killCursors", "c"}, {"cursors", open}}, nil))
		if _, err := more(s, open[0], 1); err == nil {
			t.Error("a killed cursor still works")
		}
	})
	t.Run("of another collection", func(t *testing.T) {
		b := find(t)
		err := s.db.Run(D{{"getMore", b.Cursor.ID}, {"collection", "d"}}, nil)
		if err == nil {
			t.Error("a cursor works under another collection's name")
		}
		must(t, s.db.Run(D{{"killCursors", "c"}, {"cursors", []int64{b.Cursor.ID}}}, nil))
	})
}
