package embedded_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded"
)

// TestOnDisk takes the power away right after an answer, and with it all that
// was not synced. What is left depends on who asked for the disk.
func TestOnDisk(t *testing.T) {
	for _, test := range []struct {
		about   string
		opts    embedded.Options
		concern d
		barrier bool
		want    int64
	}{
		{about: "nobody"},
		{about: "nobody, by a write concern", concern: d{{Key: "w", Value: "majority"}, {Key: "j", Value: false}}},
		{about: "the options", opts: embedded.Options{Sync: true}, want: 1},
		{about: "the write concern", concern: d{{Key: "j", Value: true}}, want: 1},
		{about: "the old write concern", concern: d{{Key: "getLastError", Value: 1}, {Key: "fsync", Value: true}}, want: 1},
		{about: "a barrier", barrier: true, want: 1},
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
			left := connect(t, open(t, embedded.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})}))
			if n := number(left.must(d{{Key: "count", Value: "c"}}), "n"); n != test.want {
				t.Errorf("%d documents are left, want %d", n, test.want)
			}
		})
	}
}
