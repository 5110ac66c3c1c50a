package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/juju/loggo"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/charms"
	"juju/state/internal/modeldb"
	"juju/state/internal/modelstatus"
	"juju/state/internal/modeltxn"
	"juju/state/internal/storage"
	"juju/state/internal/watches"
	"juju/state/lease"
	"juju/state/mongo"
	"juju/state/schema"
	"juju/state/sealing"
	"juju/state/watcher"
)

var logger = loggo.GetLogger("juju.state")

// A State is one model. It is safe for concurrent use.
type State struct {
	host Host
	db   *modeltxn.DB
	hub  *watcher.Hub
	// watched is the model as its watches have reported it.
	watched *State

	follow func(context.Context, *watcher.Hub)
	tail   *watcher.Tailer
	done   chan struct{}
}

// UUID returns the model's UUID, which is also the name of its database.
func (st *State) UUID() string { return st.db.UUID }

// Name returns the model's name.
func (st *State) Name() string { return st.db.Name }

// Done returns a channel that is closed when the model can no longer be used: it was removed, or the controller is
// closing.
func (st *State) Done() <-chan struct{} { return st.done }

// Watches are the watches of a model: see package watches. Package watcher documents what they guarantee.
type Watches = watches.Watches

// A Scope is where units see their counterparts in a relation.
type Scope = watches.Scope

// A Live is a model whose parts are kept up to date: see modelstatus.Live.
type Live = modelstatus.Live

// Watches returns the watches of the model.
func (st *State) Watches() Watches { return watches.New(st.db, st.hub) }

// Transactions maintains a model's transactions.
type Transactions struct{ st *State }

// Transactions returns what maintains the model's transactions.
func (st *State) Transactions() Transactions { return Transactions{st} }

// Barrier waits until everything written before is on disk.
func (t Transactions) Barrier(ctx context.Context) error { return t.st.host.Store.Barrier(ctx) }

// Fence is lease.Fence for the model's database.
func (t Transactions) Fence(ctx context.Context, epoch int64) (context.Context, error) {
	fenced, err := lease.Fence(ctx, t.st.db.Database, epoch)
	// From now on no controller that led before can change anything: what it has changed must be read, whether or not its
	// events have come.
	t.st.db.Forget()
	return fenced, err
}

// ResumeTransactions finishes unfinished transactions, except recent ones that are probably still running.
func (t Transactions) ResumeTransactions(ctx context.Context) error {
	return t.st.db.ResumeTransactions(ctx, t.st.host.Now().Add(-mongo.ResumeAge))
}

// PruneTransactions removes finished transactions older than age, and returns how many.
func (t Transactions) PruneTransactions(ctx context.Context, age time.Duration) (int, error) {
	return t.st.db.PruneTransactions(ctx, t.st.host.Now().Add(-age))
}

// Token identifies the state of the model: it differs once anything has changed that plans depend on.
func (t Transactions) Token(ctx context.Context) (string, error) {
	return t.st.db.Sum(ctx, modeldb.Planned())
}

// IfUnchanged returns a context whose first transaction is made only if the model is in the state that a token
// identifies. The error, like that of the transaction, is Moved if it is not.
func (t Transactions) IfUnchanged(ctx context.Context, token string) (context.Context, error) {
	check := func() error {
		now, err := t.Token(ctx)
		if err == nil && now != token {
			err = entity.WithHint(entity.Errorf(entity.Moved, "the model has changed since the plan"),
				"To see what would happen now, run the command again with --dry-run instead of --if-unchanged.")
		}
		return err
	}
	return t.st.db.OnlyIf(ctx, check), check()
}

// mapped converts documents to values.
func mapped[D, E any](docs []D, value func(D) E) []E {
	all := make([]E, len(docs))
	for i, doc := range docs {
		all[i] = value(doc)
	}
	return all
}

// ops are the operations of one transaction, including moves of entities from life to life.
type ops struct {
	*modeltxn.Ops
	// moving has the keys of the entities that the transaction itself moves. Dropping a reference to one of them does not
	// check whether it was the last.
	moving map[string]bool
	pools  storage.Used
}

// change runs a transaction on the model: see mongo.Runner.Change.
func (st *State) change(ctx context.Context, build func(*ops) error) error {
	return st.db.Change(ctx, func(o *modeltxn.Ops) error {
		return build(&ops{Ops: o, moving: map[string]bool{}, pools: storage.Used{}})
	})
}

// A Host is what a model needs of its controller.
type Host struct {
	Store    *mongo.Store
	Form     schema.Form      // of the model's database
	Now      func() time.Time // only for timestamps and ages
	Leases   *lease.Leases
	Archives Archives
	// SecretKey seals the content of secrets; nil if the controller does not have it.
	SecretKey *sealing.Key
	// Made returns the model as it was created.
	Made func() (NewModel, error)
}

