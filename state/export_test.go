package state

import jujutxn "github.com/juju/txn"

// Before calls f between the reads of the model's next transaction and its commit;
// what f does by transactions of its own is no longer held up.
func (st *State) Before(f func()) { before(st.db.TestHooks(), f) }

// Before is State.Before for the controller's own database.
func (c *Controller) Before(f func()) { before(c.db.TestHooks(), f) }

func before(hooks chan []jujutxn.TestHook, f func()) {
	<-hooks
	hooks <- []jujutxn.TestHook{{Before: f}}
}
