package state

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	mgo "gopkg.in/mgo.v2"

	"juju/state/entity"
)

// Status reads the full status of the model, in a fixed number of queries. MatchStatus
// selects from it.
func (st *State) Status(ctx context.Context) (*entity.ModelStatus, error) {
	all, err := st.readAll()
	if err != nil {
		return nil, fmt.Errorf("cannot read the status of model %q: %w", st.name, err)
	}
	return all.status(st.host.Now()), nil
}

// everything holds the documents that status is made from, by id.
type everything struct {
	model       modelDoc
	machines    map[string]machineDoc
	services    map[string]serviceDoc
	units       map[string]unitDoc
	relations   []relationDoc
	statuses    map[string]statusDoc
	ports       map[string]portsDoc
	constraints map[string]constraintsDoc
	charms      map[string]charmDoc
	leaders     map[string]leadersDoc
	attachments map[string]attachmentDoc

	opened   map[string]map[string][]entity.PortRange // by machine and unit: openPorts makes it
	awaiting map[string][]string                      // by unit: awaitedStorage makes it
}

func (st *State) readAll() (*everything, error) {
	a := &everything{}
	var err error
	if a.model, err = st.model(); err != nil {
		return nil, err
	}
	if err := readMap(st, machinesC, &a.machines, func(d machineDoc) string { return d.ID }); err != nil {
		return nil, err
	}
	if err := readMap(st, servicesC, &a.services, func(d serviceDoc) string { return d.Name }); err != nil {
		return nil, err
	}
	if err := readMap(st, unitsC, &a.units, func(d unitDoc) string { return d.Name }); err != nil {
		return nil, err
	}
	if err := readMap(st, statusesC, &a.statuses, func(d statusDoc) string { return d.ID }); err != nil {
		return nil, err
	}
	if err := readMap(st, portsC, &a.ports, func(d portsDoc) string { return d.ID }); err != nil {
		return nil, err
	}
	if err := readMap(st, constraintsC, &a.constraints, func(d constraintsDoc) string { return d.Key }); err != nil {
		return nil, err
	}
	if err := readMap(st, charmsC, &a.charms, func(d charmDoc) string { return d.URL }, "files", "warnings"); err != nil {
		return nil, err
	}
	if err := readMap(st, leadersC, &a.leaders, func(d leadersDoc) string { return d.Service }); err != nil {
		return nil, err
	}
	if err := readMap(st, attachmentsC, &a.attachments, func(d attachmentDoc) string { return d.ID }); err != nil {
		return nil, err
	}
	if err := st.db.All(relationsC, nil, &a.relations); err != nil {
		return nil, err
	}
	slices.SortFunc(a.relations, func(x, y relationDoc) int { return cmp.Compare(x.ID, y.ID) })
	return a, nil
}

// readMap reads a collection without the given fields.
func readMap[D any](st *State, collection string, into *map[string]D, id func(D) string, without ...string) error {
	fields := map[string]int{"txn-queue": 0, "txn-revno": 0}
	for _, f := range without {
		fields[f] = 0
	}
	var docs []D
	err := st.db.Reading(collection, func(c *mgo.Collection) error { return c.Find(nil).Select(fields).All(&docs) })
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", collection, err)
	}
	*into = make(map[string]D, len(docs))
	for _, d := range docs {
		(*into)[id(d)] = d
	}
	return nil
}
