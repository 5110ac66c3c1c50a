package deltas

import (
	"context"

	"juju/state/entity"
)

// mark marks what the connections of agents say in the parts that have one, as in a status of the whole model.
func (d *feed) mark(ctx context.Context, parts []entity.Part) error {
	status := &entity.ModelStatus{Model: entity.ModelHeader{UUID: d.model.UUID}, Services: []entity.ServiceStatus{{}}}
	units := &status.Services[0].Units
	listed := map[string]bool{}
	list := func(m entity.MachineStatus) {
		listed[m.ID] = true
		status.Machines = append(status.Machines, m)
	}
	for _, p := range parts {
		if p.Machine != nil {
			list(*p.Machine)
		}
	}
	for _, p := range parts {
		if p.Unit == nil {
			continue
		}
		*units = append(*units, p.Unit.UnitStatus)
		if listed[p.Unit.Machine] {
			continue
		}
		if m, exists := d.live.Part(ctx, entity.PartKey{Kind: entity.PartMachine, ID: p.Unit.Machine}); exists {
			list(*m.Machine) // a halted instance says why the unit's agent is lost
		}
	}
	if len(status.Machines)+len(*units) == 0 {
		return nil
	}
	wanted, err := d.st.Settings().Binaries(context.Background())
	if err != nil {
		return err
	}
	d.owner.presence.Mark(status, wanted)
	marked := map[string]*entity.MachineStatus{}
	for i := range status.Machines {
		marked[status.Machines[i].ID] = &status.Machines[i]
	}
	next := 0
	for i := range parts {
		switch {
		case parts[i].Machine != nil:
			m := *marked[parts[i].Machine.ID] // not a place among all of them, which would be kept with it
			parts[i].Machine = &m
		case parts[i].Unit != nil:
			parts[i].Unit.UnitStatus = (*units)[next]
			next++
		}
	}
	return nil
}

// fill reads the tasks among changes. One that has been removed since is told as that: its removal follows.
func (d *feed) fill(ctx context.Context, changes []Change) error {
	var ids []string
	for _, c := range changes {
		if c.Part.Task != nil && !c.Removed {
			ids = append(ids, c.Part.Key.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	all, err := d.live.Tasks(ctx, ids)
	if err != nil {
		return err
	}
	for i, c := range changes {
		if c.Part.Task == nil || c.Removed {
			continue
		}
		if task, exists := all[c.Part.Key.ID]; exists {
			changes[i].Part.Task = &task
		} else {
			changes[i].Removed = true
		}
	}
	return nil
}
