package outage

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	mgo "gopkg.in/mgo.v2"

	"juju/state/entity"
)

// The error codes that disappear once a primary is elected: those that say that the server isn't primary, or
// won't be for long, and WriteConcernFailed, which says that the majority wasn't reached in time.
var transientCodes = []int{91, 189, 10058, 10107, 11600, 11602, 13435, 13436, 64}

// The texts of mgo's errors that have no exported values.
var transientTexts = []string{
	"no reachable servers", "Closed explicitly", "server was closed", "server not available", "getNonce: ", "resetNonce: ",
	"Got an empty nonce", "Failed to unmarshal nonce",
}

// IsTransient reports whether an error says only that the reply to a request was lost: it may or may not have been executed.
func IsTransient(err error) bool {
	var network net.Error
	var query *mgo.QueryError
	var last *mgo.LastError
	switch {
	case err == nil:
		return false
	case errors.Is(err, entity.StoreAway):
		return true
	case errors.As(err, &query):
		return slices.Contains(transientCodes, query.Code)
	case errors.As(err, &last):
		return slices.Contains(transientCodes, last.Code)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, net.ErrClosed),
		errors.As(err, &network), errors.Is(err, mgo.ErrCursor):
		return true
	}
	text := err.Error()
	return slices.ContainsFunc(transientTexts, func(t string) bool { return strings.Contains(text, t) })
}
