package conformancetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// oneByOne is held while transactions run: mgo/txn's chaos settings are global to the process,
// and the suite may run on several stores at once.
var oneByOne sync.Mutex

// testTransactions is a basic test of mgo/txn on the store, one operation at a time; mgo's own
// suite, which TestJujud runs, is the thorough one.
func testTransactions(t *testing.T, s *store) {
	oneByOne.Lock()
	defer oneByOne.Unlock()
	t.Run("operations", func(t *testing.T) { testOperations(t, s) })
	t.Run("interrupted", func(t *testing.T) { testInterrupted(t, s) })
	t.Run("purge missing", func(t *testing.T) { testPurgeMissing(t, s) })
	t.Run("change log", func(t *testing.T) { testChangeLog(t, s) })
	t.Run("at once", func(t *testing.T) { testTransfers(t, s) })
	t.Run("stashed at once", func(t *testing.T) { testStash(t, s) })
}

// fields reads a document without mgo/txn's own fields, or nil if it isn't there.
func fields(t *testing.T, c *mgo.Collection, id any) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := c.FindId(id).One(&doc); err == mgo.ErrNotFound {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	delete(doc, "txn-queue")
	delete(doc, "txn-revno")
	return doc
}

func wantFields(t *testing.T, c *mgo.Collection, id any, want map[string]any) {
	t.Helper()
	got := fields(t, c, id)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("document %v is %v, want %v", id, got, want)
	}
}

func testOperations(t *testing.T, s *store) {
	runner := txn.NewRunner(s.db.C("txns"))
	units, machines := s.db.C("units"), s.db.C("machines")
	run := func(want error, ops ...txn.Op) {
		t.Helper()
		if err := runner.Run(ops, "", nil); err != want {
			t.Errorf("run: %v, want %v", err, want)
		}
	}
	run(nil,
		txn.Op{C: "units", Id: "a/0", Assert: txn.DocMissing, Insert: D{{"life", "alive"}, {"machine", "0"}}},
		txn.Op{C: "machines", Id: "0", Assert: txn.DocMissing, Insert: D{{"units", A{"a/0"}}}})
	wantFields(t, units, "a/0", map[string]any{"_id": "a/0", "life": "alive", "machine": "0"})
	wantFields(t, machines, "0", map[string]any{"_id": "0", "units": A{"a/0"}})

	// A failing assertion leaves everything unchanged, including what came before it.
	run(txn.ErrAborted,
		txn.Op{C: "machines", Id: "0", Update: D{{"$set", D{{"units", A{}}}}}},
		txn.Op{C: "units", Id: "a/1", Insert: D{{"life", "alive"}}},
		txn.Op{C: "units", Id: "a/0", Assert: D{{"life", "dead"}}, Remove: true})
	wantFields(t, units, "a/0", map[string]any{"_id": "a/0", "life": "alive", "machine": "0"})
	wantFields(t, machines, "0", map[string]any{"_id": "0", "units": A{"a/0"}})
	wantFields(t, units, "a/1", nil)

	run(nil,
		txn.Op{C: "units", Id: "a/0", Assert: D{{"$or", A{D{{"life", "alive"}}, D{{"life", D{{"$exists", false}}}}}}}, Update: D{{"$set", D{{"life", "dying"}}}}},
		txn.Op{C: "machines", Id: "0", Assert: D{{"units", "a/0"}}, Update: D{{"$pull", D{{"units", "a/0"}}}}})
	wantFields(t, units, "a/0", map[string]any{"_id": "a/0", "life": "dying", "machine": "0"})
	wantFields(t, machines, "0", map[string]any{"_id": "0", "units": A{}})

	run(nil, txn.Op{C: "units", Id: "a/0", Assert: txn.DocExists})
	run(txn.ErrAborted, txn.Op{C: "units", Id: "a/9", Assert: txn.DocExists})
	run(txn.ErrAborted, txn.Op{C: "units", Id: "a/0", Assert: txn.DocMissing})
	run(nil, txn.Op{C: "units", Id: "a/0", Assert: D{{"life", "dying"}}, Remove: true})
	wantFields(t, units, "a/0", nil)
	// A removed document can be inserted and removed again, through the stash.
	for range 3 {
		run(nil, txn.Op{C: "units", Id: "a/0", Assert: txn.DocMissing, Insert: D{{"life", "alive"}}})
		run(nil, txn.Op{C: "units", Id: "a/0", Assert: txn.DocExists, Remove: true})
	}
	run(nil, // several operations on one document, in order
		txn.Op{C: "units", Id: "a/0", Insert: D{{"n", 1}}},
		txn.Op{C: "units", Id: "a/0", Update: D{{"$inc", D{{"n", 1}}}}},
		txn.Op{C: "units", Id: "a/0", Update: D{{"$push", D{{"l", "x"}}}}})
	wantFields(t, units, "a/0", map[string]any{"_id": "a/0", "n": 2, "l": A{"x"}})
	var revno struct {
		Revno int64 `bson:"txn-revno"`
	}
	must(t, units.FindId("a/0").One(&revno))
	if revno.Revno < 2 {
		t.Errorf("txn-revno is %d", revno.Revno)
	}
	// No transaction is left unfinished.
	if n, err := s.db.C("txns").Find(D{{"s", D{{"$in", A{1, 2, 3, 4}}}}}).Count(); n != 0 || err != nil {
		t.Errorf("%d transactions are unfinished, %v", n, err)
	}
}

