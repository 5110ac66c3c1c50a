package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/juju/loggo"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/mongo"
	"juju/state/watcher"
)

var logger = loggo.GetLogger("juju.state")

// A State is one model. It is safe for concurrent use.
type State struct {
	host Host
	db   *mongo.Database
	hub  *watcher.Hub
	uuid string
	name string

	charms sync.Map // URL → *charm.Charm

	follow func(context.Context, *watcher.Hub)
	tail   *watcher.Tailer
	done   chan struct{}
}

// UUID returns the model's UUID, which is also the name of its database.
func (st *State) UUID() string { return st.uuid }

// Name returns the model's name.
func (st *State) Name() string { return st.name }

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

// unadvanced asserts that a number of the model's document, which only grows, is still what was read.
func unadvanced(field string, read int) bson.D {
	if read == 0 {
		return bson.D{{field, bson.D{{"$exists", false}}}}
	}
	return bson.D{{field, read}}
}

func (st *State) model() (modeldb.Model, error) {
	var doc modeldb.Model
	err := st.db.Get(modeldb.ModelC, modeldb.ModelC, &doc, fmt.Sprintf("model %q", st.name))
	return doc, err
}

// aliveModel reads the model for callers that add something to it. The error, in Juju's
// words, is entity.NotAlive if the model is not Alive.
func (st *State) aliveModel() (modeldb.Model, error) {
	doc, err := st.model()
	if err != nil {
		return doc, err
	}
	if doc.Life != entity.Alive {
		return doc, entity.Errorf(entity.NotAlive, "model %q is no longer alive", doc.Name)
	}
	return doc, nil
}

// readAll reads the documents that match a query, in the natural order of their names,
// and converts them to values.
func readAll[D, E any](st *State, collection string, query bson.D, name func(D) string, value func(D) E) ([]E, error) {
	var docs []D
	if err := st.db.All(collection, query, &docs); err != nil {
		return nil, err
	}
	entity.SortBy(docs, name)
	all := make([]E, len(docs))
	for i, doc := range docs {
		all[i] = value(doc)
	}
	return all, nil
}
