package state

import (
	"context"

	"juju/state/internal/modeldb"
)

// MinUnitsChanges returns how often workers were notified of the service's
// units: that one was destroyed, or that the number to keep changed.
func (st *State) MinUnitsChanges(ctx context.Context, service string) (int64, error) {
	var doc modeldb.MinUnits
	err := st.db.Get(ctx, modeldb.MinUnitsC, service, &doc, "minunits")
	return doc.Changes, err
}
