package conformancetest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/embedded"
	"juju/state/mongo/mongotest"
)

// onDisk opens an embedded store in a temporary directory of the benchmark.
func onDisk(b *testing.B) *embedded.Server {
	b.Helper()
	return openIn(b, b.TempDir())
}

func openIn(b *testing.B, dir string) *embedded.Server {
	b.Helper()
	server, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Close(); err != nil {
			b.Error(err)
		}
	})
	return server
}

// fill inserts n unit-like documents into c: they have some fields, one of which, key, is worth
// an index. Ten documents share each key.
func fill(b *testing.B, c *mgo.Collection, n int) {
	b.Helper()
	for from := 0; from < n; from += 1000 {
		bulk := c.Bulk()
		for i := from; i < min(from+1000, n); i++ {
			bulk.Insert(unit(i))
		}
		if _, err := bulk.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func unitName(i int) string { return fmt.Sprintf("service-%d/%d", i/10, i%10) }

func unit(i int) bson.D {
	return bson.D{
		{Name: "_id", Value: unitName(i)},
		{Name: "key", Value: fmt.Sprintf("service-%d", i/10)},
		{Name: "life", Value: 0},
		{Name: "principal", Value: ""},
		{Name: "subordinates", Value: []string{}},
		{Name: "machine", Value: fmt.Sprint(i)},
		{Name: "series", Value: "noble"},
		{Name: "charm", Value: "local:noble/service-1"},
		{Name: "tools", Value: bson.D{{Name: "version", Value: "1.2.3-noble-amd64"}, {Name: "size", Value: int64(1 << 20)}}},
		{Name: "password", Value: "c29tZXRoaW5nIHRoYXQgbG9va3MgbGlrZSBhIGhhc2g="},
		{Name: "txn-queue", Value: []string{}},
		{Name: "txn-revno", Value: int64(2)},
	}
}

// BenchmarkFind looks up documents among 5,000 and among 100,000: one by _id, or the ten of one
// key by an index.
func BenchmarkFind(b *testing.B) {
	for _, docs := range []int{5000, 100_000} {
		dir := b.TempDir()
		server := openIn(b, dir)
		session := connect(b, server)
		c := session.DB("bench").C("units")
		fill(b, c, docs)
		if err := c.EnsureIndexKey("key"); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("by=_id/docs=%d", docs), func(b *testing.B) {
			var doc struct {
				ID string `bson:"_id"`
			}
			for b.Loop() {
				if err := c.FindId(unitName(rand.IntN(docs))).One(&doc); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("by=index/docs=%d", docs), func(b *testing.B) {
			var found []struct {
				ID string `bson:"_id"`
			}
			for b.Loop() {
				if err := c.Find(bson.D{{Name: "key", Value: fmt.Sprintf("service-%d", rand.IntN(docs/10))}}).All(&found); err != nil || len(found) != 10 {
					b.Fatal(len(found), err)
				}
			}
		})
		session.Close()
	}
}

// BenchmarkMemory reports how much more memory the process needs for a store of 100,000
// documents and one index, and the size on disk. The process has written and read all the
// documents, so its caches are as full as they get.
func BenchmarkMemory(b *testing.B) {
	const docs = 100_000
	for b.Loop() {
		before := resident(b)
		dir := b.TempDir()
		server := openIn(b, dir)
		session := connect(b, server)
		c := session.DB("bench").C("units")
		fill(b, c, docs)
		if err := c.EnsureIndexKey("key"); err != nil {
			b.Fatal(err)
		}
		if n, err := c.Find(bson.D{{Name: "none", Value: nil}}).Count(); n != docs || err != nil {
			b.Fatal(n, err)
		}
		b.ReportMetric(float64(resident(b)-before)/1e6, "MB-memory")
		session.Close()
		if err := server.Close(); err != nil {
			b.Fatal(err)
		}
		if err := mongotest.Compact(b.Context(), dir, nil); err != nil {
			b.Fatal(err)
		}
		session = connect(b, openIn(b, dir))
		var status struct {
			Engine struct {
				DiskBytes int64 `bson:"diskBytes"`
			} `bson:"storageEngine"`
		}
		if err := session.Run("serverStatus", &status); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(status.Engine.DiskBytes)/1e6, "MB-disk")
		session.Close()
	}
}

// resident returns the process's resident memory in bytes, after it has returned what it could
// to the system. The heap size isn't enough: part of the store's caches is outside the heap.
func resident(b *testing.B) int64 {
	b.Helper()
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("reading a process's memory size requires Linux's /proc")
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// BenchmarkWriteDuringScan reports the 99th percentile of write latency while a client reads
// 100,000 documents repeatedly, as a multiple of the latency without that client.
func BenchmarkWriteDuringScan(b *testing.B) {
	const docs, writes = 100_000, 5000
	server := onDisk(b)
	session := connect(b, server)
	defer session.Close()
	c := session.DB("bench").C("units")
	fill(b, c, docs)
	p99 := func() time.Duration {
		took := make([]time.Duration, writes)
		for i := range took {
			start := time.Now()
			if err := c.UpdateId(unitName(rand.IntN(docs)), bson.D{{Name: "$inc", Value: bson.D{{Name: "n", Value: 1}}}}); err != nil {
				b.Fatal(err)
			}
			took[i] = time.Since(start)
		}
		slices.Sort(took)
		return took[writes*99/100]
	}
	for b.Loop() {
		idle := p99()
		reader := session.Copy()
		stop, scans := make(chan struct{}), 0
		var wg sync.WaitGroup
		wg.Go(func() {
			c := c.With(reader)
			for {
				select {
				case <-stop:
					return
				default:
				}
				// No field is called none, so each document is examined and none is sent.
				if n, err := c.Find(bson.D{{Name: "none", Value: 1}}).Count(); n != 0 || err != nil {
					b.Error(n, err)
					return
				}
				scans++
			}
		})
		busy := p99()
		close(stop)
		wg.Wait()
		reader.Close()
		b.ReportMetric(float64(idle.Microseconds()), "idle-p99-µs")
		b.ReportMetric(float64(busy.Microseconds()), "scan-p99-µs")
		b.ReportMetric(float64(busy)/float64(idle), "scan/idle")
		b.ReportMetric(float64(scans), "scans")
	}
}

// BenchmarkServed measures what a client of a plain server sees over TCP: updates by _id, and
// transactions of two operations, one after another. $JUJUD may name a program whose `mongod`
// is measured instead.
func BenchmarkServed(b *testing.B) {
	address := served(b)
	for _, concern := range []struct {
		name string
		safe mgo.Safe
	}{{"w1", mgo.Safe{}}, {"j", mgo.Safe{J: true}}} {
		session, err := mgo.Dial("mongodb://" + address + "/?connect=direct")
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		session.SetSafe(&concern.safe)
		db := session.DB("bench" + concern.name)
		c := db.C("units")
		fill(b, c, 5000)
		b.Run("update/"+concern.name, func(b *testing.B) {
			for i := range b.N {
				if err := c.UpdateId(unitName(i%5000), bson.M{"$set": bson.M{"life": i}}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("transaction/"+concern.name, func(b *testing.B) {
			runner := txn.NewRunner(db.C("txns"))
			for i := range b.N {
				op := func(n int) txn.Op {
					return txn.Op{C: c.Name, Id: unitName(n % 5000), Assert: txn.DocExists, Update: bson.M{"$set": bson.M{"life": i}}}
				}
				if err := runner.Run([]txn.Op{op(i), op(i + 2500)}, "", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// served returns the address of a server.
func served(b *testing.B) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	if jujud := os.Getenv("JUJUD"); jujud != "" {
		listener.Close()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		cmd := exec.Command(jujud, "mongod", "--dbpath", b.TempDir(), "--port", port)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		})
		return listener.Addr().String()
	}
	server, err := embedded.Open(b.TempDir(), embedded.Options{SyncEvery: 100 * time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	go server.Serve(context.Background(), listener)
	b.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}
