package conformancetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

func testBulk(t *testing.T, s *store) {
	seed := func(t *testing.T) *mgo.Collection {
		c := s.fresh(t)
		must(t, c.Insert(D{{"_id", 3}}))
		return c
	}
	insert := func(c *mgo.Collection) *mgo.Bulk {
		b := c.Bulk()
		for i := 1; i <= 5; i++ {
			b.Insert(D{{"_id", i}})
		}
		return b
	}
	t.Run("ordered", func(t *testing.T) {
		c := seed(t)
		_, err := insert(c).Run()
		if !mgo.IsDup(err) {
			t.Errorf("%v, want a duplicate", err)
		}
		if got := ids(t, c.Find(nil).Sort("_id")); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("it stopped with %v", got)
		}
	})
	t.Run("unordered", func(t *testing.T) {
		c := seed(t)
		b := insert(c)
		b.Insert(D{{"_id", 3}, {"again", true}})
		b.Unordered()
		_, err := b.Run()
		if !mgo.IsDup(err) {
			t.Errorf("%v, want a duplicate", err)
		}
		if got := ids(t, c.Find(nil).Sort("_id")); !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
			t.Errorf("it stopped with %v", got)
		}
		failed := err.(*mgo.BulkError).Cases()
		if len(failed) != 2 || failed[0].Index != 2 || failed[1].Index != 5 {
			t.Errorf("failed: %+v", failed)
		}
	})
	t.Run("updates and removals", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.Insert(D{{"_id", 1}, {"n", 1}}, D{{"_id", 2}, {"n", 1}}, D{{"_id", 3}, {"n", 1}}))
		b := c.Bulk()
		b.Update(D{{"_id", 1}}, D{{"$inc", D{{"n", 1}}}}, D{{"_id", 9}}, D{{"$inc", D{{"n", 1}}}})
		b.UpdateAll(D{}, D{{"$inc", D{{"n", 10}}}})
		b.Upsert(D{{"_id", 4}}, D{{"$set", D{{"n", 4}}}})
		b.Remove(D{{"_id", 2}})
		b.RemoveAll(D{{"n", 11}})
		r, err := b.Run()
		// mgo also counts removed and upserted documents as matched.
		if err != nil || r.Matched != 7 || r.Modified != 4 {
			t.Errorf("%+v, %v", r, err)
		}
		wantDoc(t, c, D{{"_id", 1}, {"n", 12}})
		wantDoc(t, c, D{{"_id", 4}, {"n", 4}})
		if n, err := c.Count(); n != 2 || err != nil {
			t.Errorf("%d documents are left, %v", n, err)
		}
	})
	t.Run("a thousand", func(t *testing.T) {
		c := s.fresh(t)
		b := c.Bulk()
		for i := range 1000 {
			b.Insert(D{{"_id", i}})
		}
		_, err := b.Run()
		must(t, err)
		b = c.Bulk()
		for i := range 1000 {
			b.Update(D{{"_id", i}}, D{{"$set", D{{"n", i}}}})
		}
		r, err := b.Run()
		if err != nil || r.Matched != 1000 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func testLimits(t *testing.T, s *store) {
	c := s.db.C("c")
	t.Run("a large document", func(t *testing.T) {
		pad := strings.Repeat("x", 15<<20)
		must(t, c.Insert(D{{"_id", "large"}, {"pad", pad}}))
		var doc struct{ Pad string }
		if err := c.FindId("large").One(&doc); err != nil || len(doc.Pad) != len(pad) {
			t.Errorf("got %d bytes back, %v", len(doc.Pad), err)
		}
		// It can't grow beyond the limit, and an attempt leaves it unchanged.
		if err := c.UpdateId("large", D{{"$set", D{{"more", pad[:2<<20]}}}}); err == nil {
			t.Errorf("it grew to 17 MiB")
		}
		doc.Pad = ""
		if err := c.Find(D{{"_id", "large"}, {"more", nil}}).One(&doc); err != nil || len(doc.Pad) != len(pad) {
			t.Errorf("%d bytes are left, %v", len(doc.Pad), err)
		}
		must(t, c.RemoveId("large"))
	})
	t.Run("a document too large", func(t *testing.T) {
		// The server may disconnect, and until mgo notices, it gives the connection to others;
		// so the test uses its own session.
		if err := s.again(t).db.C("c").Insert(D{{"_id", "huge"}, {"pad", make([]byte, 17<<20)}}); err == nil {
			t.Errorf("a document of 17 MiB was stored")
		}
		if n, err := c.FindId("huge").Count(); n != 0 || err != nil {
			t.Errorf("%d are there, %v", n, err)
		}
	})
	t.Run("deep documents", func(t *testing.T) {
		deep := func(n int) D {
			d := D{}
			for range n {
				d = D{{"a", d}}
			}
			return d
		}
		// The manual's limit is 100 levels ("Nested Depth for BSON Documents").
		must(t, c.Insert(D{{"_id", "deep"}, {"d", deep(95)}}))
		wantDoc(t, c, D{{"_id", "deep"}, {"d", deep(95)}})
		if err := s.again(t).db.C("c").Insert(D{{"_id", "deeper"}, {"d", deep(5000)}}); err == nil {
			t.Errorf("5000 levels were stored")
		}
		if n, err := c.FindId("deeper").Count(); n != 0 || err != nil {
			t.Errorf("%d are there, %v", n, err)
		}
	})
	t.Run("a long key", func(t *testing.T) {
		// An _id may be long; MongoDB up to 4.0 limits indexed keys to 1 kB.
		key := strings.Repeat("k", 900)
		must(t, c.Insert(D{{"_id", key}}, D{{"_id", key + "x"}}))
		if n, err := c.FindId(key).Count(); n != 1 || err != nil {
			t.Errorf("%d by a long _id, %v", n, err)
		}
	})
}

func testCommands(t *testing.T, s *store) {
	t.Run("unknown", func(t *testing.T) {
		err := s.db.Run(D{{"frobnicate", 1}}, nil)
		wantCode(t, err, codeCommandNotFound)
		if err != nil && !strings.Contains(err.Error(), "frobnicate") {
			t.Errorf("error %q doesn't name the command", err)
		}
		wantCode(t, s.session.Run(D{{"frobnicate", 1}}, nil), codeCommandNotFound)
		must(t, s.session.Ping())
	})
	t.Run("who are you", func(t *testing.T) {
		info, err := s.session.BuildInfo()
		must(t, err)
		if !info.VersionAtLeast(3, 6) || info.MaxObjectSize != 16<<20 {
			t.Errorf("%+v", info)
		}
		var is struct {
			IsMaster       bool `bson:"ismaster"`
			MaxWireVersion int  `bson:"maxWireVersion"`
			OK             float64
		}
		for _, name := range []string{"ismaster", "isMaster"} {
			if err := s.session.Run(name, &is); err != nil || !is.IsMaster || is.MaxWireVersion < 6 || is.OK != 1 {
				t.Errorf("%s: %+v, %v", name, is, err)
			}
		}
		var status struct{ OK float64 }
		if err := s.session.Run("serverStatus", &status); err != nil || status.OK != 1 {
			t.Errorf("serverStatus: %+v, %v", status, err)
		}
	})
	t.Run("names", func(t *testing.T) {
		c := s.db.C("one")
		must(t, c.Insert(D{{"_id", 1}}))
		must(t, s.db.C("two.three").Insert(D{{"_id", 1}}))
		must(t, s.db.C("log").Create(&mgo.CollectionInfo{Capped: true, MaxBytes: 4096}))
		names, err := s.db.CollectionNames()
		slices.Sort(names)
		if err != nil || !slices.Equal(names, []string{"log", "one", "two.three"}) {
			t.Errorf("collections %q, %v", names, err)
		}
		dbs, err := s.session.DatabaseNames()
		if err != nil || !slices.Contains(dbs, s.db.Name) {
			t.Errorf("databases %q, %v", dbs, err)
		}
		var listed struct {
			Cursor struct {
				First []struct {
					Name    string
					Options struct{ Capped bool }
				} `bson:"firstBatch"`
			}
		}
		must(t, s.db.Run(D{{"listCollections", 1}, {"filter", D{{"name", "log"}}}}, &listed))
		if l := listed.Cursor.First; len(l) != 1 || l[0].Name != "log" || !l[0].Options.Capped {
			t.Errorf("listed %+v", listed)
		}
		must(t, c.DropCollection())
		if err := c.DropCollection(); err == nil || err.Error() != "ns not found" {
			t.Errorf("dropped again: %v", err)
		}
		names, err = s.db.CollectionNames()
		slices.Sort(names)
		if err != nil || !slices.Equal(names, []string{"log", "two.three"}) {
			t.Errorf("collections %q, %v", names, err)
		}
		if _, err := s.db.C("one").Indexes(); code(err) != codeNamespaceNotFound && err != nil {
			t.Errorf("indexes of no collection: %v", err)
		}
	})
	t.Run("create", func(t *testing.T) {
		c := s.db.C("made")
		must(t, c.Create(&mgo.CollectionInfo{}))
		wantCode(t, c.Create(&mgo.CollectionInfo{}), codeNamespaceExists)
		if n, err := c.Count(); n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
	t.Run("stats", func(t *testing.T) {
		c := s.db.C("stats")
		for i := range 10 {
			must(t, c.Insert(D{{"_id", i}, {"pad", make([]byte, 100)}}))
		}
		must(t, c.EnsureIndexKey("pad"))
		var stats struct {
			NS       string
			Count    int
			Size     int
			NIndexes int `bson:"nindexes"`
			Capped   bool
		}
		must(t, s.db.Run(D{{"collStats", "stats"}}, &stats))
		if stats.NS != s.db.Name+".stats" || stats.Count != 10 || stats.Size < 1000 || stats.NIndexes != 2 || stats.Capped {
			t.Errorf("%+v", stats)
		}
	})
	t.Run("databases are apart", func(t *testing.T) {
		other := s.session.DB(s.db.Name + "-b")
		must(t, s.db.C("x").Insert(D{{"_id", 1}, {"in", "a"}}))
		must(t, other.C("x").Insert(D{{"_id", 1}, {"in", "b"}}))
		wantDoc(t, other.C("x"), D{{"_id", 1}, {"in", "b"}})
		must(t, other.DropDatabase())
		must(t, other.DropDatabase()) // dropping a missing database is no error
		wantDoc(t, s.db.C("x"), D{{"_id", 1}, {"in", "a"}})
		if n, err := other.C("x").Count(); n != 0 || err != nil {
			t.Errorf("%d after the drop, %v", n, err)
		}
		dbs, err := s.session.DatabaseNames()
		if err != nil || slices.Contains(dbs, other.Name) {
			t.Errorf("databases %q, %v", dbs, err)
		}
	})
	t.Run("a made-up _id", func(t *testing.T) {
		// The server adds an _id if the client didn't, and puts it first.
		must(t, s.db.Run(D{{"insert", "ids"}, {"documents", A{D{{"a", 1}}}}}, nil))
		var doc D
		must(t, s.db.C("ids").Find(nil).One(&doc))
		if _, ok := doc[0].Value.(bson.ObjectId); len(doc) != 2 || doc[0].Name != "_id" || !ok {
			t.Errorf("stored %v", doc)
		}
		must(t, s.db.Run(D{{"insert", "ids"}, {"documents", A{D{{"a", 1}, {"_id", "mine"}}}}}, nil))
		wantDoc(t, s.db.C("ids"), D{{"_id", "mine"}, {"a", 1}})
	})
	t.Run("names that aren't allowed", func(t *testing.T) {
		for _, name := range []string{"", "a b", "a/b", "a.b", `a\b`, `a"b`, "a$b", strings.Repeat("x", 64)} {
			if err := s.session.DB(name).C("c").Insert(D{{"_id", 1}}); err == nil && name != "" {
				t.Errorf("it accepts a database named %q", name)
				s.session.DB(name).DropDatabase()
			}
			s.session.Refresh()
		}
		for _, name := range []string{"a$b", "system.x\x00"} {
			if err := s.db.C(name).Insert(D{{"_id", 1}}); err == nil {
				t.Errorf("it accepts a collection named %q", name)
			}
			s.session.Refresh()
		}
	})
	t.Run("pipelined", func(t *testing.T) {
		// Many goroutines of one session share one connection: replies must reach their
		// requests.
		c := s.db.C("pipelined")
		for i := range 20 {
			must(t, c.Insert(D{{"_id", i}, {"v", fmt.Sprint(i)}}))
		}
		errs := make(chan error)
		for i := range 20 {
			go func() {
				for range 20 {
					var doc struct{ V string }
					if err := c.FindId(i).One(&doc); err != nil || doc.V != fmt.Sprint(i) {
						errs <- fmt.Errorf("by _id %d: %+v, %v", i, doc, err)
						return
					}
				}
				errs <- nil
			}()
		}
		for range 20 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}
