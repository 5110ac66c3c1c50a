package state

import (
	"context"
	"fmt"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/internal/placement"
	"juju/state/mongo"
)

// EnableHAParams describes how many controllers there should be.
type EnableHAParams struct {
	// Controllers is the number of controllers, which must be odd; 0 for what there are, or 3 if there are fewer.
	Controllers int
	Constraints constraints.Value // of new machines
	// Lost are the machines whose controllers are lost.
	Lost []string
}

// defaultControllers is the number of controllers if none is given: the fewest of which one may be lost.
const defaultControllers = 3

// EnableHA adds machines that run controllers to the controller's model until there are as many as wanted, and demotes
// those whose controllers are lost: they no longer run one, and are removed like any other machine. It demotes no other,
// and does nothing if there are already as many. The error is Invalid if there are more.
func (st *State) EnableHA(ctx context.Context, p EnableHAParams) (changes entity.ControllerChanges, err error) {
	fail := func(err error) (entity.ControllerChanges, error) {
		return entity.ControllerChanges{}, fmt.Errorf("failed to enable HA with %d controllers: %w", p.Controllers, err)
	}
	if p.Controllers < 0 || p.Controllers != 0 && p.Controllers%2 == 0 {
		return fail(entity.Errorf(entity.Invalid, "number of controllers must be odd and non-negative"))
	}
	if p.Controllers > maxControllers {
		return fail(entity.Errorf(entity.Invalid, "controller count is too large (allowed %d)", maxControllers))
	}
	born := st.born()
	var ids []string // of new machines, kept across attempts
	err = st.change(ctx, func(o *ops) error {
		changes = entity.ControllerChanges{}
		model, err := st.db.AliveModel(ctx)
		if err != nil {
			return err
		}
		var managers []modeldb.Machine
		if err := st.db.All(ctx, modeldb.MachinesC, bson.D{{"jobs", modeldb.JobManageModel}}, &managers); err != nil {
			return err
		}
		series := model.DefaultSeries()
		for _, m := range managers {
			switch {
			case m.Life != entity.Alive:
			case slices.Contains(p.Lost, m.ID):
				changes.Demoted = append(changes.Demoted, m.ID)
			default:
				changes.Maintained = append(changes.Maintained, m.ID)
				series = m.Series
			}
		}
		slices.SortFunc(changes.Maintained, entity.CompareNatural)
		slices.SortFunc(changes.Demoted, entity.CompareNatural)
		wanted := p.Controllers
		if wanted == 0 {
			wanted = max(defaultControllers, len(changes.Maintained)+len(changes.Demoted))
		}
		if wanted < len(changes.Maintained) {
			return entity.WithHint(
				entity.Errorf(entity.Invalid, "cannot remove controllers with enable-ha, use remove-machine and chose the controller(s) to remove"),
				"Remove one with: juju destroy-machine -m %s %s", ControllerModel, changes.Maintained[len(changes.Maintained)-1])
		}
		if len(changes.Maintained) == 0 {
			return entity.Errorf(entity.Unavailable, "no controller is up")
		}
		if _, _, err := networks.Demand(ctx, st.db, o.Ops, p.Constraints); err != nil {
			return err
		}
		o.assertModelAs(model)
		// Of two concurrent calls, the later one sees the controllers added by the earlier one.
		o.Update(modeldb.ModelC, modeldb.ModelC, mongo.Unadvanced("controllers", model.Controllers),
			bson.D{{"$inc", bson.D{{"controllers", 1}}}})
		// A controller that is destroyed or demoted meanwhile would be counted, but would not be there.
		for _, id := range changes.Maintained {
			o.Assert(modeldb.MachinesC, id, bson.D{{"life", entity.Alive}, {"jobs", modeldb.JobManageModel}})
		}
		for _, id := range changes.Demoted {
			o.Update(modeldb.MachinesC, id, modeltxn.IsAlive, bson.D{{"$pull", bson.D{{"jobs", modeldb.JobManageModel}}}})
		}
		for i := range wanted - len(changes.Maintained) {
			if i == len(ids) {
				id, err := placement.NextID(ctx, st.db)
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			placement.AddMachine(o.Ops, modeldb.Machine{Living: born, ID: ids[i], Series: series,
				Jobs: []string{modeldb.JobManageModel}}, p.Constraints)
			changes.Added = append(changes.Added, ids[i])
		}
		if len(changes.Added)+len(changes.Demoted) == 0 {
			return mongo.ErrNothing
		}
		return nil
	})
	if err != nil {
		return fail(err)
	}
	return changes, nil
}

// maxControllers is how many controllers there can be.
const maxControllers = 7
