package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"

	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/wire"
)

// These benchmarks measure the server alone, with prepared messages; mgo takes about as long again. Package
// conformancetest has benchmarks with mgo.

func benchServer(b *testing.B) *client {
	b.Helper()
	s, err := embedded.Open(b.TempDir(), embedded.Options{Logger: testLog{b}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { shut(b, s) })
	return connect(b, s)
}

// unit returns a document like those that package state stores.
func unit(i int) d {
	return d{
		{Key: "_id", Value: fmt.Sprintf("service-%d/%d", i/10, i%10)},
		{Key: "key", Value: fmt.Sprintf("service-%d", i/10)},
		{Key: "life", Value: 0},
		{Key: "subordinates", Value: bson.A{}},
		{Key: "machine", Value: fmt.Sprint(i)},
		{Key: "charm", Value: "local:noble/service-1"},
		{Key: "tools", Value: d{{Key: "version", Value: "1.2.3-noble-amd64"}, {Key: "size", Value: int64(1 << 20)}}},
		{Key: "password", Value: strings.Repeat("x", 44)},
		{Key: "txn-queue", Value: bson.A{}},
		{Key: "txn-revno", Value: int64(2)},
	}
}

func fill(c *client, n int) {
	c.t.Helper()
	for from := 0; from < n; from += 1000 {
		docs := bson.A{}
		for i := from; i < min(n, from+1000); i++ {
			docs = append(docs, unit(i))
		}
		c.must(d{{Key: "insert", Value: "c"}, {Key: "documents", Value: docs}})
	}
	c.must(d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{d{{Key: "name", Value: "key"}, {Key: "key", Value: d{{Key: "key", Value: 1}}}}}}})
}

// query encodes a command the way mgo does.
func query(cmd d) []byte {
	return wire.AppendQuery(nil, 1, wire.Query{Collection: "db.$cmd", Limit: -1, Query: bsontest.RawDocument(cmd)})
}

// ask sends a prepared message and reads the reply.
func (c *client) ask(b *testing.B, msg []byte) {
	b.Helper()
	c.send(msg)
	if _, _, err := wire.ReadAnswer(c.conn, wire.MaxMessage); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkCommand(b *testing.B) {
	byID := func(i int) d { return d{unit(i)[0]} }
	concern := bson.E{Key: "writeConcern", Value: d{{Key: "getLastError", Value: 1}}}
	for _, bench := range []struct {
		name string
		make func(i, docs int) d
	}{
		{"insert", func(i, _ int) d {
			return d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{unit(1_000_000 + i)}}, {Key: "ordered", Value: true}, concern}
		}},
		{"find-by=_id", func(i, docs int) d {
			return d{{Key: "find", Value: "c"}, {Key: "filter", Value: byID(i % docs)}, {Key: "limit", Value: 1}, {Key: "batchSize", Value: 1}, {Key: "singleBatch", Value: true}}
		}},
		{"find-by=index", func(i, docs int) d {
			return d{{Key: "find", Value: "c"}, {Key: "filter", Value: d{unit(i % docs)[1]}}}
		}},
		{"assert", func(i, docs int) d {
			q := append(byID(i%docs), bson.E{Key: "txn-revno", Value: int64(2)}, bson.E{Key: "$or", Value: bson.A{d{{Key: "life", Value: 0}}}})
			return d{{Key: "find", Value: "c"}, {Key: "filter", Value: q}, {Key: "projection", Value: d{{Key: "_id", Value: 1}}}, {Key: "limit", Value: 1}, {Key: "batchSize", Value: 1}, {Key: "singleBatch", Value: true}}
		}},
		{"update", func(i, docs int) d {
			q := append(byID(i%docs), bson.E{Key: "txn-revno", Value: int64(2)})
			u := d{{Key: "$set", Value: d{{Key: "machine", Value: fmt.Sprint(i)}}}, {Key: "$pullAll", Value: d{{Key: "txn-queue", Value: bson.A{"5f43a4d5e1b2c3a4d5e6f708_12345678"}}}}}
			return d{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: q}, {Key: "u", Value: u}}}}, {Key: "ordered", Value: true}, concern}
		}},
		{"findAndModify", func(i, docs int) d {
			return d{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: byID(i % docs)},
				{Key: "update", Value: d{{Key: "$addToSet", Value: d{{Key: "txn-queue", Value: "5f43a4d5e1b2c3a4d5e6f708_" + fmt.Sprint(i%4)}}}}},
				{Key: "fields", Value: d{{Key: "txn-queue", Value: 1}, {Key: "txn-revno", Value: 1}, {Key: "txn-remove", Value: 1}, {Key: "txn-insert", Value: 1}}}, {Key: "new", Value: true}}
		}},
	} {
		for _, docs := range []int{5000, 100_000} {
			b.Run(fmt.Sprintf("%s/docs=%d", bench.name, docs), func(b *testing.B) {
				c := benchServer(b)
				fill(c, docs)
				msgs := make([][]byte, b.N)
				for i := range msgs {
					msgs[i] = query(bench.make(rand.IntN(10_000_000), docs))
				}
				if bench.name == "insert" {
					for i := range msgs {
						msgs[i] = query(bench.make(i, docs))
					}
				}
				runtime.GC()
				b.ReportAllocs()
				b.ResetTimer()
				for _, msg := range msgs {
					c.ask(b, msg)
				}
			})
		}
	}
}

