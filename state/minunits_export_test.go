package state

// MinUnitsChanges returns how often those who keep the service's units were told
// that one was destroyed, or another number wanted.
func (st *State) MinUnitsChanges(service string) (int64, error) {
	var doc minUnitsDoc
	err := st.db.Get(minUnitsC, service, &doc, "minunits")
	return doc.Changes, err
}
