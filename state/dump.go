package state

import (
	"context"
	"encoding/json"
)

// Dump returns every document of the model: see mongo.Database.Dump.
func (st *State) Dump(ctx context.Context) (map[string][]json.RawMessage, error) { return st.db.Dump() }
