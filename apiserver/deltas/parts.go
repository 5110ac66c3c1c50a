package deltas

import (
	"context"

	"juju/apiserver/params"
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
			parts[i].Machine = marked[parts[i].Machine.ID]
		case parts[i].Unit != nil:
			parts[i].Unit.UnitStatus = (*units)[next]
			next++
		}
	}
	return nil
}

// fill reads the tasks that deltas are about, by their places. A task that has been removed since has a delta that says
// so: another one follows.
func (d *feed) fill(ctx context.Context, deltas []params.Delta, tasks map[int]entity.PartKey) error {
	if len(tasks) == 0 {
		return nil
	}
	ids := make([]string, 0, len(tasks))
	for _, key := range tasks {
		ids = append(ids, key.ID)
	}
	all, err := d.live.Tasks(ctx, ids)
	if err != nil {
		return err
	}
	for i, key := range tasks {
		task, exists := all[key.ID]
		if !exists {
			d.mu.Lock()
			if at := d.entries[key]; at != nil {
				deltas[i] = at.Value.(*entry).gone
			}
			d.mu.Unlock()
			continue
		}
		if deltas[i], _, err = params.DeltaOf(d.model, entity.Part{Key: key, Task: &task}); err != nil {
			return err
		}
	}
	return nil
}
