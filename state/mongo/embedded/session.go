package embedded

import (
	"bytes"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/budget"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
	"juju/state/mongo/embedded/storage"
)

// The time limits of sessions: an unused one is forgotten after sessionTimeout, and a transaction is aborted when it is
// txnLifetime old. They are MongoDB's, except that a transaction which has only read is aborted when it has been unused for
// so long: nothing waits for it, and a backup takes as long as it takes.
const (
	sessionTimeout = 30 * time.Minute
	txnLifetime    = time.Minute
)

// maxSessions limits the number of sessions; beyond it new ones are refused.
const maxSessions = 100_000

// A session belongs to a client, which may use it on any connection, for one command at a time.
type session struct {
	id []byte

	// Guarded by the registry's lock.
	used  time.Time
	users int

	mu     sync.Mutex
	known  bool  // number and state have been read from the store
	number int64 // of the newest transaction or retryable write, whose reply is in the store; -1 for none
	state  txnState
	// While state is txnOpen, txn is the transaction, expiry aborts it, hold is its memory, and free releases that.
	txn    *storage.Txn
	expiry *time.Timer
	hold   *budget.Hold
	free   func()

	cursors *cursors
}

type txnState int

const (
	txnNone txnState = iota // a retryable write
	txnOpen
	txnCommitted
	txnAborted
)

// sessions is the registry of sessions, by id.
type sessions struct {
	mu     sync.Mutex
	byID   map[string]*session
	reaper *time.Timer
	closed bool
}

// restore registers the sessions that have records in the store, however many, so that they expire if their clients don't
// come back.
func (ss *sessions) restore(ids [][]byte, s *Server) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, id := range ids {
		ss.add(id, s)
	}
}

// use returns the session with the given id, which the caller must give back to release.
func (ss *sessions) use(id []byte, s *Server) (*session, error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	sess := ss.byID[string(id)]
	if sess == nil {
		if len(ss.byID) >= maxSessions {
			return nil, mongoerr.New(mongoerr.TooManyLogicalSessions,
				"cannot add session into the cache: there are %d", maxSessions)
		}
		sess = ss.add(id, s)
	}
	sess.users++
	sess.used = time.Now()
	return sess, nil
}

// add registers a session. The caller holds mu.
func (ss *sessions) add(id []byte, s *Server) *session {
	if ss.byID == nil {
		ss.byID = map[string]*session{}
	}
	sess := &session{id: bytes.Clone(id), number: -1, used: time.Now(), cursors: &s.cursors}
	ss.byID[string(id)] = sess
	if ss.reaper == nil && !ss.closed {
		ss.reaper = time.AfterFunc(sessionTimeout, func() { ss.reap(s) })
	}
	return sess
}

func (ss *sessions) release(sess *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	sess.users--
	sess.used = time.Now()
}

// reap ends the sessions that have been unused for too long.
func (ss *sessions) reap(s *Server) {
	var old [][]byte
	ss.mu.Lock()
	ss.reaper = nil
	for id, sess := range ss.byID {
		if sess.users == 0 && time.Since(sess.used) >= sessionTimeout {
			old = append(old, []byte(id))
		}
	}
	if !ss.closed {
		ss.reaper = time.AfterFunc(sessionTimeout/2, func() { ss.reap(s) })
	}
	ss.mu.Unlock()
	if err := ss.end(s, old); err != nil {
		s.opts.Logger.Errorf("cannot remove old sessions: %v", err)
	}
}

// end ends sessions, aborts their transactions, and closes their cursors.
func (ss *sessions) end(s *Server, ids [][]byte) error {
	var ended []*session
	gone := map[string]bool{}
	ss.mu.Lock()
	for _, id := range ids {
		if sess := ss.byID[string(id)]; sess != nil {
			ended = append(ended, sess)
			delete(ss.byID, string(id))
			gone[string(id)] = true
		}
	}
	ss.mu.Unlock()
	s.cursors.endIf(func(cur *cursor) bool { return gone[cur.session] })
	for _, sess := range ended {
		sess.end()
	}
	return s.store.Forget(ids...)
}

// close aborts all transactions.
func (ss *sessions) close() {
	ss.mu.Lock()
	ss.closed = true
	if ss.reaper != nil {
		ss.reaper.Stop()
	}
	all := ss.byID
	ss.byID = nil
	ss.mu.Unlock()
	for _, sess := range all {
		sess.end()
	}
}

// end aborts the session's transaction, once no command uses it.
func (sess *session) end() {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	sess.abort()
}

