package mongotest

import (
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/wire"
)

// replicas are what the members of a set have that can lose writes: what its primary has, and what the majority has. Each
// write is executed by the primary at once and noted, and later by the majority, in the same order; a transaction is one
// write. What has not reached the majority when the primary is lost is lost with it.
type replicas struct {
	all, sure *embedded.Server
	fs        *vfs.MemFS // of sure
	link      net.Conn   // to sure

	mu      sync.Mutex
	held    bool // no write reaches the majority
	ended   bool // this primary is no longer one
	waiting [][]bsoncore.Document
	noted   uint32        // the number of the last write
	reached uint32        // the last one that the majority has
	moved   chan struct{} // closed when one of these changes
	open    map[string][]bsoncore.Document
	ends    map[string]uint32 // the numbers of committed transactions
}

// NewReplicas is NewSet with members that lose the writes which have not reached the majority.
func NewReplicas(t testing.TB, members int) *Set {
	t.Helper()
	s := newSet(t, members, embedded.Options{})
	fs := vfs.NewCrashableMem()
	s.pair = newReplicas(t, s, fs, 0)
	return s
}

// newReplicas returns replicas that have what is on fs, after a number of writes.
func newReplicas(t testing.TB, s *Set, fs *vfs.MemFS, writes uint32) *replicas {
	r := &replicas{fs: fs, noted: writes, reached: writes, moved: make(chan struct{}), open: map[string][]bsoncore.Document{}, ends: map[string]uint32{}}
	all, sure := fs.CrashClone(vfs.CrashCloneCfg{}), fs
	r.all, r.sure = s.serverOn(t, all), s.serverOn(t, sure)
	var err error
	if r.link, err = r.sure.Dial(); err != nil {
		t.Fatal(err)
	}
	s.server = r.all
	return r
}

// serverOn opens a server that is closed with the set.
func (s *Set) serverOn(t testing.TB, fs vfs.FS) *embedded.Server {
	server, err := embedded.Open("store", embedded.Options{FS: fs, OnlyMsg: true})
	if err != nil {
		t.Fatal(err)
	}
	s.servers = append(s.servers, server)
	return server
}

// next returns the replicas of the next primary: it has what the majority has.
func (r *replicas) next(t testing.TB, s *Set) *replicas {
	if err := r.sure.Barrier(t.Context()); err != nil {
		t.Error(err)
	}
	return newReplicas(t, s, r.fs.CrashClone(vfs.CrashCloneCfg{}), r.reached)
}

// change changes the replicas, and tells those who wait for that.
func (r *replicas) change(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
	if !r.held && !r.ended {
		for _, write := range r.waiting {
			for _, command := range write {
				exchange(r.link, command)
			}
		}
		r.waiting, r.reached = nil, r.noted
	}
	close(r.moved)
	r.moved = make(chan struct{})
}

// Hold keeps later writes from reaching the majority until Release, or until the primary is lost.
func (s *Set) Hold() { s.holding(true) }

// Release ends Hold.
func (s *Set) Release() { s.holding(false) }

func (s *Set) holding(held bool) {
	s.mu.Lock()
	r := s.pair
	s.mu.Unlock()
	r.change(func() { r.held = held })
}

// RollBack loses the primary, and with it the writes that have not reached the majority.
func (s *Set) RollBack(t testing.TB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abortAll()
	s.pair.end()
	s.pair = s.pair.next(t, s)
	s.primary, s.asked, s.elects = -1, 0, time.Time{}
	s.failed++
	for f := range s.fronts {
		f.close()
	}
}

// Split has a client, by its name, reach only the primary, which goes on as such without a majority until Heal, while the
// others elect another one.
func (s *Set) Split(t testing.TB, client string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abortAll()
	r := s.pair
	r.change(func() { r.held = true })
	s.cut, s.stale, s.old = client, s.primary, r
	s.pair = r.next(t, s)
	s.term++
	s.primary = (s.primary + 1) % len(s.hosts)
	for f := range s.fronts {
		if f.name != client || f.member != s.stale {
			f.close()
		}
	}
}

// Heal ends Split: the former primary becomes a secondary, and loses the writes that have not reached the majority.
func (s *Set) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old.end()
	for f := range s.fronts {
		if f.pair == s.old {
			f.close()
		}
	}
	s.cut, s.stale, s.old = "", -1, nil
}

func (r *replicas) end() { r.change(func() { r.ended = true }) }

// ddl are the other commands that write.
var ddl = []string{"create", "createIndexes", "drop", "dropDatabase", "dropIndexes", "deleteIndexes"}

// forward executes a command of a client.
func (r *replicas) forward(f *front, body bsoncore.Document) (bsoncore.Document, bool) {
	name := firstKey(body)
	_, inTxn := raw.Get(body, "autocommit")
	switch {
	case name == "getMore", name == "killCursors":
		if answer, ok := exchange(f.sure, body); ok && succeeded(answer) && !strangers(answer) {
			return answer, ok
		}
		return exchange(f.upstream, body)
	case inTxn:
		return r.transact(f, name, body)
	case slices.Contains(writes, name) || slices.Contains(ddl, name):
		return r.write(f, body)
	}
	if concern, _ := raw.Get(body, "readConcern"); concern.Type == bson.TypeEmbeddedDocument {
		if level, _ := raw.Get(concern.Data, "level"); level.Type == bson.TypeString && string(raw.Text(level)) == "majority" {
			return r.read(f, concern.Data, body)
		}
	}
	return exchange(f.upstream, body)
}

