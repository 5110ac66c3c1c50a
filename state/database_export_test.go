package state

import (
	"juju/state/mongo"
)

// DB returns the model's database, for tests that look at, or break, what is in it.
func (st *State) DB() *mongo.Database { return st.db.Database }
