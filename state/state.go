package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/loggo"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
	"juju/state/watcher"
)

var logger = loggo.GetLogger("juju.state")

// A State is one model. It is safe for concurrent use.
type State struct {
	controller *Controller
	db         *mongo.Database
	hub        *watcher.Hub
	uuid       string
	name       string

	charms sync.Map // URL → *charm.Charm

	tails *tails
	done  chan struct{}
}

// openState opens the database of an existing model.
func (c *Controller) openState(uuid, name string) *State {
	st := &State{controller: c, db: c.store.Open(uuid), uuid: uuid, name: name, done: make(chan struct{})}
	st.hub, st.tails = follow(st.db, c.store.Barrier)
	return st
}

// close ends every watch of the model, and closes its connections once no call uses them.
// Later calls fail with why.
func (st *State) close(why error) {
	close(st.done)
	st.tails.end()
	st.db.Close(why)
}

// tails follows the log of one database while there are subscriptions.
type tails struct {
	hub    *watcher.Hub
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// follow makes the hub of a database. It follows the database's log while the hub has
// subscriptions.
func follow(db *mongo.Database, barrier func(context.Context) error) (*watcher.Hub, *tails) {
	t := &tails{}
	t.hub = watcher.NewHub(func(wanted bool) {
		if !wanted {
			t.cancel()
			return
		}
		var ctx context.Context
		ctx, t.cancel = context.WithCancel(context.Background())
		t.group.Go(func() { watcher.Tail(ctx, db.Tail, barrier, t.hub) })
	})
	return t.hub, t
}

// end ends all watches, and returns once the log is no longer followed.
func (t *tails) end() {
	t.hub.Close()
	t.group.Wait()
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
func (t Transactions) Barrier(ctx context.Context) error { return t.st.controller.store.Barrier(ctx) }

// change runs a transaction on the model: see the function change.
func (st *State) change(ctx context.Context, build func(*ops) error) error {
	return change(ctx, st.db, build)
}

// ResumeTransactions finishes unfinished transactions, except young ones that their own
// process is probably still running.
func (t Transactions) ResumeTransactions(ctx context.Context) error {
	return t.st.db.ResumeTransactions(ctx, t.st.controller.now().Add(-resumeAge))
}

// resumeAge is the age at which a process resumes transactions of others.
const resumeAge = 5 * time.Second

// PruneTransactions removes finished transactions older than age, and returns how many.
func (t Transactions) PruneTransactions(ctx context.Context, age time.Duration) (int, error) {
	return t.st.db.PruneTransactions(ctx, t.st.controller.now().Add(-age))
}

// modelDoc is the one document of the collection "model".
type modelDoc struct {
	lifeDoc `bson:",inline"`
	ID      string `bson:"_id"`
	Name    string `bson:"name"`
	UUID    string `bson:"uuid"`
	Series  string `bson:"series"` // the controller's default series; see defaultSeries
	Cloud   string `bson:"cloud"`
	// Constraints apply to machines unless a service's or machine's own replace them.
	Constraints string `bson:"constraints,omitempty"`
	// Config has the settings that were set for this model, in their stored form.
	Config map[string]string `bson:"config,omitempty"`
}

func (st *State) model() (modelDoc, error) {
	var doc modelDoc
	err := st.db.Get(modelC, modelC, &doc, fmt.Sprintf("model %q", st.name))
	return doc, err
}

// aliveModel reads the model for callers that add something to it. The error, in Juju's
// words, is entity.NotAlive if the model is not Alive.
func (st *State) aliveModel() (modelDoc, error) {
	doc, err := st.model()
	if err != nil {
		return doc, err
	}
	if doc.Life != entity.Alive {
		return doc, entity.Errorf(entity.NotAlive, "model %q is no longer alive", doc.Name)
	}
	return doc, nil
}

// newID returns a new id for a document that has no natural one. Take it before building
// a transaction, so that each try makes the same operations.
func newID() string { return bson.NewObjectId().Hex() }

// sortBy sorts by name, in natural order: "mysql/9" before "mysql/10".
func sortBy[T any](all []T, name func(T) string) {
	slices.SortFunc(all, func(a, b T) int {
		x, y := name(a), name(b)
		if c := entity.CompareNatural(x, y); c != 0 {
			return c
		}
		return strings.Compare(x, y)
	})
}

// readAll reads the documents that match a query, in the natural order of their names,
// and converts them to values.
func readAll[D, E any](st *State, collection string, query bson.D, name func(D) string, value func(D) E) ([]E, error) {
	var docs []D
	if err := st.db.All(collection, query, &docs); err != nil {
		return nil, err
	}
	sortBy(docs, name)
	all := make([]E, len(docs))
	for i, doc := range docs {
		all[i] = value(doc)
	}
	return all, nil
}

// isNotFound is for callers that expect that an entity may be gone.
func isNotFound(err error) bool { return errors.Is(err, entity.NotFound) }
