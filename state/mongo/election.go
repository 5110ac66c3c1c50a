package mongo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"juju/state/entity"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// electionBound is how long a request is attempted while primaries are lost and elected.
const electionBound = 40 * time.Second

// The error codes that disappear once a primary is elected: those that say that the server isn't primary, or
// won't be for long, and WriteConcernFailed, which says that the majority wasn't reached in time.
var passingCodes = []int{91, 189, 10058, 10107, 11600, 11602, 13435, 13436, 64}

// The texts of mgo's errors that have no exported values.
var passingTexts = []string{
	"no reachable servers", "Closed explicitly", "server was closed", "server not available", "getNonce: ", "resetNonce: ",
	"Got an empty nonce", "Failed to unmarshal nonce",
}

// cutShort reports whether, after this error, the request may or may not have been executed: only its reply
// is known to be lost.
func cutShort(err error) bool {
	var network net.Error
	var query *mgo.QueryError
	var last *mgo.LastError
	switch {
	case err == nil:
		return false
	case errors.Is(err, entity.StoreAway):
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

// again runs an idempotent function. On the embedded store, which fails only together with the process, it
// runs it once; on a MongoDB it retries until the function isn't cut short.
func (s *Store) again(ctx context.Context, do func() error) error { return s.outage.sitOut(ctx, do) }

// settle determines the outcome of a transaction whose reply was lost, and completes the transaction. why is
// the error that interrupted it. It returns the error that running the transaction would have returned.
func (r *Runner) settle(session *mgo.Session, id bson.ObjectId, why error) error {
	logger.Infof("transaction %s of %s was interrupted: %v", id.Hex(), r.name, why)
	if err := r.outage.refuses(); err != nil {
		return unknown(err) // the next transaction on its documents settles it, or the resumer
	}
	err := r.outage.bringThrough(func() error {
		session.Refresh()
		db := session.DB(r.name)
		// This takes the transaction's id: if its insert is still in flight, it will fail.
		err := db.C(TxnsC).Insert(bson.D{{"_id", id}, {"s", aborted}, {"o", []txn.Op{}}})
		if !mgo.IsDup(err) {
			if err == nil {
				err = txn.ErrAborted
			}
			return err
		}
		return resume(db, id)
	})
	if err != nil && err != txn.ErrAborted && !errors.Is(err, entity.StoreAway) {
		return fmt.Errorf("cannot determine its outcome: %w", err)
	}
	return err
}
