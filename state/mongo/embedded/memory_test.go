package embedded_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/doc/tools/verify"
	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/bsontest"
	"juju/state/mongo/embedded/wire"
)

const mega = 1 << 20

// A pipes is a listener of connections without buffers: a write waits until the other end reads.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return nil }

// A crowd is a server with slow clients.
type crowd struct {
	*embedded.Server
	t     *testing.T
	pipes pipes
}

// inCrowd runs a test in a bubble, with a server that holds at most memory bytes.
func inCrowd(t *testing.T, memory int64, test func(t *testing.T, s *crowd)) {
	inBubble(t, embedded.Options{Memory: memory}, func(t *testing.T, s *embedded.Server) {
		p := make(pipes)
		go func() { _ = s.Serve(context.Background(), p) }()
		test(t, &crowd{s, t, p})
	})
}

// slow connects a client whose messages and answers wait for the other side.
func (s *crowd) slow() *client {
	mine, theirs := net.Pipe()
	s.pipes <- theirs
	s.t.Cleanup(func() { mine.Close() })
	return &client{t: s.t, conn: mine}
}

// start sends a command and doesn't read its answer.
func (c *client) start(cmd d) {
	c.send(wire.AppendMsg(nil, 1, 0, bsontest.RawDocument(append(cmd, bson.E{Key: "$db", Value: "db"}))))
	synctest.Wait()
}

// gone reports whether the server has ended the connection.
func (c *client) gone() bool {
	_, _, err := wire.ReadAnswer(c.conn, wire.MaxMessage)
	return err != nil
}

// holds fails the test unless the server holds from least to most bytes.
func (s *crowd) holds(about string, least, most int64) {
	s.t.Helper()
	synctest.Wait()
	if now, _ := s.Held(); now < least || now > most {
		s.t.Errorf("%s: the server holds %.1f MiB, want %d to %d", about, float64(now)/mega, least/mega, most/mega)
	}
}

func text(bytes int) bson.E { return bson.E{Key: "x", Value: strings.Repeat("x", bytes)} }

func put(id any, bytes int) d {
	return d{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{d{{Key: "_id", Value: id}, text(bytes)}}}}
}

// changing returns an update of document 1.
func changing(operator string, field bson.E) d {
	return d{{Key: "update", Value: "c"}, {Key: "updates", Value: bson.A{d{{Key: "q", Value: d{{Key: "_id", Value: 1}}},
		{Key: "u", Value: d{{Key: operator, Value: d{field}}}}}}}}
}

var increment = changing("$inc", bson.E{Key: "n", Value: 1})

func following(c *client, options d) (id int64) {
	return number(c.must(d{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{d{{Key: "$changeStream", Value: options}}}},
		{Key: "cursor", Value: d{}}}), "cursor", "id")
}

func next(id int64) d {
	return d{{Key: "getMore", Value: id}, {Key: "collection", Value: "c"}, {Key: "maxTimeMS", Value: 1000}}
}

