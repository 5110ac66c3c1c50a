package servertxn

import (
	"github.com/google/uuid"
	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"
)

// A Session is a session of the server, in which transactions run one after another.
type Session struct {
	id     uuid.UUID
	number int64 // of the last transaction
}

// NewSession returns a session that the server learns of with its first transaction.
func NewSession() *Session { return &Session{id: uuid.New()} }

func (s *Session) doc() bson.D { return bson.D{{"id", bson.Binary{Kind: 4, Data: s.id[:]}}} }

// IsKnown reports whether the server knows the session, because a transaction has run in it.
func (s *Session) IsKnown() bool { return s.number > 0 }

// In adds the fields to a command that make it part of the session's current transaction. first begins it, with a snapshot of
// what the majority has.
func (s *Session) In(command bson.D, first bool) bson.D {
	command = append(command, bson.DocElem{"lsid", s.doc()},
		bson.DocElem{"txnNumber", s.number}, bson.DocElem{"autocommit", false})
	if first {
		command = append(command, bson.DocElem{"startTransaction", true},
			bson.DocElem{"readConcern", bson.D{{"level", "snapshot"}}})
	}
	return command
}

// Commit commits the session's transaction, with a write concern or none.
func (s *Session) Commit(over *mgo.Session, concern []bson.DocElem) error {
	var result struct {
		Concern Refused `bson:"writeConcernError"`
	}
	err := over.DB("admin").Run(append(s.In(bson.D{{"commitTransaction", 1}}, false), concern...), &result)
	if err == nil {
		err = result.Concern.Err()
	}
	return err
}

// Abort ends the session's transaction without effect.
func (s *Session) Abort(over *mgo.Session) error {
	return over.DB("admin").Run(s.In(bson.D{{"abortTransaction", 1}}, false), nil)
}

// End tells the server to forget sessions. If that fails, they expire there by themselves.
func End(over *mgo.Session, sessions ...*Session) error {
	var ids []bson.D
	for _, s := range sessions {
		ids = append(ids, s.doc())
	}
	return over.DB("admin").Run(bson.D{{"endSessions", ids}}, nil)
}

// Refused is the part of a reply that says why a write was refused or did not reach the majority.
type Refused struct {
	Code   int
	ErrMsg string
}

// Err returns it as an error; nil if the write was made.
func (r Refused) Err() error {
	if r.Code == 0 {
		return nil
	}
	return &mgo.QueryError{Code: r.Code, Message: r.ErrMsg}
}
