package state

import jujutxn "github.com/juju/txn"

// Before calls f between the reads of the model's next transaction and its commit;
// what f does by transactions of its own is no longer held up.
func (st *State) Before(f func()) { st.BeforeNext(0, f) }

// BeforeNext is Before for the transaction after so many others.
func (st *State) BeforeNext(others int, f func()) { before(st.db.TestHooks(), others, f) }

// Before is State.Before for the controller's own database.
func (c *Controller) Before(f func()) { before(c.db.TestHooks(), 0, f) }

func before(hooks chan []jujutxn.TestHook, others int, f func()) {
	<-hooks
	hooks <- append(make([]jujutxn.TestHook, others), jujutxn.TestHook{Before: f})
}
