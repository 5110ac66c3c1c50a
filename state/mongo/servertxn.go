package mongo

import (
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// Where the server has transactions, the operations of a txn.Op list run in one of them, instead of through mgo/txn:
// each document takes one statement, which finds it by its id and its asserts, and changes it. If a statement finds
// fewer documents than it names, an assert doesn't hold, and the transaction is aborted. A document that is only
// asserted is changed as well, in assertedF: a snapshot read alone would not conflict with others' changes.

// MongoDB's codes of a transaction that another one has prevented, or that the server has lost: it had no effect, and
// runs again. LockTimeout, WriteConflict, TransactionTooOld, SnapshotUnavailable, NoSuchTransaction.
var conflictCodes = []int{24, 112, 225, 246, codeNoSuchTransaction}

const (
	codeNoSuchTransaction = 251
	codeNotInTransaction  = 263 // OperationNotSupportedInTransaction
	codeDuplicateKey      = 11000
)

// hasTransactions reports whether the server has transactions, by running one that reads a document: a MongoDB of 4.0
// or later that is a member of a replica set, unless it still imitates an older one.
func (s *Store) hasTransactions() (has bool, err error) {
	err = s.again(func() error {
		session := s.session.Copy()
		defer session.Close()
		one := newServerSession()
		err := session.DB(barrierDB).Run(one.in(bson.D{{"find", barrierC}, {"limit", 1}}, true), nil)
		if q, ok := err.(*mgo.QueryError); ok && !cutShort(err) && !slices.Contains(conflictCodes, q.Code) {
			logger.Infof("the store has no transactions of its own, so mgo/txn's are used: %v", err)
			return nil
		}
		if has = err == nil; has {
			err = one.abort(session)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("cannot tell whether the store has transactions: %w", err)
	}
	return has, nil
}

// A serverSession is a session of the server, in which transactions run one after another.
type serverSession struct {
	id     []byte // a UUID
	number int64  // of the last transaction
}

func newServerSession() *serverSession {
	id := make([]byte, 16)
	rand.Read(id) // it never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return &serverSession{id: id}
}

func (s *serverSession) doc() bson.D { return bson.D{{"id", bson.Binary{Kind: 4, Data: s.id}}} }

// abort ends the session's transaction without effect.
func (s *serverSession) abort(over *mgo.Session) error {
	return over.DB("admin").Run(s.in(bson.D{{"abortTransaction", 1}}, false), nil)
}

// endSessions tells the server to forget sessions.
func endSessions(over *mgo.Session, ids []bson.D) error {
	return over.DB("admin").Run(bson.D{{"endSessions", ids}}, nil)
}

// endSessions tells the server to forget the sessions of the slots. If that fails, they expire there by themselves.
func (r *Runner) endSessions(sessions []*serverSession) {
	if len(sessions) == 0 || r.outage.refuses() != nil {
		return
	}
	var ids []bson.D
	for _, s := range sessions {
		ids = append(ids, s.doc())
	}
	if err := endSessions(r.session, ids); err != nil {
		logger.Debugf("cannot end the sessions of %s: %v", r.name, err)
	}
}

// in adds the fields to a command that make it part of the session's current transaction.
func (s *serverSession) in(command bson.D, first bool) bson.D {
	command = append(command, bson.DocElem{"lsid", s.doc()},
		bson.DocElem{"txnNumber", s.number}, bson.DocElem{"autocommit", false})
	if first {
		command = append(command, bson.DocElem{"startTransaction", true},
			bson.DocElem{"readConcern", bson.D{{"level", "snapshot"}}})
	}
	return command
}

// runOnServer runs ops in one transaction of the server. It returns txn.ErrAborted if an assert doesn't hold, and
// errConflicted if the transaction had no effect and may run again.
func (r *Runner) runOnServer(s *slot, ops []txn.Op) error {
	statements, err := statementsOf(ops)
	if err != nil {
		return err
	}
	began := time.Now()
	err = r.transact(s, statements)
	if q, ok := err.(*mgo.QueryError); ok && q.Code == codeNotInTransaction {
		if err = r.create(s.session.DB(r.name), ops); cutShort(err) {
			return r.interrupted(s, err, began)
		}
		if err == nil {
			err = r.transact(s, statements)
		}
	}
	return err
}

// interrupted prepares a slot for its next transaction after the connection was lost before a commit, and returns the
// error of this one, which began at a time.
func (r *Runner) interrupted(s *slot, err error, began time.Time) error {
	s.session.Refresh()
	if r.outage == nil {
		return err // only a test cuts a connection to the embedded store
	}
	r.outage.met(err, began)
	return errConflicted
}

// transact runs statements in one transaction.
func (r *Runner) transact(s *slot, statements []statement) error {
	s.server.number++
	began := time.Now()
	db := s.session.DB(r.name)
	for i, command := range commandsOf(statements) {
		var result struct {
			N      int
			Errors []struct {
				Code   int
				ErrMsg string
			} `bson:"writeErrors"`
		}
		err := db.Run(s.server.in(command.doc, i == 0), &result)
		if err == nil && len(result.Errors) > 0 {
			err = &mgo.QueryError{Code: result.Errors[0].Code, Message: result.Errors[0].ErrMsg}
		}
		switch {
		case err == nil && result.N < command.required:
			r.abort(s)
			return txn.ErrAborted
		case err != nil && cutShort(err):
			// Without this, a server that survives would hold the transaction's documents until it expires.
			err = r.interrupted(s, err, began)
			r.abort(s)
			return err
		case err != nil:
			return inTransaction(err)
		}
	}
	// A process may have been paused since it sent the statements, or since it decided to run them.
	if err := r.mayCommit(); err != nil {
		r.abort(s)
		return err
	}
	r.traced.note(s)
	return r.commit(s)
}

// abort ends the slot's transaction without effect.
func (r *Runner) abort(s *slot) {
	if err := s.server.abort(s.session); err != nil {
		logger.Debugf("cannot abort a transaction of %s: %v", r.name, err)
		s.session.Refresh()
	}
}

// commit commits the session's transaction. If the reply is lost, it commits it again, which tells whether it was
// committed.
func (r *Runner) commit(s *slot) error {
	command := s.server.in(bson.D{{"commitTransaction", 1}}, false)
	if r.outage != nil {
		command = append(command, majorityConcern(r.wait))
	}
	once := func() error {
		var result struct {
			Concern refusedWrite `bson:"writeConcernError"`
		}
		err := s.session.DB("admin").Run(command, &result)
		if err == nil {
			err = result.Concern.err()
		}
		if cutShort(err) {
			s.session.Refresh()
		}
		return err
	}
	if r.outage != nil {
		err := r.outage.bringThrough(once)
		if err == nil {
			r.outage.over()
		}
		return inTransaction(err)
	}
	err := once()
	if cutShort(err) {
		err = once()
	}
	return inTransaction(err)
}

// majorityConcern is the field of a command that waits for the majority, at most for a time.
func majorityConcern(wait time.Duration) bson.DocElem {
	return bson.DocElem{"writeConcern", bson.D{{"w", "majority"}, {"j", true}, {"wtimeout", int(wait / time.Millisecond)}}}
}

// A refusedWrite is the part of a reply that says why a write was refused or did not reach the majority.
type refusedWrite struct {
	Code   int
	ErrMsg string
}

func (e refusedWrite) err() error {
	if e.Code == 0 {
		return nil
	}
	return &mgo.QueryError{Code: e.Code, Message: e.ErrMsg}
}

// create creates the collections of ops, which a transaction can't do before MongoDB 4.4.
func (r *Runner) create(db *mgo.Database, ops []txn.Op) error {
	made := map[string]bool{}
	for _, op := range ops {
		if made[op.C] {
			continue
		}
		made[op.C] = true
		if err := db.C(op.C).Create(&mgo.CollectionInfo{}); err != nil && !exists(err) {
			return fmt.Errorf("cannot create %s.%s: %w", r.name, op.C, err)
		}
	}
	return nil
}

// errConflicted is the error of a transaction that had no effect and may run again.
var errConflicted = fmt.Errorf("another transaction has changed the same documents")

// inTransaction translates the error of a transaction's command.
func inTransaction(err error) error {
	q, ok := err.(*mgo.QueryError)
	switch {
	case !ok:
		return err
	case slices.Contains(conflictCodes, q.Code):
		return errConflicted
	case q.Code == codeDuplicateKey:
		return txn.ErrAborted
	}
	return err
}