func batchOf(t *testing.T, reply bsoncore.Document) []bsoncore.Value {
	t.Helper()
	if err := reply.Validate(); err != nil {
		t.Fatal(err)
	}
	list, err := reply.Lookup("cursor", "nextBatch").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What clients ask for and don't read is bounded. Those who hold the most lose their connections when others need it, and
// nothing is held for those who are gone.
func TestUnreadRepliesAreBounded(t *testing.T) {
	inCrowd(t, 64*mega, func(t *testing.T, s *crowd) {
		c := connect(t, s.Server)
		c.must(put(1, 3*mega))
		c.must(put(2, 100<<10))
		small := s.slow()
		small.start(d{find, {Key: "filter", Value: d{{Key: "_id", Value: 2}}}})
		var all []*client
		for range 40 {
			one := s.slow()
			one.start(d{find, {Key: "filter", Value: d{{Key: "_id", Value: 1}}}})
			all = append(all, one)
		}
		s.holds("unread answers", 32*mega, 64*mega)
		c.must(d{find, {Key: "filter", Value: d{{Key: "_id", Value: 1}}}})
		time.Sleep(time.Minute)
		ended := 0
		for _, one := range all {
			if one.gone() {
				ended++
			}
			one.conn.Close()
		}
		if ended == 0 || ended == len(all) {
			t.Errorf("%d of %d connections have ended", ended, len(all))
		}
		if small.gone() {
			t.Error("the connection of a client that held little has ended")
		}
		s.holds("after that", 0, 0)
		if _, most := s.Held(); most > 66*mega {
			t.Errorf("it held up to %d MiB", most/mega)
		}
	})
}

// A request that waits for memory ends when its client is gone, and so leaves its turn to others.
func TestRequestsOfGoneClientsEnd(t *testing.T) {
	inCrowd(t, 64*mega, func(t *testing.T, s *crowd) {
		c := connect(t, s.Server)
		c.must(put(1, 3*mega))
		var all []*client
		for range 40 {
			one := s.slow()
			one.start(d{find, {Key: "filter", Value: d{{Key: "_id", Value: 1}}}})
			all = append(all, one)
		}
		const unread = 30 // which use up the memory
		for _, one := range all[unread:] {
			one.conn.Close()
		}
		synctest.Wait() // no time passes
		if n := number(c.must(d{{Key: "serverStatus", Value: 1}}), "connections", "current"); n != 1+unread {
			t.Errorf("%d connections are served, want this one and %d", n, unread)
		}
	})
}

// An open cursor keeps neither documents nor the connection that used it last, with a reply that its client did not read.
func TestOpenCursorsKeepNoReplies(t *testing.T) {
	inCrowd(t, 256*mega, func(t *testing.T, s *crowd) {
		c := connect(t, s.Server)
		for i := range 3 {
			c.must(put(i, 5*mega))
		}
		c.must(d{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{
			d{{Key: "key", Value: d{{Key: "n", Value: 1}}}, {Key: "name", Value: "n"}}}}})
		before := heap()
		const each = 10
		for range each {
			for _, cmd := range []d{
				{find},
				{find, {Key: "hint", Value: "n"}},
				{find, {Key: "batchSize", Value: 0}},
				{{Key: "aggregate", Value: "c"}, {Key: "pipeline", Value: bson.A{}}, {Key: "cursor", Value: d{}}},
			} {
				one := s.slow()
				if number(one.must(cmd), "cursor", "id") == 0 {
					t.Fatalf("%v has no more documents", cmd)
				}
				one.start(d{find})
				one.conn.Close()
			}
		}
		synctest.Wait()
		if n := openCursors(c); n != 4*each {
			t.Errorf("%d cursors are open", n)
		}
		if grown := heap() - before; grown > 3*each*mega {
			t.Errorf("%d open cursors take %d MiB", 4*each, grown/mega)
		}
	})
}

// Requests that never end are bounded in the same way.
func TestUnfinishedRequestsAreBounded(t *testing.T) {
	inCrowd(t, 64*mega, func(t *testing.T, s *crowd) {
		c := connect(t, s.Server)
		msg := wire.AppendMsg(nil, 1, 0, bsontest.RawDocument(append(put("late", 14*mega), bson.E{Key: "$db", Value: "db"})))
		for range 10 {
			one := s.slow()
			go func() { _, _ = one.conn.Write(msg[:mega]) }()
		}
		s.holds("unfinished requests", 28*mega, 64*mega)
		c.must(put(1, 14*mega))
		time.Sleep(time.Minute)
		s.holds("after a minute", 0, 64*mega)
	})
}

