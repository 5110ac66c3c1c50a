package servertxn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/juju/loggo"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/outage"
)

var logger = loggo.GetLogger("juju.state.mongo")

// MongoDB's codes of a transaction that another one has prevented, or that the server has lost: it had no effect, and
// runs again. LockTimeout, WriteConflict, TransactionTooOld, SnapshotUnavailable, NoSuchTransaction.
var conflictCodes = []int{24, 112, 225, 246, CodeNoSuchTransaction}

const (
	CodeNoSuchTransaction = 251 // also of a snapshot that the server has ended
	codeNotInTransaction  = 263 // OperationNotSupportedInTransaction
	codeDuplicateKey      = 11000
)

// Has reports whether the server has transactions, by running one that reads a collection: a MongoDB of 4.0 or later that is a
// member of a replica set, unless it still imitates an older one.
func Has(on *mgo.Session, db, collection string) (bool, error) {
	s := NewSession()
	err := on.DB(db).Run(s.In(bson.D{{"find", collection}, {"limit", 1}}, true), nil)
	var q *mgo.QueryError
	if errors.As(err, &q) && !outage.IsTransient(err) && !slices.Contains(conflictCodes, q.Code) {
		logger.Infof("the store has no transactions of its own, so mgo/txn's are used: %v", err)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, s.Abort(on)
}

// An Engine runs transactions on a database as the server's own.
type Engine struct {
	Database string
	Store    outage.Availability
	// Concern is the write concern of commits, as a field of a command; none for the server's default.
	Concern []bson.DocElem
	// MayCommit is asked before each commit. If it fails, the transaction has no effect.
	MayCommit func(context.Context) error
	// Committing is called before each commit, with what identifies the transaction: its session's UUID, and its number in it.
	Committing func(ctx context.Context, session []byte, number int64)
}

// Run runs ops once, in one transaction of a session, over a connection. It returns txn.ErrAborted if an assert doesn't hold,
// and ErrConflicted if the transaction had no effect and may run again.
func (e *Engine) Run(ctx context.Context, s *Session, on *mgo.Session, ops []txn.Op) error {
	statements, err := statementsOf(ops)
	if err != nil {
		return err
	}
	began := time.Now()
	err = e.transact(ctx, s, on, statements)
	var q *mgo.QueryError
	if errors.As(err, &q) && q.Code == codeNotInTransaction {
		if err = e.create(on.DB(e.Database), ops); outage.IsTransient(err) {
			return e.interrupted(on, err, began)
		}
		if err == nil {
			err = e.transact(ctx, s, on, statements)
		}
	}
	return err
}

// interrupted prepares a connection for the next transaction after it was lost before a commit, and returns the error of this
// one, which began at a time.
func (e *Engine) interrupted(on *mgo.Session, err error, began time.Time) error {
	on.Refresh()
	if e.Store.Failed(err, began) {
		return ErrConflicted
	}
	return err
}

// transact runs statements in one transaction.
func (e *Engine) transact(ctx context.Context, s *Session, on *mgo.Session, statements []statement) error {
	s.number++
	began := time.Now()
	db := on.DB(e.Database)
	for i, command := range commandsOf(statements) {
		var result struct {
			N      int
			Errors []Refused `bson:"writeErrors"`
		}
		err := db.Run(s.In(command.doc, i == 0), &result)
		if err == nil && len(result.Errors) > 0 {
			err = result.Errors[0].Err()
		}
		switch {
		case err == nil && result.N < command.required:
			e.abort(s, on)
			return txn.ErrAborted
		case err != nil && outage.IsTransient(err):
			// Without this, a server that survives would hold the transaction's documents until it expires.
			err = e.interrupted(on, err, began)
			e.abort(s, on)
			return err
		case err != nil:
			return inTransaction(err)
		}
	}
	// A process may have been paused since it sent the statements, or since it decided to run them.
	if err := e.MayCommit(ctx); err != nil {
		e.abort(s, on)
		return err
	}
	e.Committing(ctx, s.id[:], s.number)
	return e.commit(s, on)
}

// abort ends the session's transaction without effect.
func (e *Engine) abort(s *Session, on *mgo.Session) {
	if err := s.Abort(on); err != nil {
		logger.Debugf("cannot abort a transaction of %s: %v", e.Database, err)
		on.Refresh()
	}
}

// commit commits the session's transaction. If the reply is lost, it commits it again, which tells whether it was
// committed.
func (e *Engine) commit(s *Session, on *mgo.Session) error {
	err := e.Store.Finish(func() error {
		err := s.Commit(on, e.Concern)
		if outage.IsTransient(err) {
			on.Refresh()
		}
		return err
	})
	if err == nil {
		e.Store.Confirmed()
	}
	return inTransaction(err)
}

// create creates the collections of ops, which a transaction can't do before MongoDB 4.4.
func (e *Engine) create(db *mgo.Database, ops []txn.Op) error {
	made := map[string]bool{}
	for _, op := range ops {
		if made[op.C] {
			continue
		}
		made[op.C] = true
		if err := db.C(op.C).Create(&mgo.CollectionInfo{}); err != nil && !Exists(err) {
			return fmt.Errorf("cannot create %s.%s: %w", e.Database, op.C, err)
		}
	}
	return nil
}

// ErrConflicted is the error of a transaction that had no effect and may run again.
var ErrConflicted = errors.New("another transaction has changed the same documents")

// inTransaction translates the error of a transaction's command.
func inTransaction(err error) error {
	var q *mgo.QueryError
	switch {
	case !errors.As(err, &q):
		return err
	case slices.Contains(conflictCodes, q.Code):
		return ErrConflicted
	case q.Code == codeDuplicateKey:
		return txn.ErrAborted
	}
	return err
}

// Exists reports whether an error says that a collection already exists (code 48, NamespaceExists).
func Exists(err error) bool {
	var q *mgo.QueryError
	return errors.As(err, &q) && q.Code == 48
}
