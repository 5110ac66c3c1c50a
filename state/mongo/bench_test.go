package mongo_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
)

// BenchmarkTransactions runs transactions of two operations, each with an assert, on two of 5,000 documents on disk,
// with the server's transactions and with mgo/txn's. With assert=one, all assert the same document, and change another.
// Each writer waits until its transaction is on disk. The time of one fsync on the same disk is reported alongside.
func BenchmarkTransactions(b *testing.B) {
	for _, standalone := range []bool{false, true} {
		name := "transactions"
		if standalone {
			name = "mgo-txn"
		}
		b.Run(name+"/writers=64/assert=one", func(b *testing.B) { benchTransactions(b, 64, standalone, true) })
		for _, writers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/writers=%d", name, writers), func(b *testing.B) { benchTransactions(b, writers, standalone, false) })
		}
	}
}

// BenchmarkReplicaSet runs the same transactions on a simulated replica set, whose members take 1 ms for each command and
// 15 ms until a write has reached the majority.
func BenchmarkReplicaSet(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			set := mongotest.NewSet(b, 3)
			set.RoundTrip, set.Majority = time.Millisecond, 15*time.Millisecond
			u, err := mongo.ParseURL(set.URL())
			if err != nil {
				b.Fatal(err)
			}
			store, err := mongo.OpenURL(b.Context(), u, mongo.Options{Dial: set.Dial})
			if err != nil {
				b.Fatal(err)
			}
			benchOn(b, store, writers, false)
		})
	}
}

func benchTransactions(b *testing.B, writers int, standalone, one bool) {
	store, err := mongo.OpenEmbedded(b.TempDir(), mongo.Options{Embedded: embedded.Options{Standalone: standalone}})
	if err != nil {
		b.Fatal(err)
	}
	benchOn(b, store, writers, one)
	b.ReportMetric(float64(fsync(b).Microseconds()), "fsync-µs")
}

// benchOn runs the transactions on a store, which it closes.
func benchOn(b *testing.B, store *mongo.Store, writers int, one bool) {
	const docs = 5000
	defer store.Close()
	if err := store.Make(b.Context(), "db", mongo.Schema{LogSize: 10 << 20}); err != nil {
		b.Fatal(err)
	}
	db := store.Open("db")
	defer db.Close(errors.New("the benchmark has ended"))
	if err := db.With(b.Context(), "c", func(c *mgo.Collection) error {
		bulk := c.Bulk()
		for i := range docs {
			bulk.Insert(doc{fmt.Sprint(i), 0})
		}
		_, err := bulk.Run()
		return err
	}); err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for range writers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				i := rand.IntN(docs)
				if err := db.Run(b.Context(), func(int) ([]txn.Op, error) {
					if one {
						return []txn.Op{
							{C: "c", Id: "0", Assert: txn.DocExists},
							{C: "c", Id: fmt.Sprint(1 + i%(docs-1)), Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}},
						}, nil
					}
					return []txn.Op{
						{C: "c", Id: fmt.Sprint(i), Assert: bson.D{{"n", bson.D{{"$gte", 0}}}}, Update: bson.D{{"$set", bson.D{{"machine", "7"}}}}},
						{C: "c", Id: fmt.Sprint((i + 1) % docs), Assert: txn.DocExists, Update: bson.D{{"$inc", bson.D{{"n", 1}}}}},
					}, nil
				}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "txn/s")
}

// fsync returns the median time of a write of 4 KiB and its fsync.
func fsync(b *testing.B) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "fsync"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var took []time.Duration
	block := make([]byte, 4096)
	for range 101 {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