// Streams share what they haven't read: six events of one large document, however many streams look it up.
func TestStreamsShareEvents(t *testing.T) {
	inCrowd(t, 256*mega, func(t *testing.T, s *crowd) {
		c := connect(t, s.Server)
		c.must(put(1, 3*mega))
		streams := map[*client]int64{}
		for range 100 {
			one := s.slow()
			streams[one] = following(one, d{{Key: "fullDocument", Value: "updateLookup"}})
		}
		for range 6 {
			c.must(increment)
		}
		for one, id := range streams {
			one.start(next(id)) // and doesn't read
		}
		s.holds("100 streams", 6*mega, 24*mega)
		for one, id := range streams {
			events := 0
			for ask := false; events < 6; ask = true { // a reply has some 4 MB
				if ask {
					one.start(next(id))
				}
				_, msg, err := wire.ReadAnswer(one.conn, wire.MaxMessage)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range batchOf(t, msg.(*wire.Msg).Body) {
					events++
					if n := len(e.Document().Lookup("fullDocument", "x").StringValue()); n != 3*mega {
						t.Fatalf("a looked-up document has %d bytes", n)
					}
				}
			}
		}
		for one := range streams {
			one.conn.Close()
		}
		s.holds("after all have read", 0, 8*mega)
	})
}

// A stream that doesn't read loses its history, the connection too if it is in the middle of an answer; one that reads
// doesn't, and nor does one that is behind by two of the largest changes there are.
func TestStreamsLoseTheirHistory(t *testing.T) {
	inCrowd(t, 256*mega, func(t *testing.T, s *crowd) {
		c, reads, idle, unread := connect(t, s.Server), s.slow(), s.slow(), s.slow()
		id, idleID, unreadID := following(reads, d{}), following(idle, d{}), following(unread, d{})
		unread.start(next(unreadID))
		c.must(put(1, 16*mega-100))
		c.must(changing("$set", text(15*mega)))
		for _, want := range []string{"insert", "update"} {
			if got := batchOf(t, reads.must(next(id))); len(got) != 1 || got[0].Document().Lookup("operationType").StringValue() != want {
				t.Fatalf("%d events, want the %s", len(got), want)
			}
		}
		s.holds("two changes that not all have read", 31*mega, 48*mega)
		for i := range 3 {
			c.must(changing("$set", text(15*mega+1+i)))
			batchOf(t, reads.must(next(id)))
		}
		if code := idle.code(next(idleID)); code != 286 {
			t.Errorf("a stream that has not read: code %d", code)
		}
		if !unread.gone() {
			t.Error("the connection of a stream that does not read goes on")
		}
		s.holds("many changes", 0, 66*mega)
		reads.conn.Close()
		synctest.Wait()
		s.holds("after all have gone", 0, 8*mega)
		if n := openCursors(c); n != 1 { // that of the client that was between two requests
			t.Errorf("%d cursors are open", n)
		}
	})
}

// What a transaction changes and all that it says of it is counted, by its size, not by the documents around it.
func TestTransactionsAreCounted(t *testing.T) {
	inCrowd(t, 256*mega, func(t *testing.T, s *crowd) {
		c := connect(t, s.Server)
		c.must(put(1, 4*mega))
		stream := following(c, d{})
		for i := range 300 {
			c.must(in(1, i == 0, increment...))
		}
		s.holds("300 increments", 4*mega, 20*mega)
		c.must(in(1, false, commit))
		if events := batchOf(t, c.must(next(stream))); len(events) != 300 {
			t.Errorf("the stream has %d events", len(events))
		}
		s.holds("after the commit", 0, mega)
		code := 0
		for i := 0; code == 0 && i < 10; i++ {
			code = c.code(in(2, i == 0, changing("$set", text(4*mega+i))...))
			s.holds("replacements", 0, 40*mega)
		}
		if code != 257 {
			t.Errorf("a document that is changed again and again: code %d", code)
		}
		s.holds("after that", 0, mega)
		c.must(in(3, true, put("large", 15*mega)...))
		c.must(in(3, false, commit))
	})
}