// abort ends the session's transaction, if there is one. The caller holds mu.
func (sess *session) abort() {
	if sess.state == txnOpen {
		txn := sess.txn
		txn.Abort()
		sess.over(txnAborted)
		sess.cursors.endIf(func(cur *cursor) bool { return cur.tx == txn })
	}
}

// over records the end of the session's transaction.
func (sess *session) over(state txnState) {
	sess.expiry.Stop()
	sess.free()
	sess.state, sess.txn, sess.expiry, sess.hold, sess.free = state, nil, nil, nil, nil // they refer to the transaction
}

// recall reads what the store remembers of the session, once. The caller holds mu.
func (sess *session) recall(s *Server) error {
	if sess.known {
		return nil
	}
	r, err := s.store.Session(sess.id)
	if err != nil {
		return err
	}
	if r != nil {
		if sess.number, sess.state = r.Number, txnCommitted; len(r.Reply) > 0 {
			sess.state = txnNone
		}
	}
	sess.known = true
	return nil
}

// A sessionUse holds the fields of a command that concern its session.
type sessionUse struct {
	id         []byte
	number     int64
	numbered   bool // it has a txnNumber
	inTxn      bool // autocommit: false
	start      bool // startTransaction: true
	autocommit bool // autocommit is there
}

// inTransaction are the commands that a transaction may contain.
var inTransaction = names("find", "getMore", "killCursors", "insert", "update", "delete",
	"findAndModify", "findandmodify",
	"distinct", "aggregate", "commitTransaction", "abortTransaction")

// retryable are the commands that may have a transaction number without a transaction.
var retryable = names("insert", "update", "delete", "findAndModify", "findandmodify")

// sessionID returns the UUID in a session's document, {id: UUID}, or nil.
func sessionID(doc bsoncore.Document) []byte {
	const head, size = 4 + 1, 16 // a binary's length and subtype; a UUID
	if id, ok := raw.Get(doc, "id"); ok && id.Type == bson.TypeBinary && len(id.Data) == head+size {
		return id.Data[head:]
	}
	return nil
}

// sessionOf parses the fields that concern the session.
func sessionOf(body []byte) (u sessionUse, err error) {
	it := raw.Elements(body)
	it.Next()
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		switch string(e.Key) {
		case "lsid":
			doc, err := wantDocument("lsid", e.Value)
			if err != nil {
				return u, err
			}
			if u.id = sessionID(doc); u.id == nil {
				return u, mongoerr.New(mongoerr.InvalidOptions, "lsid.id must be a UUID")
			}
		case "txnNumber":
			if u.number, err = wantInt("txnNumber", e.Value); err == nil && (e.Value.Type != bson.TypeInt64 || u.number < 0) {
				err = mongoerr.New(mongoerr.InvalidOptions, "txnNumber must be a non-negative long")
			}
			u.numbered = true
		case "autocommit":
			u.autocommit, u.inTxn = true, !raw.Truthy(e.Value)
		case "startTransaction":
			if u.start = raw.Truthy(e.Value); !u.start {
				err = mongoerr.New(mongoerr.InvalidOptions, "Specifying startTransaction=false is not allowed.")
			}
		}
		if err != nil {
			return u, err
		}
	}
	switch {
	case u.numbered && u.id == nil:
		err = mongoerr.New(mongoerr.InvalidOptions, "Transaction number requires a session ID to also be specified")
	case u.autocommit && !u.inTxn:
		err = mongoerr.New(mongoerr.InvalidOptions, "Specifying autocommit=true is not allowed.")
	case u.inTxn && !u.numbered:
		err = mongoerr.New(mongoerr.InvalidOptions, "'autocommit' field requires a transaction number to also be specified")
	case u.start && !u.inTxn:
		err = mongoerr.New(mongoerr.InvalidOptions, "Specifying startTransaction=true requires specifying autocommit=false")
	}
	return u, err
}

