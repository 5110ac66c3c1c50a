package placement

import (
	"context"
	"slices"
	"strconv"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/lifecycle"
)

// KeptID allocates a machine number, unless id has one from an earlier attempt.
func KeptID(ctx context.Context, db *modeltxn.DB, id *string) (string, error) {
	if *id != "" {
		return *id, nil
	}
	var err error
	*id, err = NextID(ctx, db)
	return *id, err
}

// IDs are those of a new machine, and of the host of a new container; "" until they are known.
type IDs struct{ Machine, Host string }

// Container fills in doc for a container on the named machine or a new one. ids keeps theirs across attempts.
func Container(ctx context.Context, db *modeltxn.DB, o *modeltxn.Ops, at entity.Placement, doc *modeldb.Machine,
	ids *IDs) error {
	if at.Machine == "" {
		if _, err := KeptID(ctx, db, &ids.Host); err != nil {
			return err
		}
		AddMachine(o, modeldb.Machine{Living: doc.Living, ID: ids.Host, Series: doc.Series, Jobs: []string{modeldb.JobHostUnits}}, constraints.Value{})
	} else {
		ids.Host = at.Machine
		if err := checkHost(ctx, db, at.Machine, at.Container); err != nil {
			return err
		}
		o.Update(modeldb.MachinesC, at.Machine, slices.Concat(modeltxn.IsAlive, (*modeldb.SeriesUpgrade)(nil).AsRead()), bson.D{{"$set", bson.D{{"clean", false}}}})
	}
	if ids.Machine == "" {
		n, err := db.Next(ctx, "machine"+ids.Host+at.Container+"Container", 1)
		if err != nil {
			return err
		}
		ids.Machine = ids.Host + "/" + at.Container + "/" + strconv.Itoa(n)
	}
	doc.ID, doc.Container, doc.Host = ids.Machine, at.Container, ids.Host
	return nil
}

// checkHost rejects a machine that can't host a container. A controller's machine and a manual one have no cloud
// instance next to which to start the container.
func checkHost(ctx context.Context, db *modeltxn.DB, id, kind string) error {
	m, err := db.Machine(ctx, id)
	switch {
	case err != nil:
		return err
	case m.Life != entity.Alive:
		return entity.Errorf(entity.NotAlive, "machine %s is not alive", id)
	case m.IsManager():
		return entity.Errorf(entity.NotSupported, "machine %s runs a controller, and cannot host containers", id)
	case entity.IsManualInstance(m.InstanceID):
		return entity.WithHint(entity.Errorf(entity.NotSupported,
			"machine %s is manual, and cannot host %s containers", id, kind),
			"No cloud can start containers there. Use the machine itself: --to %s", id)
	case m.Upgrade != nil:
		return isLocked(m)
	}
	return nil
}

// NextID allocates a machine number.
func NextID(ctx context.Context, db *modeltxn.DB) (string, error) {
	n, err := db.Next(ctx, modeldb.MachineSequence, 1)
	return strconv.Itoa(n), err
}

// AddMachine adds a new machine with its constraints.
func AddMachine(o *modeltxn.Ops, doc modeldb.Machine, c constraints.Value) {
	doc.Born = doc.Since
	o.Insert(modeldb.MachinesC, doc.ID, doc)
	o.AddCounts(lifecycle.Machine, doc.ID, doc.Targets)
	o.KeepConstraints(modeldb.MachineKey(doc.ID), c)
}

// Beside returns the statuses and constraints of machines by their keys, in two queries.
func Beside(ctx context.Context, db *modeltxn.DB,
	machines []modeldb.Machine) (said map[string]modeldb.Status, constraints map[string]string,
	err error) {
	said, constraints = map[string]modeldb.Status{}, map[string]string{}
	keys := make([]string, len(machines))
	for i, m := range machines {
		keys[i] = modeldb.MachineKey(m.ID)
		said[keys[i]] = modeldb.FirstStatus(keys[i], m.Birth)
	}
	query := bson.D{{"_id", bson.D{{"$in", keys}}}}
	var statuses []modeldb.Status
	if err := db.All(ctx, modeldb.StatusesC, query, &statuses); err != nil {
		return nil, nil, err
	}
	var docs []modeldb.Constraints
	if err := db.All(ctx, modeldb.ConstraintsC, query, &docs); err != nil {
		return nil, nil, err
	}
	for _, d := range statuses {
		said[d.ID] = d
	}
	for _, d := range docs {
		constraints[d.Key] = d.Value
	}
	return said, constraints, nil
}