// read reads what the majority has, once that is as new as the client wants.
func (r *replicas) read(f *front, concern, body bsoncore.Document) (bsoncore.Document, bool) {
	after, _ := raw.Get(concern, "afterClusterTime")
	if _, n, ok := after.TimestampOK(); ok {
		if reached, _ := r.await(n, time.Minute); !reached {
			return nil, false
		}
	}
	r.mu.Lock()
	at := r.reached
	r.mu.Unlock()
	answer, ok := exchange(f.sure, body)
	return withTime(answer, at), ok
}

// write executes a write.
func (r *replicas) write(f *front, body bsoncore.Document) (answer bsoncore.Document, ok bool) {
	var n uint32
	r.change(func() {
		if answer, ok = exchange(f.upstream, body); ok && succeeded(answer) {
			n = r.note(body)
		}
	})
	return r.replied(answer, ok, body, n)
}

// note notes a write that the majority has yet to execute, and returns its number. The caller holds mu.
func (r *replicas) note(commands ...bsoncore.Document) uint32 {
	for i, c := range commands {
		commands[i] = slices.Clone(c)
	}
	r.noted++
	r.waiting = append(r.waiting, commands)
	return r.noted
}

// transact executes a command of a transaction.
func (r *replicas) transact(f *front, name string, body bsoncore.Document) (answer bsoncore.Document, ok bool) {
	session, _ := raw.Get(body, "lsid")
	number, _ := raw.Get(body, "txnNumber")
	key := fmt.Sprint(session, number)
	if name != "commitTransaction" {
		answer, ok = exchange(f.upstream, body)
		r.change(func() {
			switch {
			case name == "abortTransaction":
				delete(r.open, key)
			case ok && succeeded(answer):
				r.open[key] = append(r.open[key], slices.Clone(body))
			}
		})
		return answer, ok
	}
	var n uint32
	r.change(func() {
		if answer, ok = exchange(f.upstream, body); !ok || !succeeded(answer) {
			return
		}
		if n = r.ends[key]; n == 0 {
			n = r.note(append(r.open[key], body)...)
			r.ends[key] = n
			delete(r.open, key)
		}
	})
	return r.replied(answer, ok, body, n)
}

// replied returns the reply to a write, once it has reached the majority if the client waits for that.
func (r *replicas) replied(answer bsoncore.Document, ok bool, body bsoncore.Document, n uint32) (bsoncore.Document, bool) {
	if !ok || n == 0 {
		return answer, ok
	}
	answer = withTime(answer, n)
	if !isMajorityWrite(body) {
		return answer, true
	}
	reached, ended := r.await(n, wtimeout(body))
	switch {
	case ended:
		return nil, false
	case !reached:
		return timedOut(answer), true
	}
	return answer, true
}

// await waits until the majority has a write. ended is set if it never will.
func (r *replicas) await(n uint32, wait time.Duration) (reached, ended bool) {
	late := time.NewTimer(wait)
	defer late.Stop()
	for {
		r.mu.Lock()
		reached, ended = r.reached >= n, r.ended
		moved := r.moved
		r.mu.Unlock()
		if reached || ended {
			return reached, ended && !reached
		}
		select {
		case <-moved:
		case <-late.C:
			return false, false
		}
	}
}

// withTime appends the time of a write to a reply.
func withTime(answer bsoncore.Document, n uint32) bsoncore.Document {
	if answer == nil {
		return nil
	}
	return with(answer, func(dst []byte) []byte { return bsoncore.AppendTimestampElement(dst, "operationTime", 1, n) })
}

func firstKey(body bsoncore.Document) string {
	it := raw.Elements(body)
	first, _ := it.Next()
	return string(first.Key)
}

func succeeded(answer bsoncore.Document) bool {
	v, _ := raw.Get(answer, "ok")
	return raw.Truthy(v)
}

// strangers reports whether the reply to killCursors names cursors that the server doesn't have.
func strangers(answer bsoncore.Document) bool {
	v, ok := raw.Get(answer, "cursorsNotFound")
	return ok && !raw.IsEmpty(v.Data)
}

// exchange sends a command on a connection to a server, and returns the reply.
func exchange(conn net.Conn, body bsoncore.Document) (bsoncore.Document, bool) {
	if _, err := conn.Write(wire.AppendMsg(nil, 1, 0, body)); err != nil {
		return nil, false
	}
	_, m, err := wire.ReadAnswer(conn, wire.MaxMessage)
	if err != nil {
		return nil, false
	}
	return m.(*wire.Msg).Body, true
}

// Unsure returns how many writes have not reached the majority.
func (s *Set) Unsure() int {
	s.mu.Lock()
	r := s.pair
	s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.waiting)
}