// inSession runs a command that may be part of a session.
func (r *request) inSession(cmd command) error {
	u, err := sessionOf(r.body)
	if err != nil {
		return err
	}
	if u.id == nil {
		return cmd.run(r)
	}
	r.lsid = string(u.id)
	if u.numbered && r.s.opts.Standalone {
		return mongoerr.New(mongoerr.IllegalOperation,
			"Transaction numbers are only allowed on a replica set member or mongos")
	}
	sess, err := r.s.sessions.use(u.id, r.s)
	if err != nil {
		return err
	}
	defer r.s.sessions.release(sess)
	if !u.numbered {
		return cmd.run(r)
	}
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if err := sess.recall(r.s); err != nil {
		return err
	}
	if u.number < sess.number {
		return mongoerr.New(mongoerr.TransactionTooOld,
			"Cannot start transaction %d on session because a newer transaction %d has already started.", u.number, sess.number)
	}
	r.session = sess
	if !u.inTxn {
		return r.retryable(cmd, u.number)
	}
	if inTransaction[cmd.name] == "" {
		err = mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Cannot run '%s' in a multi-document transaction.", cmd.name)
	} else {
		err = r.transaction(cmd, u)
	}
	if (err != nil || r.failed) && cmd.name != "commitTransaction" {
		sess.abort()
	}
	return err
}

// transaction runs one command of a transaction.
func (r *request) transaction(cmd command, u sessionUse) error {
	sess := r.session
	ends := cmd.name == "commitTransaction" || cmd.name == "abortTransaction"
	switch {
	case u.start && ends:
		return mongoerr.New(mongoerr.OperationNotSupportedInTransaction, "Cannot start a transaction with %s", cmd.name)
	case u.start && u.number == sess.number:
		return mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"Only servers in a sharded cluster can start a new transaction at the active transaction number %d", u.number)
	case u.start:
		sess.abort()
		sess.number, sess.state = u.number, txnOpen
		sess.begin(r.s)
	case u.number != sess.number:
		return mongoerr.New(mongoerr.NoSuchTransaction,
			"Given transaction number %d does not match any in-progress transactions. The active transaction number is %d",
			u.number, sess.number)
	case sess.state == txnAborted:
		return mongoerr.New(mongoerr.NoSuchTransaction, "Transaction %d has been aborted.", u.number)
	case sess.state == txnCommitted && cmd.name == "commitTransaction":
		return cmd.run(r)
	case sess.state == txnCommitted:
		return mongoerr.New(mongoerr.TransactionCommitted, "Transaction %d has been committed.", u.number)
	case sess.state != txnOpen:
		return mongoerr.New(mongoerr.NoSuchTransaction, "Transaction %d isn't in progress", u.number)
	}
	if sess.txn.OnlyReads() {
		sess.expiry.Reset(txnLifetime)
	}
	r.tx, r.inTxn = sess.txn, true
	sess.hold.Busy()
	defer sess.hold.Idle()
	return cmd.run(r)
}

// commitTransaction commits the session's transaction, or confirms that it was committed.
func (r *request) commitTransaction() error {
	sess := r.session
	if sess == nil {
		return mongoerr.New(mongoerr.NoSuchTransaction, "commitTransaction needs a transaction")
	}
	if err := r.concern(); err != nil || sess.state == txnCommitted {
		return err
	}
	txn := sess.txn
	sess.over(txnAborted)
	if err := txn.Commit(&storage.SessionRecord{Session: sess.id, Number: sess.number}); err != nil {
		return err
	}
	sess.state = txnCommitted
	return nil
}

// concern parses the write concern of a command whose other fields are ignored.
func (r *request) concern() error {
	if v, ok := raw.Get(r.body, "writeConcern"); ok {
		return r.writeConcern(v)
	}
	return nil
}

func (r *request) abortTransaction() error {
	if r.session == nil {
		return mongoerr.New(mongoerr.NoSuchTransaction, "abortTransaction needs a transaction")
	}
	r.session.abort()
	return nil
}

// endSessions ends the sessions that the client no longer uses.
func (r *request) endSessions() error {
	v := firstValue(r.body)
	if v.Type != bson.TypeArray {
		return mongoerr.New(mongoerr.TypeMismatch, "endSessions must be an array")
	}
	var ids [][]byte
	it := raw.Elements(v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		doc, err := wantDocument("endSessions", e.Value)
		if err != nil {
			return err
		}
		if id := sessionID(doc); id != nil {
			ids = append(ids, id)
		}
	}
	return r.s.sessions.end(r.s, ids)
}

// labels returns the error labels of a failed command, which tell the client whether to repeat its transaction.
func (r *request) labels(err error) []string {
	if r.session == nil || !mongoerr.IsTransient(err) {
		return nil
	}
	return []string{"TransientTransactionError"}
}

// appendLabels appends the error labels to a reply.
func appendLabels(dst []byte, labels []string) []byte {
	if len(labels) == 0 {
		return dst
	}
	list := bsoncore.NewArrayBuilder()
	for _, label := range labels {
		list.AppendString(label)
	}
	return bsoncore.AppendArrayElement(dst, "errorLabels", list.Build())
}
