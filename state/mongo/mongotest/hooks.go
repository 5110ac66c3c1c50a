package mongotest

import (
	"sync"

	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
)

// A TestHook is called before and after one transaction.
type TestHook struct{ Before, After func() }

// Hooks are the hooks of one database, which a test sets while the database is in use. They may be set and called
// concurrently.
type Hooks struct {
	mu      sync.Mutex
	next    []TestHook // for the next transactions, in order
	rewrite func([]txn.Op) []txn.Op
}

// NewHooks returns a function for Hooks in mongo.Options. All openers of a database share its hooks.
func NewHooks() func(database string) mongo.Hooks {
	var mu sync.Mutex
	all := map[string]*Hooks{}
	return func(database string) mongo.Hooks {
		mu.Lock()
		defer mu.Unlock()
		if all[database] == nil {
			all[database] = &Hooks{}
		}
		return all[database]
	}
}

// HooksOf returns the hooks of a database whose store was opened with NewHooks.
func HooksOf(db *mongo.Database) *Hooks { return db.Hooks.(*Hooks) }

// Set makes each of the next attempts at a transaction pass through one of the hooks, which replace those set
// before. Transactions run by a hook pass through none.
func (h *Hooks) Set(hooks ...TestHook) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = hooks
}

// RewriteOps makes f inspect and change the operations of each attempt before its hook is called; nil ends that.
func (h *Hooks) RewriteOps(f func([]txn.Op) []txn.Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rewrite = f
}

// RefuseAll makes each transaction fail, as if the facts that it asserts kept changing; RewriteOps(nil) ends that.
func (h *Hooks) RefuseAll() {
	h.RewriteOps(func(ops []txn.Op) []txn.Op {
		ops[0].Assert = txn.DocMissing
		return ops
	})
}

// Next implements mongo.Hooks.
func (h *Hooks) Next() mongo.Hook {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.next) == 0 && h.rewrite == nil {
		return nil
	}
	return h.run
}

func (h *Hooks) run(ops []txn.Op, run func([]txn.Op) error) error {
	h.mu.Lock()
	rewrite := h.rewrite
	h.mu.Unlock()
	if rewrite != nil {
		ops = rewrite(ops)
	}
	h.mu.Lock()
	hooks := h.next
	h.next = nil
	h.mu.Unlock()
	if len(hooks) == 0 {
		return run(ops)
	}
	if f := hooks[0].Before; f != nil {
		f()
	}
	err := run(ops)
	if f := hooks[0].After; f != nil {
		f()
	}
	h.Set(hooks[1:]...)
	return err
}
