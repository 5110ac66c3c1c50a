package mongo

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/juju/loggo"
	mgo "gopkg.in/mgo.v2"

	"juju/state/entity"
	"juju/state/mongo/adapter"
	"juju/state/mongo/embedded"
)

// A Store is a connection to the one store that a controller has.
type Store struct {
	options Options
	session *mgo.Session // every other is a copy of it
	barrier func(context.Context) error
	// One of these is there: the embedded server, or the way to a MongoDB and those
	// who wait for its barrier.
	server  *embedded.Server
	remote  *adapter.Adapter
	flights *flights
	outage  *outage // nil with the embedded server

	locksMu sync.Mutex
	locks   map[string]*docLocks // by database
}

// locksOf returns the locks that all who run transactions on a database share.
func (s *Store) locksOf(database string) *docLocks {
	s.locksMu.Lock()
	defer s.locksMu.Unlock()
	if s.locks == nil {
		s.locks = map[string]*docLocks{}
	}
	if s.locks[database] == nil {
		s.locks[database] = &docLocks{}
	}
	return s.locks[database]
}

// The bounds of waiting for the store: a dial, and the answer to a request. The
// embedded server answers in microseconds; a scan of a large collection, or a
// replica set that elects a primary, is what they leave room for.
const (
	dialTimeout   = 20 * time.Second
	socketTimeout = time.Minute
	// primaryTimeout is how long mgo looks for a primary before it says that there is
	// none. How long a request waits for one is for us to say (answerBound).
	primaryTimeout = 2 * time.Second
)

// OpenEmbedded opens the embedded store in a directory, which is made when it is
// not there. It fails when another process has it open.
func OpenEmbedded(dir string, o Options) (*Store, error) {
	if o.Embedded.Logger == nil {
		o.Embedded.Logger = loggo.GetLogger("juju.store")
	}
	server, err := embedded.Open(dir, o.Embedded)
	if err != nil {
		return nil, cannotOpen(fmt.Errorf("cannot open the store in %s: %w", dir, err), dir)
	}
	session, err := mgo.DialWithInfo(&mgo.DialInfo{
		// mgo wants an address; DialServer never looks at it.
		Addrs:      []string{"127.0.0.1:27017"},
		Direct:     true,
		Timeout:    dialTimeout,
		DialServer: func(*mgo.ServerAddr) (net.Conn, error) { return server.Dial() },
	})
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("cannot reach the embedded store: %w", err)
	}
	session.SetMode(mgo.Strong, true)
	session.SetSafe(&mgo.Safe{})
	session.SetSocketTimeout(socketTimeout)
	return &Store{options: o.withDefaults(), session: session, barrier: server.Barrier, server: server}, nil
}

// Barrier returns when everything that was written before the call is on disk.
// Whoever tells the world something that rests on the store passes it first.
func (s *Store) Barrier(ctx context.Context) error {
	if err := s.barrier(ctx); err != nil {
		return fmt.Errorf("cannot make sure that the store is on disk: %w", err)
	}
	return nil
}

// Session returns a connection, for what is not a transaction's: the files in the
// store. The caller closes it, and passes errors through Told.
func (s *Store) Session() *mgo.Session { return s.session.Copy() }

// Told gives an error that says no more than that an answer of the store's was lost
// the kind entity.Unavailable, and a text for users.
func (s *Store) Told(err error) error { return s.outage.told(err) }

// Databases returns the names of all databases that hold something, but for those
// that a MongoDB keeps for itself, and that of the barrier.
func (s *Store) Databases() (names []string, err error) {
	err = s.again(func() (err error) {
		session := s.session.Copy()
		defer session.Close()
		names, err = session.DatabaseNames()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list databases: %w", err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(hidden, name) }), nil
}

var hidden = []string{"admin", "config", "local", barrierDB}

// DropBarrier removes what the barrier keeps in a MongoDB, as the last that is done
// with the store.
func (s *Store) DropBarrier() error { return s.Drop(barrierDB) }

// Drop removes a whole database; nil when there is none. Nobody runs transactions
// on it any more.
func (s *Store) Drop(name string) error {
	err := s.again(func() error {
		session := s.session.Copy()
		defer session.Close()
		return session.DB(name).DropDatabase()
	})
	if err != nil {
		return fmt.Errorf("cannot drop database %s: %w", name, err)
	}
	s.locksMu.Lock()
	defer s.locksMu.Unlock()
	delete(s.locks, name)
	return nil
}

// Embedded returns the embedded server, or nil when the store is another.
func (s *Store) Embedded() *embedded.Server { return s.server }

// Close ends all connections and, of the embedded store, the server.
func (s *Store) Close() error {
	if s.flights != nil {
		s.flights.close()
	}
	s.session.Close()
	if s.remote != nil {
		s.remote.Close()
	}
	if s.server != nil {
		return s.server.Close()
	}
	return nil
}

// IsNotFound reports whether a read found nothing.
func IsNotFound(err error) bool { return err == mgo.ErrNotFound }

// notFound makes an error of kind entity.NotFound from mgo's.
func notFound(err error, what string) error {
	if IsNotFound(err) {
		return entity.Errorf(entity.NotFound, "%s not found", what)
	}
	return fmt.Errorf("cannot read %s: %w", what, err)
}
