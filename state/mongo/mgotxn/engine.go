package mgotxn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/juju/loggo"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/mongo/outage"
)

var logger = loggo.GetLogger("juju.state.mongo")

// The collections of mgo/txn.
const (
	TxnsC  = "txns"
	StashC = "txns.stash"
	LogC   = "txns.log"
)

// An Engine runs transactions on a database with mgo/txn.
type Engine struct {
	Database string
	Store    outage.Availability
}

// Run runs ops once, over a connection. It returns txn.ErrAborted if an assert does not hold, and ErrLost if the transaction
// was rolled back because of a lost one. If its reply is lost, it finds out how the transaction has ended.
func (e Engine) Run(on *mgo.Session, ops []txn.Op) (err error) {
	id := bson.NewObjectId()
	db := on.DB(e.Database)
	if err = clearQueues(db, ops); err == nil {
		err = runOnce(db, ops, id)
	}
	if outage.IsTransient(err) {
		return e.settle(on, id, err)
	}
	// The socket may be broken even on success, because mgo/txn ignores the errors of its last messages.
	// Refresh gives the next transaction a working one.
	on.Refresh()
	return err
}

// IsQueueFull reports whether an error is mgo/txn's way to say that too many transactions wait for a document.
func IsQueueFull(err error) bool { return strings.Contains(err.Error(), "has too many transactions") }

// settle determines the outcome of a transaction whose reply was lost, and completes the transaction. why is
// the error that interrupted it. It returns the error that running the transaction would have returned.
func (e Engine) settle(session *mgo.Session, id bson.ObjectId, why error) error {
	logger.Infof("transaction %s of %s was interrupted: %v", id.Hex(), e.Database, why)
	if err := e.Store.Err(); err != nil {
		return outage.Unknown(err) // the next transaction on its documents settles it, or the resumer
	}
	err := e.Store.Finish(func() error {
		session.Refresh()
		db := session.DB(e.Database)
		// This takes the transaction's id: if its insert is still in flight, it will fail.
		err := db.C(TxnsC).Insert(bson.D{{"_id", id}, {"s", Aborted}, {"o", []txn.Op{}}})
		if !mgo.IsDup(err) {
			if err == nil {
				err = txn.ErrAborted
			}
			return err
		}
		return Resume(db, id)
	})
	if err != nil && !errors.Is(err, txn.ErrAborted) && !errors.Is(err, entity.StoreAway) {
		return fmt.Errorf("cannot determine its outcome: %w", err)
	}
	return err
}

// runOnce runs ops as the transaction id. On a malformed queue entry or a lost transaction mgo/txn panics; runOnce then
// rolls its transaction back and returns ErrLost.
func runOnce(db *mgo.Database, ops []txn.Op, id bson.ObjectId) error {
	runner := runnerOf(db)
	err := guarded(func() error { return runner.Run(ops, id, nil) })
	if err == nil || errors.Is(err, txn.ErrAborted) {
		slim(db, ops, id)
		return err
	}
	if !isLost(err) {
		return err
	}
	taken, terr := takeBack(db, id)
	switch {
	case terr != nil:
		return fmt.Errorf("cannot roll back a transaction: %w", terr)
	case !taken: // another runner has continued it
		return guarded(func() error { return runner.Resume(id) })
	}
	return fmt.Errorf("%w: %v", ErrLost, err)
}

func runnerOf(db *mgo.Database) *txn.Runner {
	runner := txn.NewRunner(db.C(TxnsC))
	runner.ChangeLog(db.C(LogC))
	runner.SetOptions(runnerOptions)
	return runner
}

// runnerOptions keep the tokens of finished transactions out of documents that are only asserted; later
// transactions would have to load every one of them.
var runnerOptions = func() txn.RunnerOptions {
	o := txn.DefaultRunnerOptions()
	o.AssertionCleanupLength = 1
	return o
}()

// panicked is the error of a recovered panic.
type panicked struct{ why any }

func (p panicked) Error() string { return fmt.Sprint("the transaction runner panicked: ", p.why) }

func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked{p}
		}
	}()
	return f()
}
