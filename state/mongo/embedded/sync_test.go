package embedded_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/doc/tools/verify"
	"juju/state/mongo/embedded"
)

// TestOnDisk cuts the power right after a reply, and loses everything that wasn't synced. Whether the write
// survives depends on whether the client asked for a sync.
func TestOnDisk(t *testing.T) {
	for _, test := range []struct {
		about   string
		opts    embedded.Options
		concern d
		barrier bool
		read    string // the read concern of a later find, if any
		want    int64
	}{
		{about: "no request"},
		{about: "no request, by a write concern", concern: d{{Key: "w", Value: "majority"}, {Key: "j", Value: false}}},
		{about: "the majority", concern: d{{Key: "w", Value: "majority"}}, want: 1},
		{about: "w: 1", concern: d{{Key: "w", Value: 1}}},
		{about: "the write concern", concern: d{{Key: "j", Value: true}}, want: 1},
		{about: "the old write concern", concern: d{{Key: "getLastError", Value: 1}, {Key: "fsync", Value: true}}, want: 1},
		{about: "a barrier", barrier: true, want: 1},
		{about: "no request, and a read", read: "local"},
		{about: "a read that may only tell of what is on disk", read: "majority", want: 1},
	} {
		t.Run(test.about, func(t *testing.T) {
			fs := vfs.NewCrashableMem()
			test.opts.FS = fs
			s := open(t, test.opts)
			c := connect(t, s)
			c.must(d{{Key: "create", Value: "c"}})
			if err := s.Barrier(t.Context()); err != nil {
				t.Fatal(err)
			}
			cmd := d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: 1}}}}}
			if test.concern != nil {
				cmd = append(cmd, bson.E{Key: "writeConcern", Value: test.concern})
			}
			c.must(cmd)
			if test.barrier {
				if err := s.Barrier(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if test.read != "" {
				c.must(d{{Key: "find", Value: "c"}, {Key: "readConcern", Value: d{{Key: "level", Value: test.read}}}})
			}
			left := connect(t, open(t, embedded.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})}))
			if n := number(left.must(d{{Key: "count", Value: "c"}}), "n"); n != test.want {
				t.Errorf("%d documents survived, want %d", n, test.want)
			}
		})
	}
}

// A change stream that was opened with read concern majority only tells of what is on disk, as does the rest of a query.
func TestBatchesAreOnDisk(t *testing.T) {
	for _, query := range []d{
		{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{d{{Key: "$changeStream", Value: d{}}}}}, {Key: "cursor", Value: d{}}},
		{{Key: "find", Value: "capped"}, {Key: "tailable", Value: true}, {Key: "awaitData", Value: true}},
	} {
		fs := vfs.NewCrashableMem()
		s := open(t, embedded.Options{FS: fs})
		c := connect(t, s)
		c.must(d{{Key: "create", Value: "c"}})
		c.must(d{{Key: "create", Value: "capped"}, {Key: "capped", Value: true}, {Key: "size", Value: 1 << 16}})
		insert := func(id int) {
			for _, name := range []string{"c", "capped"} {
				c.must(d{{Key: "insert", Value: name}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: id}}}}})
			}
		}
		insert(1)
		reply := c.must(append(query, bson.E{Key: "readConcern", Value: d{{Key: "level", Value: "majority"}}}))
		insert(2)
		id := reply.Lookup("cursor", "id").Int64()
		c.must(d{{Key: "getMore", Value: id}, {Key: "collection", Value: query[0].Value}})
		left := connect(t, open(t, embedded.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})}))
		if n := number(left.must(d{{Key: "count", Value: "c"}}), "n"); n != 2 {
			t.Errorf("%v: %d documents survived what was told, want 2", query, n)
		}
	}
}

// TestSyncEvery writes without asking for a sync; the write must still reach the disk in time. No client
// waits for it, however slow the disk is.
func TestSyncEvery(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, embedded.Options{FS: fs, SyncEvery: time.Millisecond})
	c := connect(t, s)
	c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: 1}}}}})
	for deadline := time.Now().Add(verify.Patience); ; {
		left := connect(t, open(t, embedded.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})}))
		if number(left.must(d{{Key: "count", Value: "c"}}), "n") == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the write never reached the disk")
		}
	}
}

// TestPlainWritesDoNotWaitForTheDisk blocks the disk. A plain write must still be acknowledged, and one that
// asks for a sync must not.
func TestPlainWritesDoNotWaitForTheDisk(t *testing.T) {
	var stuck atomic.Bool
	free := make(chan struct{})
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if stuck.Load() && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
			<-free
		}
		return nil
	}))
	s := open(t, embedded.Options{FS: fs, SyncEvery: time.Millisecond})
	c, other := connect(t, s), connect(t, s)
	insert := func(c *client, id int, concern d) {
		c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: id}}}}, {Key: "writeConcern", Value: concern}})
	}
	insert(c, 0, d{{Key: "j", Value: true}})
	stuck.Store(true)
	for id := range 20 {
		insert(c, id+1, d{{Key: "w", Value: 1}})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		insert(other, 100, d{{Key: "j", Value: true}})
	}()
	select {
	case <-done:
		t.Error("a write with j: true was acknowledged without a sync")
	case <-time.After(20 * time.Millisecond):
	}
	stuck.Store(false)
	close(free)
	<-done
}
