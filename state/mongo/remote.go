package mongo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/juju/loggo"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo/adapter"
)

// OpenURL opens the store in the MongoDB at a URL, a single server or a replica set. Each write waits until
// the majority has journaled it.
func OpenURL(ctx context.Context, u *URL, o Options) (*Store, error) {
	a := u.adapter(o.Dial)
	if err := reach(a, u.hosts); err != nil {
		a.Close()
		return nil, entity.WithHint(fmt.Errorf("cannot open the store: %w", err),
			"Check that the MongoDB is running at this address.")
	}
	session, err := mgo.DialWithInfo(&mgo.DialInfo{
		Addrs:          u.hosts,
		Direct:         u.direct,
		ReplicaSetName: u.set,
		Timeout:        dialTimeout,
		Source:         u.source,
		Username:       u.user,
		Password:       u.password,
		Mechanism:      "SCRAM-SHA-1",
		DialServer:     func(addr *mgo.ServerAddr) (net.Conn, error) { return a.Connect(addr.String()) },
	})
	if err != nil {
		a.Close()
		return nil, entity.WithHint(fmt.Errorf("cannot open the store in %s: %w", u, err),
			"Check the user and the password, the name of the replica set, and that it has a primary.")
	}
	session.SetMode(mgo.Strong, true)
	session.SetSafe(&mgo.Safe{WMode: "majority", J: true, WTimeout: int(u.wait / time.Millisecond)})
	session.SetSocketTimeout(max(socketTimeout, 2*u.wait))
	session.SetSyncTimeout(primaryTimeout)
	s := &Store{options: o.withDefaults(), session: session}
	b := newMongoBackend(session.Copy(), a, u.wait, s.options.Answer)
	s.backend = b
	// The first write shows whether writes succeed at all, and which server is primary.
	if err := s.Sync(ctx); err != nil {
		s.Close()
		err = fmt.Errorf("cannot open the store in %s: %w", u, err)
		if errors.Is(err, entity.StoreAway) {
			return nil, err // with what to check
		}
		return nil, entity.WithHint(err,
			"The user needs the roles readWriteAnyDatabase and dbAdminAnyDatabase.")
	}
	if err = s.hasTransactions(ctx); err == nil && s.transactions {
		err = s.readMajority(ctx, b)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// codeNoMajorityReads is MongoDB's code for a read concern that its configuration doesn't allow.
const codeNoMajorityReads = 148

// readMajority makes reads return only what the majority has, which is never rolled back. Transactions, and other writes
// that a reply may depend on, are acknowledged only after the majority has them. So no reply needs a write of its own as a
// barrier.
func (s *Store) readMajority(ctx context.Context, b *mongoBackend) error {
	err := s.again(ctx, func() error {
		session := s.session.Copy()
		defer session.Close()
		err := session.DB(barrierDB).Run(bson.D{{"find", barrierC}, {"limit", 1}, {"readConcern", bson.D{{"level", "majority"}}}}, nil)
		var q *mgo.QueryError
		if errors.As(err, &q) && q.Code == codeNoMajorityReads {
			logger.Warningf("the store has no reads with read concern majority (enableMajorityReadConcern), so each reply costs a write: %v", err)
			return nil
		}
		if err == nil {
			b.adapter.ReadMajority()
			b.majorityReads = true
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot tell whether the store has reads of what the majority has: %w", err)
	}
	return nil
}

func (u *URL) adapter(dial Dial) *adapter.Adapter {
	return adapter.New(adapter.Options{Dial: u.dialer(dial), Name: u.app, Set: u.set, Logf: loggo.GetLogger("juju.store").Infof})
}

// reach checks that at least one of the hosts can be used. mgo would keep trying for a long time, and not
// report the cause.
func reach(a *adapter.Adapter, hosts []string) (err error) {
	for _, host := range hosts {
		conn, cerr := a.Connect(host)
		switch {
		case cerr == nil:
			return conn.Close()
		case err == nil:
			err = cerr
		default:
			err = fmt.Errorf("%w; %w", err, cerr)
		}
	}
	return err
}

// Proxy forwards mgo clients that connect to l to the first server of a URL until ctx ends; then it closes l.
// It calls ready once it has reached the server. The clients authenticate themselves.
func Proxy(ctx context.Context, l net.Listener, u *URL, ready func()) error {
	defer l.Close()
	a := u.adapter(nil)
	defer a.Close()
	if err := reach(a, u.hosts[:1]); err != nil {
		return err
	}
	ready()
	return a.Serve(ctx, l, u.hosts[0])
}
