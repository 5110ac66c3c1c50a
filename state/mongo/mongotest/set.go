package mongotest

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded"
	"juju/state/mongo/embedded/link"
	"juju/state/mongo/embedded/raw"
)

// A Set is a simulated replica set.
type Set struct {
	// TLS, if not nil, is the TLS configuration of the members.
	TLS *tls.Config
	// Users are the users and their passwords; without users no login is required.
	Users map[string]string
	// RoundTrip is the members' response time, and Majority how long a write takes to reach the majority; they are set
	// before clients connect.
	RoundTrip, Majority time.Duration
	// RaceUpserts refuses the first upsert of each document outside a transaction, as MongoDB does when another client has
	// just inserted the document; it is set before clients connect.
	RaceUpserts bool
	// Heard, if not nil, is called with each command; it is set before clients connect.
	Heard func(Command)

	server *embedded.Server
	hosts  []string

	// aborts is held for reading while a command of a transaction is executed, and for writing while the transactions are aborted.
	aborts sync.RWMutex

	mu      sync.Mutex
	fronts  map[*front]bool
	closed  bool
	work    sync.WaitGroup
	primary int // -1 while there is none
	term    uint32
	asked   int       // how often clients have searched for a primary while there is none
	down    int       // the member that is dead, or -1
	elects  time.Time // the earliest time of the next election
	fate    *Fate
	met     chan struct{} // closed when the fate occurs
	failed  int           // fates that occurred
	late    *late
	upserts map[string]bool              // those that have been refused
	open    map[string]bsoncore.Document // transactions by their sessions, with the command that aborts each

	pair    *replicas          // of a set whose members can lose writes, or nil
	servers []*embedded.Server // all that pair has had
	cut     string             // during a split, the client that reaches only stale
	stale   int                // the former primary that goes on, or -1
	old     *replicas          // what stale has
	// minority is closed when the set regains its majority, frozen when it responds again; nil while it has, or does.
	minority, frozen chan struct{}
}

// A Command is what a client has sent.
type Command struct {
	Client     string // see DialAs
	Name       string
	Database   string
	Collection string // "" if it is not about one
	Body       bsoncore.Document
}

// Reads reports whether the command reads a collection, and is not for more of a cursor.
func (c Command) Reads() bool { return c.Collection != "" && slices.Contains(reads, c.Name) }

// IsMajorityWrite reports whether the command is a write that is to reach the majority before the reply.
func (c Command) IsMajorityWrite() bool { return isMajorityWrite(c.Body) }

// A late is a write that has not been executed yet.
type late struct {
	body bsoncore.Document
	in   int // the number of other writes before it
}

// A Fate is how and when the set loses its primary.
type Fate struct {
	At    string // the kind of write, such as "insert txns"; "" is any
	After int    // the number of the write, counted from now, starting at 1
	Done  bool   // the write is executed first
	Told  int32  // the code that the client gets; 0 closes all its connections
	Late  bool   // instead, the write is executed after twenty others, unless it is part of a transaction
}

// Name is the name of every simulated set.
const Name = "played"

// NewSet starts a set with this number of members, of which the first is primary. It ends with
// the test.
func NewSet(t testing.TB, members int) *Set {
	t.Helper()
	return newSet(t, members, embedded.Options{})
}

// NewSet36 is NewSet with MongoDB 3.6, which has no transactions.
func NewSet36(t testing.TB, members int) *Set {
	t.Helper()
	return newSet(t, members, embedded.Options{Standalone: true})
}