// Charms returns the model's charms.
func (st *State) Charms() charms.Charms { return charms.Of(st.db, st.watched.db, st.host.Archives) }

// Archives are the archives of a model's charms, and the files of its resources. The controller stores each once, shared
// by all models.
type Archives interface {
	// Adding prevents the removal of unused archives until done is called.
	Adding() (done func())
	// Keep stores an archive, and returns its SHA-256 in hex and its size.
	Keep(ctx context.Context, archive io.ReadSeeker) (sum string, size int64, err error)
	Open(ctx context.Context, sum string) (io.ReadCloser, error)
	// Find reports whether an archive exists, and whether the model refers to it.
	Find(ctx context.Context, sum string) (there, referred bool, err error)
	// Refer adds the model's reference to an archive.
	Refer(ctx context.Context, sum string) error
	// Release drops the model's reference to an archive, and deletes the archive with the last reference, unless used
	// returns true or the archive is stored again meanwhile.
	Release(ctx context.Context, sum string, used func() (bool, error)) error
}

// Open opens the database of an existing model. First it finishes transactions left by a crash, those started before
// the given time, and runs pending upgrade steps. close ends all watches of the model, and closes its connections once
// no call uses them; later calls fail with why.
func Open(ctx context.Context, h Host, uuid, name string,
	before time.Time) (st *State, close func(why error), err error) {
	st = &State{host: h, done: make(chan struct{})}
	st.follow = func(ctx context.Context, hub *watcher.Hub) { watcher.Tail(ctx, st.db.Tail, h.Store.Barrier, hub) }
	st.hub, st.tail = watcher.Follow(func(ctx context.Context, hub *watcher.Hub) { st.follow(ctx, hub) })
	st.db = modeltxn.New(h.Store.Open(uuid), uuid, name, h.Now, st.hub.Copies())
	st.watched = &State{host: h, db: st.db.AsWatched(), hub: st.hub, done: st.done}
	st.watched.watched = st.watched
	if err = st.db.ResumeTransactions(ctx, before); err == nil {
		err = h.Form.Reach(ctx, h.Store, st.db.Database, fmt.Sprintf("model %q", name))
	}
	if err != nil {
		st.close(errors.New("the model could not be opened"))
		return nil, nil, err
	}
	return st, st.close, nil
}

func (st *State) close(why error) {
	close(st.done)
	st.tail.End()
	st.db.Close(why)
}

// NewModel describes a new model.
type NewModel struct {
	UUID    string
	Name    string
	Series  string            // the controller's default series
	Cloud   string            // the kind of the controller's cloud
	Config  map[string]string // settings, as ParseModelConfig returns them
	Created time.Time
}

// Make creates the database of an empty model. It can be repeated after an interruption.
func Make(ctx context.Context, store *mongo.Store, form schema.Form, p NewModel) error {
	if err := store.Make(ctx, p.UUID, form.Schema); err != nil {
		return err
	}
	db := store.Open(p.UUID)
	defer db.Close(errors.New("the model is made"))
	return db.Change(ctx, func(o *mongo.Ops) error {
		var there modeldb.Model
		if err := db.Get(ctx, modeldb.ModelC, modeldb.ModelC, &there, "model"); err == nil {
			return mongo.ErrNothing
		} else if !entity.IsNotFound(err) {
			return err
		}
		o.Insert(modeldb.ModelC, modeldb.ModelC, p.doc())
		form.Record(o)
		return nil
	})
}

func (p NewModel) doc() modeldb.Model {
	return modeldb.Model{Living: modeldb.Living{Since: p.Created}, ID: modeldb.ModelC, Name: p.Name, UUID: p.UUID, Series: p.Series,
		Cloud: p.Cloud, Config: p.Config}
}

// A Remnant is what remains in the database of a model that is being removed.
type Remnant struct {
	There  bool // the model's own document is
	Forced bool // the model was destroyed with force
	// Filesystems are the cloud's ids of leftovers to destroy.
	Filesystems []string
}

// ReadRemnant reads what remains of a model that no process has open.
func ReadRemnant(ctx context.Context, store *mongo.Store, uuid string) (r Remnant, err error) {
	db := store.Open(uuid)
	defer db.Close(errors.New("the model is being removed"))
	var doc modeldb.Model
	if err := db.Get(ctx, modeldb.ModelC, modeldb.ModelC, &doc, "model"); entity.IsNotFound(err) {
		return r, nil
	} else if err != nil {
		return r, err
	}
	var left []modeldb.Leftover
	err = db.All(ctx, modeldb.LeftoversC, bson.D{{"filesystem", bson.D{{"$exists", true}}}}, &left)
	for _, l := range left {
		if !l.IsReleased(doc) {
			r.Filesystems = append(r.Filesystems, l.Filesystem)
		}
	}
	r.There, r.Forced = true, doc.Forced()
	return r, err
}
