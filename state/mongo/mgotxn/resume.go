package mgotxn

import (
	"errors"
	"fmt"
	"time"

	jujutxn "github.com/juju/txn"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// Unfinished are the states of unfinished transactions in gopkg.in/mgo.v2/txn: preparing, prepared, aborting, applying.
var Unfinished = []int{1, 2, 3, 4}

// The states of finished transactions.
const (
	Aborted = 5
	Applied = 6
)

// ErrTakenBack is the error of a transaction that can't be applied and was rolled back.
var ErrTakenBack = errors.New("it is rolled back")

// Resume completes a transaction. A transaction that waits for a lost one is rolled back, because others
// would wait for it.
func Resume(db *mgo.Database, id bson.ObjectId) error {
	err := guarded(func() error { return runnerOf(db).Resume(id) })
	if err == nil || errors.Is(err, txn.ErrAborted) || !isLost(err) {
		return err
	}
	if taken, terr := takeBack(db, id); terr != nil || !taken {
		return errors.Join(err, terr)
	}
	return fmt.Errorf("%w: %w", ErrTakenBack, err)
}

// Prune removes the finished transactions that began before the given time, and the entries of queues and the stash that
// refer to them. It returns the number of transactions removed.
func Prune(txns *mgo.Collection, before time.Time) (removed int, err error) {
	err = guarded(func() error { // it panics on a malformed queue entry
		stats, err := jujutxn.CleanAndPrune(jujutxn.CleanAndPruneArgs{Txns: txns, MaxTime: before})
		removed = stats.TransactionsRemoved
		return err
	})
	return removed, err
}
