package controller

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
	"juju/state/statetest"
)

// A footprint is what an empty model costs.
type footprint struct {
	txns, stash, queue, descriptors int
	disk                            int64
}

func (f footprint) String() string {
	return fmt.Sprintf("%d txns, %d in the stash, longest queue %d, %d descriptors, %d KiB on disk",
		f.txns, f.stash, f.queue, f.descriptors, f.disk>>10)
}

// closeTo allows a difference of 10 %, or 20 documents, 4 descriptors, 256 KiB.
func (f footprint) closeTo(o footprint) bool {
	within := func(a, b, slack int64) bool {
		d := max(a-b, b-a)
		return d <= slack || d*10 <= max(a, b)
	}
	return within(int64(f.txns), int64(o.txns), 20) && within(int64(f.stash), int64(o.stash), 20) &&
		within(int64(f.queue), int64(o.queue), 20) && within(int64(f.descriptors), int64(o.descriptors), 4) &&
		within(f.disk, o.disk, 256<<10)
}

// Deploy, relate, grow, break and destroy, again and again: nothing of it is left, and what the
// store keeps for itself does not grow.
func TestNothingIsLeftAfterManyCycles(t *testing.T) {
	cycles := 8
	switch {
	case os.Getenv("JUJU_SOAK") != "":
		cycles = 200
	case testing.Short():
		cycles = 4
	}
	const age = 2 * time.Second
	// Everything of bounded size is so small here that it is full at the first measurement: the
	// logs, and the files that the store reuses for its own log.
	s := newSystem(t, Options{PruneAge: age, State: controller.Options{Sizes: state.Sizes{Log: 16 << 10, History: 16 << 10, Audit: 16 << 10}},
		Store: mongo.Options{Embedded: embedded.Options{MemTableSize: 256 << 10}}})
	var first *footprint
	for i := range cycles {
		s.cycle()
		if n := i + 1; n == cycles/4 || n == cycles/2 || n == cycles {
			most := 0
			if first != nil {
				most = first.descriptors + 4
			}
			f := s.footprint(age, most)
			t.Logf("after %d cycles: %v", n, f)
			if first == nil {
				first = &f
			} else if !f.closeTo(*first) {
				t.Errorf("after %d cycles: %v; before it was %v", n, f, *first)
			}
		}
	}
}

func (s *system) cycle() {
	s.Helper()
	s.deploy("mysql", statetest.MySQL, 1)
	s.deploy("wordpress", statetest.Wordpress, 1)
	s.deploy("riak", statetest.Riak, 2)
	_, err := s.st.AddRelation(s.ctx, "wordpress", "mysql")
	s.ok(err)
	wp, err := s.st.Service(s.ctx, "wordpress")
	s.ok(err)
	_, err = wp.AddUnits(s.ctx, 1, nil)
	s.ok(err)
	s.until("idle units", func(m *entity.ModelStatus) bool { idle, all := units(m); return idle == 5 && all == 5 })
	r, err := s.st.Relation(s.ctx, "wordpress", "mysql")
	s.ok(err)
	s.ok(r.Destroy(s.ctx, entity.Destruction{}))
	for _, name := range []string{"mysql", "wordpress", "riak"} {
		svc, err := s.st.Service(s.ctx, name)
		s.ok(err)
		s.ok(svc.Destroy(s.ctx, entity.Destruction{}))
	}
	m := s.until("no services", func(m *entity.ModelStatus) bool { return len(m.Services)+len(m.Relations) == 0 })
	for _, machine := range m.Machines {
		one, err := s.st.Machine(s.ctx, machine.ID)
		s.ok(err)
		s.ok(one.Destroy(s.ctx, entity.Destruction{}))
	}
	s.until("nothing at all", s.empty)
}

// footprint measures after everything has gone that can go: old transactions are pruned, and
// the store's files are compacted, for which the controller stops and starts again. Agents that
// have just ended get time to close their connections, until no more than most descriptors are
// left, unless most is 0.
func (s *system) footprint(age time.Duration, most int) footprint {
	s.Helper()
	var f footprint
	// The age of a finished transaction comes from its id, in whole seconds, so only the clock
	// can be waited for.
	time.Sleep(age + time.Second)
	_, err := s.st.Transactions().PruneTransactions(s.ctx, age)
	s.ok(err)
	db := s.c.store.Open(s.st.UUID())
	counts, err := db.Counts(s.ctx)
	s.ok(err)
	f.txns, f.stash = counts["txns"], counts["txns.stash"]
	f.queue, err = mongotest.LongestQueue(s.ctx, db)
	s.ok(err)
	db.Close(nil)
	open := descriptors(s.T)
	for end := time.Now().Add(patience); most > 0 && len(open) > most && time.Now().Before(end); open = descriptors(s.T) {
		time.Sleep(50 * time.Millisecond) // nothing tells of a closed descriptor
	}
	if f.descriptors = len(open); most > 0 && f.descriptors > most {
		s.Logf("open: %q", open)
	}
	s.stop()
	files := filepath.Join(s.c.own, dbName)
	s.ok(mongotest.Compact(s.ctx, files, nil))
	f.disk = dirSize(s.T, files)
	s.start()
	s.st, err = s.c.ctrl.Model(s.ctx, s.model)
	s.ok(err)
	return f
}

// descriptors returns what the process has open.
func descriptors(t *testing.T) (open []string) {
	t.Helper()
	const dir = "/proc/self/fd"
	fds, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(dir, fd.Name())); err == nil { // but not that of the listing
			open = append(open, to)
		}
	}
	return open
}

func dirSize(t *testing.T, dir string) (total int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			total += dirSize(t, dir+"/"+e.Name())
		} else if info, err := e.Info(); err == nil {
			total += info.Size()
		}
	}
	return total
}
