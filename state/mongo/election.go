package mongo

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// electionBound is how long a transaction that was cut short by the loss of a MongoDB's
// primary is asked after.
const electionBound = 40 * time.Second

// The codes of what another try mends, on the primary that is elected meanwhile:
// those by which a server says that it is no primary or not for long, and
// WriteConcernFailed, that the majority was not reached in time.
var passingCodes = []int{91, 189, 10058, 10107, 11600, 11602, 13435, 13436, 64}

// The texts of mgo's for which it has no values.
var passingTexts = []string{
	"no reachable servers", "Closed explicitly", "server was closed", "server not available", "getNonce: ", "resetNonce: ",
	"Got an empty nonce", "Failed to unmarshal nonce",
}

// cutShort says whether an error tells nothing of a request but that its answer is
// lost: it may have been done or not.
func cutShort(err error) bool {
	var network net.Error
	var query *mgo.QueryError
	var last *mgo.LastError
	switch {
	case err == nil:
		return false
	case IsAway(err):
		return true
	case errors.As(err, &query):
		return slices.Contains(passingCodes, query.Code)
	case errors.As(err, &last):
		return slices.Contains(passingCodes, last.Code)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe), errors.Is(err, net.ErrClosed),
		errors.As(err, &network), errors.Is(err, mgo.ErrCursor):
		return true
	}
	text := err.Error()
	return slices.ContainsFunc(passingTexts, func(t string) bool { return strings.Contains(text, t) })
}

// again does what may be done any number of times: once on the embedded store,
// whose loss is the process's, and on a MongoDB until it is not cut short.
func (s *Store) again(do func() error) error { return s.outage.sitOut(do) }

// settle finds out how a transaction has ended whose answer was lost, and brings it
// to its end; why is what happened. Its result is that of the transaction.
func (r *Runner) settle(session *mgo.Session, id bson.ObjectId, why error) error {
	logger.Infof("transaction %s of %s was cut short: %v", id.Hex(), r.name, why)
	err := r.outage.bringThrough(func() error {
		session.Refresh()
		db := session.DB(r.name)
		// Should it be on its way still, it comes too late: its place is taken.
		err := db.C(TxnsC).Insert(bson.D{{"_id", id}, {"s", aborted}, {"o", []txn.Op{}}})
		if !mgo.IsDup(err) {
			if err == nil {
				err = txn.ErrAborted
			}
			return err
		}
		return resume(db, id)
	})
	if err != nil && err != txn.ErrAborted {
		return fmt.Errorf("cannot tell how it has ended: %w", err)
	}
	return err
}
