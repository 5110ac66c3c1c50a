package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/juju/loggo"
	mgo "gopkg.in/mgo.v2"

	"juju/state/entity"
	"juju/state/mongo/embedded"
	"juju/state/mongo/servertxn"
)

// A Store is a connection to the controller's store.
type Store struct {
	options      Options
	session      *mgo.Session // all others are copies of it
	backend      backend
	transactions bool                        // the server has them; otherwise they are mgo/txn's
	steady       func(context.Context) error // see Guard

	locksMu sync.Mutex
	locks   map[string]*docLocks // by database
}

// locksOf returns the locks of a database, shared by all its runners.
func (s *Store) locksOf(database string) *docLocks {
	s.locksMu.Lock()
	defer s.locksMu.Unlock()
	if s.locks == nil {
		s.locks = map[string]*docLocks{}
	}
	if s.locks[database] == nil {
		s.locks[database] = &docLocks{exclusive: s.transactions}
	}
	return s.locks[database]
}

// The time limits for dialling and for the reply to a request. The embedded server replies in microseconds; the limits
// leave room for a scan of a large collection, and for a replica set that elects a primary.
const (
	dialTimeout   = 20 * time.Second
	ownTimeout    = 5 * time.Second // to dial the embedded server, which this process runs
	socketTimeout = time.Minute
	// primaryTimeout is how long mgo searches for a primary before it fails. How long a request waits for one
	// is up to outage.Bound.
	primaryTimeout = 2 * time.Second
)

// OpenEmbedded opens the embedded store in a directory, which it creates if necessary. It fails if another process has
// the store open.
func OpenEmbedded(dir string, o Options) (*Store, error) {
	if o.Embedded.Logger == nil {
		o.Embedded.Logger = loggo.GetLogger("juju.store")
	}
	server, err := embedded.Open(dir, o.Embedded)
	if err != nil {
		return nil, cannotOpen(fmt.Errorf("cannot open the store in %s: %w", dir, err), dir)
	}
	session, err := mgo.DialWithInfo(&mgo.DialInfo{
		// mgo requires an address; DialServer ignores it.
		Addrs:      []string{"127.0.0.1:27017"},
		Direct:     true,
		Timeout:    ownTimeout,
		DialServer: func(*mgo.ServerAddr) (net.Conn, error) { return server.Dial() },
	})
	if err != nil {
		server.Close()
		return nil, fmt.Errorf("cannot reach the embedded store: %w", err)
	}
	session.SetMode(mgo.Strong, true)
	session.SetSafe(&mgo.Safe{})
	session.SetSocketTimeout(socketTimeout)
	s := &Store{options: o.withDefaults(), session: session, backend: embeddedBackend{server: server}}
	if err := s.hasTransactions(context.Background()); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// OpenMemory opens an empty embedded store in memory, for a copy of another one.
func OpenMemory(o Options) (*Store, error) {
	o.Embedded.FS = vfs.NewMem()
	o.Embedded.Fatal = func(err error) { logger.Errorf("cannot write to memory: %v", err) }
	return OpenEmbedded("store", o)
}

// Barrier returns once everything that was read, and everything that transactions have written, is on disk and can't be
// rolled back. Callers must pass it before they report anything that depends on the store.
func (s *Store) Barrier(ctx context.Context) error {
	began := time.Now()
	defer func() { s.options.Meter.Barrier(time.Since(began)) }()
	if err := s.backend.barrier(ctx); err != nil {
		return fmt.Errorf("cannot ensure that the store is on disk: %w", err)
	}
	return nil
}

// Sync returns once everything written before the call is on disk, also by commands that did not wait for that themselves.
func (s *Store) Sync(ctx context.Context) error {
	if err := s.backend.sync(ctx); err != nil {
		return fmt.Errorf("cannot ensure that the store is on disk: %w", err)
	}
	return nil
}

// Guard makes each transaction of the server call steady just before its commit. If steady fails, the transaction changes
// nothing and fails with that error. Guard must be called before the first transaction.
func (s *Store) Guard(steady func(context.Context) error) { s.steady = steady }

// mayCommit calls the function that was passed to Guard.
func (s *Store) mayCommit(ctx context.Context) error {
	if s.steady == nil {
		return nil
	}
	return s.steady(ctx)
}

// Session returns a connection for uses other than transactions: the files in the store. The caller closes it, and
// passes errors through Told.
func (s *Store) Session() *mgo.Session { return s.session.Copy() }

// Told adds the kind entity.Unavailable and a user-facing text to an error that says only that the store's
// reply was lost. Errors that report a damaged file or a full disk get their own kinds.
func (s *Store) Told(err error) error { return s.backend.Wrap(err, time.Now()) }

// AwaySince returns since when the store has not responded; zero if it does.
func (s *Store) AwaySince() time.Time { return s.backend.Since() }

// again runs an idempotent function, on a MongoDB until it is not interrupted.
func (s *Store) again(ctx context.Context, do func() error) error { return s.backend.Retry(ctx, do) }

// hasTransactions sets whether the server has transactions.
func (s *Store) hasTransactions(ctx context.Context) error {
	err := s.again(ctx, func() (err error) {
		session := s.session.Copy()
		defer session.Close()
		s.transactions, err = servertxn.Has(session, barrierDB, barrierC)
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot tell whether the store has transactions: %w", err)
	}
	return nil
}

// Databases returns the names of all databases that are not empty, except a MongoDB's internal ones and the barrier's.
func (s *Store) Databases(ctx context.Context) (names []string, err error) {
	err = s.again(ctx, func() (err error) {
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

// DropBarrier removes the barrier's database from a MongoDB. It must be the last use of the store.
func (s *Store) DropBarrier(ctx context.Context) error { return s.Drop(ctx, barrierDB) }

// Drop removes a database; a missing one is not an error. No transactions may run on it any more.
func (s *Store) Drop(ctx context.Context, name string) error {
	err := s.again(ctx, func() error {
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

// Embedded returns the embedded server, or nil for a MongoDB.
func (s *Store) Embedded() *embedded.Server {
	b, _ := s.backend.(embeddedBackend)
	return b.server
}

// Shareable reports whether other processes can use the store at the same time: it is a MongoDB with transactions of its
// own.
func (s *Store) Shareable() bool { return s.Embedded() == nil && s.transactions }

// LeavesTransactions reports whether an interrupted transaction must be resumed: the server has none of its own. What was
// interrupted before it had is resumed when a database is opened.
func (s *Store) LeavesTransactions() bool { return !s.transactions }

// Close closes all connections, and the embedded server.
func (s *Store) Close() error {
	s.session.Close()
	return s.backend.close()
}

// IsNotFound reports whether an error says that a read found nothing.
func IsNotFound(err error) bool { return errors.Is(err, mgo.ErrNotFound) }

// notFound converts mgo's error to one of kind entity.NotFound.
func notFound(err error, what string) error {
	if IsNotFound(err) {
		return entity.Errorf(entity.NotFound, "%s not found", what)
	}
	return fmt.Errorf("cannot read %s: %w", what, err)
}

// cannotOpen adds a hint to the error of a damaged store.
func cannotOpen(err error, dir string) error {
	if !errors.Is(err, embedded.ErrDamaged) {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.Damaged, "%w", err), "Restore it from a backup, and check its disk. "+
		"If a .log is damaged, the store can be opened without the writes after the damage: "+
		"jujud mongod --repair --dbpath %s", dir)
}
