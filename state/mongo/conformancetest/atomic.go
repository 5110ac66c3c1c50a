package conformancetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

const writers = 8

// together runs f in eight goroutines, each with its own connection, and waits for all of them.
func (s *store) together(t *testing.T, f func(worker int, db *mgo.Database) error) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range writers {
		other := s.again(t)
		wg.Go(func() {
			if err := f(w, other.db); err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
		})
	}
	wg.Wait()
}

func testAtomicity(t *testing.T, s *store) {
	const each = 100
	for name, inc := range map[string]func(*mgo.Collection) error{
		"update": func(c *mgo.Collection) error { return c.UpdateId(1, D{{"$inc", D{{"n", 1}}}}) },
		"update by a query": func(c *mgo.Collection) error {
			return c.Update(D{{"kind", "counter"}, {"n", D{{"$gte", 0}}}}, D{{"$inc", D{{"n", 1}}}})
		},
		"update of all": func(c *mgo.Collection) error {
			_, err := c.UpdateAll(D{{"kind", "counter"}}, D{{"$inc", D{{"n", 1}}}})
			return err
		},
		"upsert": func(c *mgo.Collection) error {
			_, err := c.UpsertId(1, D{{"$inc", D{{"n", 1}}}})
			return err
		},
	} {
		t.Run("$inc by "+name, func(t *testing.T) {
			c := s.fresh(t)
			must(t, c.EnsureIndexKey("kind", "n"))
			must(t, c.Insert(D{{"_id", 1}, {"kind", "counter"}, {"n", 0}}))
			s.together(t, func(_ int, db *mgo.Database) error {
				for range each {
					if err := inc(db.C(c.Name)); err != nil {
						return err
					}
				}
				return nil
			})
			wantDoc(t, c, D{{"_id", 1}, {"kind", "counter"}, {"n", writers * each}})
		})
	}

	t.Run("a sequence", func(t *testing.T) {
		// findAndModify hands out each number once, without gaps.
		c := s.fresh(t)
		must(t, c.Insert(D{{"_id", "seq"}, {"n", 0}}))
		var mu sync.Mutex
		var got []int
		s.together(t, func(_ int, db *mgo.Database) error {
			for range each {
				var doc struct{ N int }
				if _, err := db.C(c.Name).FindId("seq").Apply(mgo.Change{Update: D{{"$inc", D{{"n", 1}}}}, ReturnNew: true}, &doc); err != nil {
					return err
				}
				mu.Lock()
				got = append(got, doc.N)
				mu.Unlock()
			}
			return nil
		})
		slices.Sort(got)
		for i, n := range got {
			if n != i+1 {
				t.Fatalf("number %d of the sequence is %d", i+1, n)
			}
		}
	})

	t.Run("compare and set", func(t *testing.T) {
		c := s.fresh(t)
		rounds := load(100)
		must(t, c.Insert(D{{"_id", 1}, {"round", 0}}))
		won := make([]atomic.Int32, rounds)
		s.together(t, func(w int, db *mgo.Database) error {
			for r := range rounds {
				err := db.C(c.Name).Update(D{{"_id", 1}, {"round", r}}, D{{"$set", D{{"round", r + 1}, {"by", w}}}})
				if err == nil {
					won[r].Add(1)
				} else if err != mgo.ErrNotFound {
					return err
				}
			}
			return nil
		})
		for r := range won {
			if n := won[r].Load(); n != 1 {
				t.Errorf("round %d has %d winners", r, n)
			}
		}
	})

	t.Run("one inserts", func(t *testing.T) {
		c := s.fresh(t)
		must(t, c.EnsureIndex(mgo.Index{Key: []string{"u"}, Unique: true}))
		rounds := load(50)
		won := make([]atomic.Int32, rounds)
		s.together(t, func(w int, db *mgo.Database) error {
			for r := range rounds {
				id := any(r)
				if r%2 == 1 {
					id = fmt.Sprintf("%d by %d", r, w) // the unique field alone decides
				}
				err := db.C(c.Name).Insert(D{{"_id", id}, {"u", r}})
				if err == nil {
					won[r].Add(1)
				} else if !mgo.IsDup(err) {
					return err
				}
			}
			return nil
		})
		for r := range won {
			if n := won[r].Load(); n != 1 {
				t.Errorf("%d writers inserted %d", n, r)
			}
		}
	})

	t.Run("upserts of one document", func(t *testing.T) {
		c := s.fresh(t)
		s.together(t, func(w int, db *mgo.Database) error {
			for r := range each {
				for {
					_, err := db.C(c.Name).Upsert(D{{"_id", r}}, D{{"$inc", D{{"n", 1}}}})
					if err == nil {
						break
					}
					// MongoDB lets the loser of the insert see the duplicate
					// ("Upsert with Unique Index" of the manual).
					if !mgo.IsDup(err) {
						return err
					}
				}
			}
			return nil
		})
		if n, err := c.Find(D{{"n", writers}}).Count(); n != each || err != nil {
			t.Errorf("%d of %d documents count %d upserts, %v", n, each, writers, err)
		}
	})

	t.Run("no half document", func(t *testing.T) {
		// Each write sets several fields, of changing size, to one value; no reader, by cursor,
		// index or _id, may see two values in a document.
		c := s.fresh(t)
		must(t, c.EnsureIndexKey("a"))
		const docs = 20
		write := func(c *mgo.Collection, id, v int) error {
			pad := strings.Repeat("x", v%3000)
			_, err := c.UpsertId(id, D{{"$set", D{{"a", v}, {"pad", pad}, {"list", A{v, D{{"v", v}}}}, {"z", v}}}})
			return err
		}
		for id := range docs {
			must(t, write(c, id, 0))
		}
		rounds := load(60)
		s.together(t, func(w int, db *mgo.Database) error {
			c := db.C(c.Name)
			for r := range rounds {
				if w%2 == 0 {
					if err := write(c, (r*7+w)%docs, r*1000+w); err != nil {
						return err
					}
					continue
				}
				q := c.Find(nil).Batch(3)
				switch r % 3 {
				case 1:
					q = c.Find(D{{"a", D{{"$gte", 0}}}}).Sort("a").Batch(5)
				case 2:
					q = c.FindId(r % docs)
				}
				iter := q.Iter()
				var doc struct {
					ID   int `bson:"_id"`
					A, Z int
					Pad  string
					List []bson.Raw
				}
				for iter.Next(&doc) {
					var first int
					var second struct{ V int }
					if len(doc.List) != 2 || doc.List[0].Unmarshal(&first) != nil || doc.List[1].Unmarshal(&second) != nil {
						return fmt.Errorf("document %d is %+v", doc.ID, doc)
					}
					if doc.A != doc.Z || first != doc.A || second.V != doc.A || len(doc.Pad) != doc.A%3000 {
						return fmt.Errorf("document %d mixes several writes: a %d, z %d, list %d %d, pad %d", doc.ID, doc.A, doc.Z, first, second.V, len(doc.Pad))
					}
				}
				if err := iter.Close(); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