// BenchmarkMemory reports the memory and disk space that 100,000 documents with an index take.
func BenchmarkMemory(b *testing.B) {
	const docs = 100_000
	used := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / 1e6
	}
	for b.Loop() {
		before := used()
		s, err := embedded.Open(b.TempDir(), embedded.Options{Logger: testLog{b}})
		if err != nil {
			b.Fatal(err)
		}
		c := connect(b, s)
		fill(c, docs)
		b.ReportMetric(used()-before, "MB-heap")
		b.ReportMetric(float64(number(c.must(d{{Key: "serverStatus", Value: 1}}), "storageEngine", "diskBytes"))/1e6, "MB-disk")
		shut(b, s)
	}
}

// BenchmarkWriteDuringScan reports the 99th percentile of update latency while another connection keeps
// scanning 100,000 documents, and its ratio to the latency without scans.
func BenchmarkWriteDuringScan(b *testing.B) {
	const docs, writes = 100_000, 5000
	s, err := embedded.Open(b.TempDir(), embedded.Options{Logger: testLog{b}})
	if err != nil {
		b.Fatal(err)
	}
	defer shut(b, s)
	c := connect(b, s)
	fill(c, docs)
	p99 := func() time.Duration {
		took := make([]time.Duration, writes)
		for i := range took {
			msg := query(d{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: d{unit(rand.IntN(docs))[0]}}, {Key: "u", Value: d{{Key: "$inc", Value: d{{Key: "n", Value: 1}}}}}}}}})
			start := time.Now()
			c.ask(b, msg)
			took[i] = time.Since(start)
		}
		slices.Sort(took)
		return took[writes*99/100]
	}
	for b.Loop() {
		idle := p99()
		stop := make(chan struct{})
		var wg sync.WaitGroup
		scans := 0
		wg.Go(func() {
			reader := connect(b, s)
			for {
				select {
				case <-stop:
					return
				default:
					reader.ask(b, query(d{{Key: "count", Value: "c"}, {Key: "query", Value: d{{Key: "none", Value: 1}}}}))
					scans++
				}
			}
		})
		busy := p99()
		close(stop)
		wg.Wait()
		b.ReportMetric(float64(idle.Microseconds()), "idle-p99-µs")
		b.ReportMetric(float64(busy.Microseconds()), "scan-p99-µs")
		b.ReportMetric(float64(busy)/float64(idle), "scan/idle")
		b.ReportMetric(float64(scans), "scans")
	}
}
