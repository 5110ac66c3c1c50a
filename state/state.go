package state

import (
	"context"
	"time"

	"github.com/juju/loggo"

	"juju/state/internal/modeltxn"
	"juju/state/mongo"
	"juju/state/watcher"
)

var logger = loggo.GetLogger("juju.state")

// A State is one model. It is safe for concurrent use.
type State struct {
	host Host
	db   *modeltxn.DB
	hub  *watcher.Hub

	follow func(context.Context, *watcher.Hub)
	tail   *watcher.Tailer
	done   chan struct{}
}

// UUID returns the model's UUID, which is also the name of its database.
func (st *State) UUID() string { return st.db.UUID }

// Name returns the model's name.
func (st *State) Name() string { return st.db.Name }

// Done returns a channel that is closed when the model can't be used any more: it was
// removed, or the controller is closing.
func (st *State) Done() <-chan struct{} { return st.done }

// Transactions is the part of a model's state that maintains its transactions.
type Transactions struct{ st *State }

// Transactions returns what maintains the model's transactions.
func (st *State) Transactions() Transactions { return Transactions{st} }

// Barrier waits until everything written before is on disk.
func (t Transactions) Barrier(ctx context.Context) error { return t.st.host.Store.Barrier(ctx) }

// ResumeTransactions finishes unfinished transactions, except young ones that their own
// process is probably still running.
func (t Transactions) ResumeTransactions(ctx context.Context) error {
	return t.st.db.ResumeTransactions(ctx, t.st.host.Now().Add(-mongo.ResumeAge))
}

// PruneTransactions removes finished transactions older than age, and returns how many.
func (t Transactions) PruneTransactions(ctx context.Context, age time.Duration) (int, error) {
	return t.st.db.PruneTransactions(ctx, t.st.host.Now().Add(-age))
}

// mapped converts documents to values.
func mapped[D, E any](docs []D, value func(D) E) []E {
	all := make([]E, len(docs))
	for i, doc := range docs {
		all[i] = value(doc)
	}
	return all
}

// ops are the operations of one transaction, with the moves of entities from life to life.
type ops struct {
	*modeltxn.Ops
	// moving has the keys of the entities that the transaction itself moves. Dropping a
	// reference to one of them does not check whether it was the last.
	moving map[string]bool
	pools  map[string]bool // that the transaction uses
}

// change runs a transaction on the model: see mongo.Runner.Change.
func (st *State) change(ctx context.Context, build func(*ops) error) error {
	return st.db.Change(ctx, func(o *modeltxn.Ops) error {
		return build(&ops{Ops: o, moving: map[string]bool{}, pools: map[string]bool{}})
	})
}
