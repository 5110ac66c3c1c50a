package mongo

import (
	"context"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo/mgotxn"
	"juju/state/mongo/servertxn"
)

// An engine runs the transactions of a database: mgo/txn, or the server's own transactions.
type engine interface {
	// run runs ops once, over the connection of a slot. It returns txn.ErrAborted if an assert does not hold.
	run(ctx context.Context, s *slot, ops []txn.Op) error
	// isFinal reports whether a transaction that was applied can't be rolled back, nor what it asserted.
	isFinal() bool
	// begin returns a session of the server for a slot; nil if the engine needs none.
	begin() *servertxn.Session
	// end ends sessions.
	end(over *mgo.Session, used []*servertxn.Session)
}

type mgoEngine struct{ mgotxn.Engine }

func (e mgoEngine) run(_ context.Context, s *slot, ops []txn.Op) error { return e.Run(s.session, ops) }

// isFinal is false: each step of a transaction waits for the majority, but what it asserted was only read.
func (mgoEngine) isFinal() bool { return false }

func (mgoEngine) begin() *servertxn.Session { return nil }

func (mgoEngine) end(*mgo.Session, []*servertxn.Session) {}

type serverEngine struct{ servertxn.Engine }

func (e *serverEngine) run(ctx context.Context, s *slot, ops []txn.Op) error {
	return e.Run(ctx, s.server, s.session, ops)
}

// isFinal is true where commits wait for the majority.
func (e *serverEngine) isFinal() bool { return len(e.Concern) > 0 }

func (e *serverEngine) begin() *servertxn.Session { return servertxn.NewSession() }

func (e *serverEngine) end(over *mgo.Session, used []*servertxn.Session) {
	if len(used) == 0 {
		return
	}
	if err := servertxn.End(over, used...); err != nil {
		logger.Debugf("cannot end the sessions of %s: %v", e.Database, err)
	}
}

// damaged returns a user-facing error about the first document of ops that refers to a lost transaction, or nil.
func (r *Runner) damaged(ctx context.Context, ops []txn.Op) error {
	return r.with(ctx, func(db *mgo.Database) error { return mgotxn.Damaged(db, ops) })
}