func newSet(t testing.TB, members int, o embedded.Options) *Set {
	t.Helper()
	o.FS, o.OnlyMsg = vfs.NewMem(), true
	server, err := embedded.Open("store", o)
	if err != nil {
		t.Fatal(err)
	}
	s := &Set{server: server, fronts: map[*front]bool{}, open: map[string]bsoncore.Document{}, term: 1, down: -1, stale: -1}
	for i := range members {
		s.hosts = append(s.hosts, fmt.Sprintf("127.0.0.1:%d", 101+i)) // nothing listens there
	}
	t.Cleanup(func() {
		s.close()
		for _, server := range append(s.servers, server) {
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return s
}

// Hosts returns the addresses of the members.
func (s *Set) Hosts() []string { return s.hosts }

// URL returns the URL of the set, with more options, such as "tls=true".
func (s *Set) URL(options ...string) string {
	return "mongodb://" + strings.Join(s.hosts, ",") + "/?" + strings.Join(append(options, "replicaSet="+Name), "&")
}

// Dial connects to the member at an address.
func (s *Set) Dial(ctx context.Context, address string) (net.Conn, error) {
	return s.DialAs("")(ctx, address)
}

// DialAs is Dial for a client with a name.
func (s *Set) DialAs(name string) func(context.Context, string) (net.Conn, error) {
	return func(_ context.Context, address string) (net.Conn, error) { return s.dial(name, address) }
}

func (s *Set) dial(name, address string) (net.Conn, error) {
	member := slices.Index(s.hosts, address)
	if member < 0 {
		return nil, fmt.Errorf("no member at %s", address)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pair := s.pair
	if s.stale >= 0 {
		if (name == s.cut) != (member == s.stale) {
			return nil, fmt.Errorf("dial tcp %s: connect: no route to host", address)
		}
		if member == s.stale {
			pair = s.old
		}
	}
	server := s.server
	if pair != nil {
		server = pair.all
	}
	upstream, err := server.Dial()
	if err != nil {
		return nil, err
	}
	client, ours := link.Pipe()
	if s.TLS != nil {
		ours = tls.Server(ours, s.TLS)
	}
	f := &front{set: s, name: name, member: member, client: ours, upstream: upstream, pair: pair}
	if pair != nil {
		if f.sure, err = pair.sure.Dial(); err != nil {
			return nil, err
		}
	}
	if s.closed {
		f.close()
		return nil, embedded.ErrClosed
	}
	if s.down == member {
		f.close()
		return nil, fmt.Errorf("dial tcp %s: connect: connection refused", address)
	}
	s.fronts[f] = true
	s.work.Go(f.serve)
	return client, nil
}

// Fail makes the set lose its primary, and returns a channel that is closed when it has. Another member is elected as
// soon as clients search for one.
func (s *Set) Fail(f Fate) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fate, s.met = &f, make(chan struct{})
	return s.met
}

// Restart closes all connections without an election, like a restarted server.
func (s *Set) Restart() {
	s.aborts.Lock()
	defer s.aborts.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abortAll()
	for f := range s.fronts {
		f.close()
	}
}

// Kill ends the primary like kill -9: all its connections are closed, and new ones fail. The others elect a
// primary after the given time, or never if it is negative; a member killed earlier comes back.
func (s *Set) Kill(election time.Duration) {
	s.aborts.Lock()
	defer s.aborts.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abortAll()
	if s.primary >= 0 {
		s.down = s.primary
	}
	s.primary, s.asked = -1, 0
	s.elects = time.Now().Add(election)
	if election < 0 {
		s.elects = time.Now().Add(24 * time.Hour)
	}
	for f := range s.fronts {
		if f.member == s.down {
			f.close()
		}
	}
}

// Elect ends the wait for an election.
func (s *Set) Elect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elects = time.Time{}
}

// Failed returns how often the primary was lost.
func (s *Set) Failed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// counts counts a write that a primary is about to execute, and returns the fate that occurs at it.
func (s *Set) counts(kind string) (f Fate, met bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late != nil {
		if s.late.in--; s.late.in == 0 {
			s.doLate()
		}
	}
	if s.fate == nil || s.fate.At != "" && s.fate.At != kind {
		return f, false
	}
	if s.fate.After--; s.fate.After > 0 {
		return f, false
	}
	f, s.fate = *s.fate, nil
	return f, true
}

// doLate executes the late write. Its client is gone.
func (s *Set) doLate() {
	body := s.late.body
	s.late = nil
	s.execute(body)
}

// begun notes that a session's transaction is open, or has ended.
func (s *Set) begun(session string, abort bsoncore.Document, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended {
		delete(s.open, session)
	} else {
		s.open[session] = abort
	}
}

// AbortTransactions aborts the open transactions, as a member does with those that are too old. It returns their number.
func (s *Set) AbortTransactions() int {
	s.aborts.Lock()
	defer s.aborts.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.abortAll()
}

// abortAll is AbortTransactions. A member also does it when it ceases to be primary. The caller holds mu and, unless
// the set has replicas, aborts.
func (s *Set) abortAll() int {
	n := len(s.open)
	for _, abort := range s.open {
		s.execute(abort)
	}
	clear(s.open)
	return n
}

// execute executes a command that no client waits for.
func (s *Set) execute(body bsoncore.Document) {
	upstream, err := s.server.Dial()
	if err != nil {
		return // the test is ending
	}
	f := &front{upstream: upstream}
	f.forward(body)
	upstream.Close()
}

// lose removes the primary at a write; if the client gets no reply, all connections to it are closed.
func (s *Set) lose(f Fate, body bsoncore.Document) {
	s.aborts.Lock()
	defer s.aborts.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	// The statements of a transaction have no effect later: it has been aborted, and one that began it anew would keep its locks.
	if _, inTxn := raw.Get(body, "autocommit"); f.Late && !inTxn {
		s.late = &late{body: slices.Clone(body), in: 20}
	}
	s.abortAll()
	member := s.primary
	s.primary, s.asked = -1, 0
	s.failed++
	if s.met != nil {
		close(s.met)
		s.met = nil
	}
	if f.Told != 0 {
		return
	}
	for f := range s.fronts {
		if f.member == member {
			f.close()
		}
	}
}

// role returns a member's current role. Clients that ask while there is no primary trigger the next election.
func (s *Set) role(member int) (primary int, election primitive.ObjectID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	primary = s.primary
	if member == s.stale {
		return member, s.election()
	}
	if primary < 0 && !time.Now().Before(s.elects) {
		if s.asked++; s.asked >= len(s.hosts) {
			for s.primary < 0 || s.primary == s.down {
				s.term++
				s.primary = int(s.term-1) % len(s.hosts)
			}
		}
	}
	return primary, s.election()
}

// election returns the id of the last election.
func (s *Set) election() (id primitive.ObjectID) {
	binary.BigEndian.PutUint32(id[:], 0x7fffffff)
	binary.BigEndian.PutUint32(id[8:], s.term)
	return id
}

// isPrimary reports whether a member is primary, and the id of its election.
func (s *Set) isPrimary(member int) (bool, primitive.ObjectID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.primary == member || s.stale == member, s.election()
}

func (s *Set) forget(f *front) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fronts, f)
}

func (s *Set) close() {
	s.RegainMajority()
	s.Thaw()
	s.mu.Lock()
	s.closed = true
	for _, pair := range []*replicas{s.pair, s.old} {
		if pair != nil {
			pair.end()
		}
	}
	for f := range s.fronts {
		f.close()
	}
	s.mu.Unlock()
	s.work.Wait()
}