// Idle transactions are aborted when others need their memory, the largest first.
func TestIdleTransactionsAreAborted(t *testing.T) {
	inCrowd(t, 64*mega, func(t *testing.T, s *crowd) {
		c := connect(t, s.Server)
		c.must(adding(0))
		inSession := func(n byte, start bool, cmd ...bson.E) d {
			cmd = in(1, start, cmd...)
			for i := range cmd {
				if cmd[i].Key == "lsid" {
					cmd[i] = lsid(n)
				}
			}
			return cmd
		}
		c.must(inSession(100, true, put("small", mega)...))
		for n := range byte(10) {
			c.must(inSession(n, true, put(fmt.Sprint(n), 8*mega)...))
			s.holds(fmt.Sprintf("transaction %d", n), 8*mega, 64*mega)
		}
		aborted := 0
		for n := range byte(10) {
			switch code := c.code(inSession(n, false, commit)); code {
			case 0:
			case 251:
				aborted++
			default:
				t.Errorf("a commit: code %d", code)
			}
		}
		if aborted == 0 || aborted == 10 {
			t.Errorf("%d transactions of 10 were aborted", aborted)
		}
		if code := c.code(inSession(100, false, commit)); code != 0 {
			t.Errorf("the commit of a small one: code %d", code)
		}
		s.holds("after all", 0, 0)
	})
}

// The replies of retryable writes are not kept in memory, and a client that repeats one gets it nevertheless.
func TestRepliesAreNotKept(t *testing.T) {
	s := onDisk(t, t.TempDir())
	defer shut(t, s)
	c := connect(t, s)
	c.must(put(1, 2*mega))
	modify := func(n byte) bsoncore.Document {
		return c.must(append(d{{Key: "findAndModify", Value: "c"}, {Key: "query", Value: d{{Key: "_id", Value: 1}}},
			{Key: "update", Value: d{{Key: "$inc", Value: d{{Key: "n", Value: 1}}}}}}, lsid(n), bson.E{Key: "txnNumber", Value: int64(1)}))
	}
	before := heap()
	for n := range byte(100) {
		modify(n)
	}
	if grown := heap() - before; grown > 100*mega {
		t.Errorf("100 sessions take %d MiB", grown/mega)
	}
	if n := number(modify(0), "value", "n"); n != 0 {
		t.Errorf("a repeated findAndModify returns version %d, want that of the first time", n)
	}
	// The client may have a reply before the server has let go of it.
	now, _ := s.Held()
	for deadline := time.Now().Add(verify.Patience); now != 0 && time.Now().Before(deadline); now, _ = s.Held() {
		runtime.Gosched()
	}
	if now != 0 {
		t.Errorf("%d bytes are held", now)
	}
}

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What cursors have sorted is counted. They are closed when others need the memory.
func TestSortedCursorsAreBounded(t *testing.T) {
	inCrowd(t, 64*mega, func(t *testing.T, s *crowd) {
		c := connect(t, s.Server)
		for i := range 8 {
			c.must(put(i, mega))
		}
		plain := open5(c)
		var ids []int64
		for range 10 {
			c.must(d{find, {Key: "sort", Value: d{{Key: "x", Value: 1}}}, {Key: "batchSize", Value: 1}, {Key: "limit", Value: 1}})
			ids = append(ids, number(c.must(d{find, {Key: "sort", Value: d{{Key: "y", Value: 1}}}, {Key: "batchSize", Value: 1}}), "cursor", "id"))
			s.holds("sorted documents", 7*mega, 64*mega)
			time.Sleep(time.Millisecond) // it is older than the next
		}
		if code := c.code(next(ids[0])); code != 43 {
			t.Errorf("the oldest cursor: code %d", code)
		}
		for _, id := range append(ids[len(ids)-1:], plain) {
			for id != 0 {
				id = number(c.must(next(id)), "cursor", "id")
			}
		}
		c.must(d{{Key: "killCursors", Value: "c"}, {Key: "cursors", Value: ids}})
		s.holds("after all", 0, 0)
	})
}