// testInterrupted stops transactions at each step, as a crash would, and has them completed by
// id, by ResumeAll, or by the next transaction on the same document.
func testInterrupted(t *testing.T, s *store) {
	defer txn.SetChaos(txn.Chaos{})
	for _, aborts := range []bool{false, true} {
		for _, point := range []string{"set-prepared", "set-applying", "set-applied", "insert", "set-aborting", "set-aborted"} {
			if aborts != (point == "set-aborting" || point == "set-aborted") && point != "set-prepared" {
				continue
			}
			for _, resume := range []string{"by id", "all", "by another"} {
				t.Run(fmt.Sprintf("at %s, resumed %s, aborts %v", point, resume, aborts), func(t *testing.T) {
					tc, c := s.fresh(t), s.fresh(t)
					runner := txn.NewRunner(tc)
					must(t, runner.Run([]txn.Op{{C: c.Name, Id: 1, Insert: D{{"n", 1}}}}, "", nil))
					ops := []txn.Op{
						{C: c.Name, Id: 1, Assert: D{{"n", 1}}, Update: D{{"$inc", D{{"n", 10}}}}},
						{C: c.Name, Id: 2, Assert: txn.DocMissing, Insert: D{{"n", 2}}},
					}
					if aborts {
						ops[0].Assert = D{{"n", 7}}
					}
					id := bson.NewObjectId()
					txn.SetChaos(txn.Chaos{KillChance: 1, Breakpoint: point})
					err := runner.Run(ops, id, nil)
					txn.SetChaos(txn.Chaos{})
					if err != txn.ErrChaos {
						t.Fatalf("not interrupted: %v", err)
					}
					var want error
					if aborts {
						want = txn.ErrAborted
					}
					switch resume {
					case "all":
						if point == "set-aborting" || point == "set-aborted" {
							// ResumeAll leaves aborting ones alone.
							err = runner.Resume(id)
						} else {
							must(t, runner.ResumeAll())
							err = runner.Resume(id)
						}
					case "by id":
						err = runner.Resume(id)
					case "by another":
						must(t, runner.Run([]txn.Op{{C: c.Name, Id: 1, Update: D{{"$set", D{{"seen", true}}}}}}, "", nil))
						must(t, c.UpdateId(1, D{{"$unset", D{{"seen", 1}}}}))
						err = runner.Resume(id)
					}
					if err != want {
						t.Fatalf("resumed: %v, want %v", err, want)
					}
					if aborts {
						wantFields(t, c, 1, map[string]any{"_id": 1, "n": 1})
						wantFields(t, c, 2, nil)
					} else {
						wantFields(t, c, 1, map[string]any{"_id": 1, "n": 11})
						wantFields(t, c, 2, map[string]any{"_id": 2, "n": 2})
					}
				})
			}
		}
	}
}

// testPurgeMissing loses transactions that documents still wait for, one in a
// collection and one in the stash.
func testPurgeMissing(t *testing.T, s *store) {
	defer txn.SetChaos(txn.Chaos{})
	tc, c := s.fresh(t), s.fresh(t)
	runner := txn.NewRunner(tc)
	must(t, runner.Run([]txn.Op{{C: c.Name, Id: "there", Insert: D{{"n", 1}}}}, "", nil))
	ops := []txn.Op{
		{C: c.Name, Id: "there", Update: D{{"$set", D{{"n", 2}}}}},
		{C: c.Name, Id: "new", Insert: D{{"n", 3}}},
	}
	first := bson.NewObjectId()
	txn.SetChaos(txn.Chaos{KillChance: 1, Breakpoint: "set-applying"})
	if err := runner.Run(ops, first, nil); err != txn.ErrChaos {
		t.Fatal(err)
	}
	txn.SetChaos(txn.Chaos{})
	must(t, tc.RemoveId(first))
	if err := runner.Run(ops[:1], "", nil); err == nil {
		t.Fatal("a transaction ran in spite of a lost one")
	}
	must(t, runner.PurgeMissing(c.Name))
	must(t, runner.ResumeAll())
	must(t, runner.Run(ops, "", nil))
	wantFields(t, c, "there", map[string]any{"_id": "there", "n": 2})
	wantFields(t, c, "new", map[string]any{"_id": "new", "n": 3})
}

