package state

import (
	"context"
	"encoding/json"
	"time"

	"juju/state/entity"
)

// Dump returns every document of the model: see mongo.Database.Dump.
func (st *State) Dump(ctx context.Context) (map[string][]json.RawMessage, error) { return st.db.Dump() }

// writableTime returns t, or the zero time if JSON can't hold t.
func writableTime(t time.Time) time.Time {
	if !entity.WritableTime(t) {
		return time.Time{}
	}
	return t
}
