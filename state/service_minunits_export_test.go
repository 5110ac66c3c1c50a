package state

import "juju/state/internal/modeldb"

// MinUnitsChanges returns how often workers were notified of the service's
// units: that one was destroyed, or that the number to keep changed.
func (st *State) MinUnitsChanges(service string) (int64, error) {
	var doc modeldb.MinUnits
	err := st.db.Get(modeldb.MinUnitsC, service, &doc, "minunits")
	return doc.Changes, err
}