func testChangeLog(t *testing.T, s *store) {
	log := s.capped(t, 1000)
	runner := txn.NewRunner(s.fresh(t))
	runner.ChangeLog(log)
	id := bson.NewObjectId()
	must(t, runner.Run([]txn.Op{{C: "a", Id: 1, Insert: D{}}, {C: "b", Id: "x", Insert: D{}}, {C: "a", Id: 2, Insert: D{}}}, id, nil))
	var entry map[string]any
	must(t, log.Find(nil).Sort("-$natural").One(&entry))
	if fmt.Sprint(entry["_id"]) != fmt.Sprint(id) || entry["a"] == nil || entry["b"] == nil {
		t.Errorf("logged %v", entry)
	}
}

// testTransfers has eight workers move money between few accounts concurrently: the sum
// doesn't change, no account is overdrawn, and each transfer is recorded once.
func testTransfers(t *testing.T, s *store) {
	const accounts, start = 3, 100
	tc, c := s.fresh(t), s.fresh(t)
	for i := range accounts {
		must(t, c.Insert(D{{"_id", i}, {"balance", start}}))
	}
	var moved atomic.Int64
	s.together(t, func(w int, db *mgo.Database) error {
		runner := txn.NewRunner(db.C(tc.Name))
		for r := range load(30) {
			amount := 1 + (r+w)%20
			err := runner.Run([]txn.Op{
				{C: c.Name, Id: (r + w) % accounts, Assert: D{{"balance", D{{"$gte", amount}}}}, Update: D{{"$inc", D{{"balance", -amount}, {"moves", 1}}}}},
				{C: c.Name, Id: (r + w + 1) % accounts, Assert: txn.DocExists, Update: D{{"$inc", D{{"balance", amount}}}}},
			}, "", nil)
			switch err {
			case nil:
				moved.Add(1)
			case txn.ErrAborted:
			default:
				return err
			}
		}
		return nil
	})
	var sum, moves int
	for i := range accounts {
		var doc struct{ Balance, Moves int }
		must(t, c.FindId(i).One(&doc))
		if doc.Balance < 0 {
			t.Errorf("account %d has %d", i, doc.Balance)
		}
		sum += doc.Balance
		moves += doc.Moves
	}
	if sum != accounts*start || int64(moves) != moved.Load() {
		t.Errorf("the sum is %d, want %d; %d moves, %d reported", sum, accounts*start, moves, moved.Load())
	}
}

// testStash has eight workers insert and remove the same few documents, with random delays, so
// that transactions meet documents on their way into or out of the stash. One insert and one
// removal of each document succeed.
func testStash(t *testing.T, s *store) {
	txn.SetChaos(txn.Chaos{SlowdownChance: 0.3, Slowdown: 3 * time.Millisecond})
	defer txn.SetChaos(txn.Chaos{})
	const docs = 4
	for range load(6) {
		tc, c := s.fresh(t), s.fresh(t)
		for _, step := range []struct {
			name string
			op   txn.Op
			left int
		}{
			{"insert", txn.Op{C: c.Name, Assert: txn.DocMissing, Insert: D{{"n", 1}}}, docs},
			{"remove", txn.Op{C: c.Name, Assert: txn.DocExists, Remove: true}, 0},
			{"insert again", txn.Op{C: c.Name, Assert: txn.DocMissing, Insert: D{{"n", 2}}}, docs},
		} {
			var won [docs]atomic.Int32
			s.together(t, func(w int, db *mgo.Database) error {
				runner := txn.NewRunner(db.C(tc.Name))
				for i := range docs {
					id := (i + w) % docs
					op := step.op
					op.Id = id
					switch err := runner.Run([]txn.Op{op}, "", nil); err {
					case nil:
						won[id].Add(1)
					case txn.ErrAborted:
					default:
						return err
					}
				}
				return nil
			})
			for id := range won {
				if n := won[id].Load(); n != 1 {
					t.Errorf("%s of document %d was done by %d workers", step.name, id, n)
				}
			}
			if n, err := c.Count(); n != step.left || err != nil {
				t.Errorf("%d documents after %s, %v, want %d", n, step.name, err, step.left)
			}
		}
	}
}
