package state

import (
	"cmp"
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
	"juju/state/limits"
	"juju/state/mongo"
)

// A Machine is a snapshot of a machine.
type Machine struct {
	st        *State
	doc       modeldb.Machine
	successor string // the manager that takes over the job when this one is destroyed
}

// Machine reads a machine; the error is entity.NotFound if there is none.
func (st *State) Machine(ctx context.Context, id string) (*Machine, error) {
	doc, err := st.db.Machine(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Machine{st: st, doc: doc}, nil
}

// Machines reads the machines with these ids that exist, or all if ids is empty, in natural order.
func (st *State) Machines(ctx context.Context, ids ...string) ([]*Machine, error) {
	var query bson.D
	if len(ids) > 0 {
		query = bson.D{{"_id", bson.D{{"$in", ids}}}}
	}
	return st.machines(ctx, query)
}

// machines reads the machines that match, in natural order.
func (st *State) machines(ctx context.Context, query bson.D) ([]*Machine, error) {
	docs, err := st.db.Machines(ctx, query)
	return mapped(docs, func(d modeldb.Machine) *Machine { return &Machine{st: st, doc: d} }), err
}

// ID returns the machine's id.
func (m *Machine) ID() string { return m.doc.ID }

// Series returns the series of the machine's operating system.
func (m *Machine) Series() string { return m.doc.Series }

// Life returns the machine's life when it was read.
func (m *Machine) Life() entity.Life { return m.doc.Life }

// Addresses returns the addresses that the cloud and the machine's agent last reported.
func (m *Machine) Addresses() []string { return slices.Clone(m.doc.Addresses) }

// IsManager reports whether the machine runs a controller.
func (m *Machine) IsManager() bool { return m.doc.IsManager() }

// InstanceID returns the provider's id of the machine's instance, or "".
func (m *Machine) InstanceID() string { return m.doc.InstanceID }

// Info returns what the machine's agent and the provisioner need to know.
func (m *Machine) Info(ctx context.Context) (entity.MachineInfo, error) {
	status, err := m.st.db.Status(ctx, modeldb.MachineKey(m.doc.ID))
	if err != nil {
		return entity.MachineInfo{}, err
	}
	constraints, err := m.st.db.Constraints(ctx, modeldb.MachineKey(m.doc.ID))
	return m.info(status.Status, constraints), err
}

// MachineInfos returns the Info of the machines with these ids that exist, or of all if ids is empty, in a fixed number
// of queries.
func (p Provisioning) MachineInfos(ctx context.Context, ids ...string) ([]entity.MachineInfo, error) {
	machines, err := p.st.Machines(ctx, ids...)
	if err != nil {
		return nil, err
	}
	said, constraints, err := placement.Beside(ctx, p.st.db, mapped(machines, func(m *Machine) modeldb.Machine {
		return m.doc
	}))
	if err != nil {
		return nil, err
	}
	infos := make([]entity.MachineInfo, len(machines))
	for i, m := range machines {
		key := modeldb.MachineKey(m.doc.ID)
		infos[i] = m.info(said[key].Status, constraints[key])
	}
	return infos, nil
}

func (m *Machine) info(status entity.StatusWord, constraints string) entity.MachineInfo {
	return entity.MachineInfo{
		ID: m.doc.ID, Life: m.doc.Life, Series: m.doc.Series, Constraints: constraints,
		Placement: m.doc.Placement, Container: m.doc.Container, Manager: m.IsManager(),
		InstanceID: m.doc.InstanceID, Nonce: m.doc.Nonce, Status: status,
		Reboot: m.doc.Reboot,
	}
}

// AddMachineParams describes a new machine.
type AddMachineParams struct {
	Series      string            // the model's default if empty
	Constraints constraints.Value // merged with the model's
	Placement   entity.Placement  // not an existing machine, unless it hosts the new container
	Jobs        []string          // JobHostUnits if nil
	// Manual is the instance of a manual machine, and Hardware its hardware. Such a machine has a series, no constraints,
	// and no placement but entity.Placement.Manual.
	Manual   entity.Instance
	Hardware entity.Hardware
}

// AddMachine adds a machine, for which the provisioner starts an instance unless it is manual. For a container without a
// host it also adds a host.
func (st *State) AddMachine(ctx context.Context, p AddMachineParams) (*Machine, error) {
	var ids placement.IDs // taken once the machine is known to be valid
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("cannot add a machine: %w", err)
	}
	born := st.born()
	err := st.change(ctx, func(o *ops) error {
		model, err := st.db.AliveModel(ctx)
		if err != nil {
			return err
		}
		demands, err := mergeConstraints(model, p.Constraints)
		if err != nil {
			return err
		}
		if p.Manual.ID != "" {
			demands = constraints.Value{} // the machine exists
		}
		doc := modeldb.Machine{Living: born, Series: cmp.Or(p.Series, model.DefaultSeries()), Jobs: p.Jobs,
			Placement: entity.Placement{Directive: p.Placement.Directive, Manual: p.Placement.Manual}.String(), Clean: true, InstanceID: p.Manual.ID, Nonce: p.Manual.Nonce,
			Addresses: p.Manual.Addresses, CloudAddresses: p.Manual.Addresses, Hardware: p.Hardware.String(),
			CloudHardware: p.Hardware}
		if doc.Series == "" {
			return entity.WithHint(entity.Errorf(entity.Invalid, "no series specified"), "Specify one: --series SERIES")
		}
		if _, _, err := networks.Demand(ctx, st.db, o.Ops, demands); err != nil {
			return err
		}
		o.assertModelAs(model)
		if p.Placement.Container == "" {
			doc.ID, err = placement.KeptID(ctx, st.db, &ids.Machine)
		} else {
			err = placement.Container(ctx, st.db, o.Ops, p.Placement, &doc, &ids)
		}
		if err != nil {
			return err
		}
		placement.AddMachine(o.Ops, doc, demands)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot add a machine: %w", err)
	}
	return st.Machine(ctx, ids.Machine)
}

// check rejects invalid parameters, and sets the default job.
func (p *AddMachineParams) check() error {
	if p.Jobs == nil {
		p.Jobs = []string{modeldb.JobHostUnits}
	}
	if len(p.Jobs) == 0 {
		return entity.Errorf(entity.Invalid, "no jobs specified")
	}
	p.Jobs = slices.Clone(p.Jobs)
	for i, job := range p.Jobs {
		if job == modeldb.JobManageEnviron {
			p.Jobs[i] = modeldb.JobManageModel
		} else if job != modeldb.JobHostUnits && job != modeldb.JobManageModel {
			return entity.Errorf(entity.Invalid, "unknown job %q", job)
		}
		if slices.Contains(p.Jobs[:i], p.Jobs[i]) {
			return entity.Errorf(entity.Invalid, "duplicate job: %s", job)
		}
	}
	at := p.Placement
	switch {
	case at.Container != "" && !entity.IsContainerType(at.Container):
		return entity.Errorf(entity.Invalid, "invalid container type %q", at.Container)
	case at.Container == "" && at.Machine != "":
		return entity.Errorf(entity.Invalid, "machine %s already exists", at.Machine)
	}
	return p.checkManual()
}

// checkManual rejects parameters that a manual machine can't have.
func (p *AddMachineParams) checkManual() error {
	in := p.Manual
	if in.ID == "" && in.Nonce == "" && len(in.Addresses) == 0 && p.Hardware == (entity.Hardware{}) && p.Placement.Manual == "" {
		return nil
	}
	switch {
	case !entity.IsManualInstance(in.ID):
		return entity.Errorf(entity.Invalid, "%q is not an instance of a manual machine", in.ID)
	case in.Nonce == "":
		return entity.Errorf(entity.Invalid, "a manual machine needs a nonce")
	case p.Series == "":
		return entity.Errorf(entity.Invalid, "no series specified")
	case p.Placement.Container != "" || !p.Constraints.IsEmpty():
		return entity.Errorf(entity.Invalid, "a manual machine is no container, and has no constraints")
	case p.Placement != entity.Placement{Manual: p.Placement.Manual}:
		return entity.Errorf(entity.Invalid, "%q is not a placement of a manual machine", p.Placement)
	case slices.Contains(p.Jobs, modeldb.JobManageModel):
		return entity.Errorf(entity.Invalid, "a manual machine cannot run a controller")
	}
	return limits.CheckInstance(in)
}

// AddManager adds machine 0, the controller's own, to the controller's model, unless it exists.
func AddManager(ctx context.Context, st *State, series string) error {
	if _, err := st.Machine(ctx, "0"); !entity.IsNotFound(err) {
		return err
	}
	if _, err := placement.NextID(ctx, st.db); err != nil {
		return err
	}
	born := st.born()
	return st.change(ctx, func(o *ops) error {
		if _, err := st.Machine(ctx, "0"); err == nil {
			return mongo.ErrNothing
		}
		o.AssertModelAlive()
		placement.AddMachine(o.Ops, modeldb.Machine{Living: born, ID: "0", Series: series, Jobs: []string{modeldb.JobManageModel},
			InstanceID: entity.BootstrapInstance, Nonce: entity.BootstrapInstance}, constraints.Value{})
		return nil
	})
}

// HostKeys returns the public keys of the machine's SSH server, as its agent last reported them.
func (m *Machine) HostKeys() []string { return slices.Clone(m.doc.HostKeys) }

// SetHostKeys replaces the public keys of the machine's SSH server.
func (m *Machine) SetHostKeys(ctx context.Context, keys []string) error {
	return m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		if slices.Equal(m.doc.HostKeys, keys) {
			return mongo.ErrNothing
		}
		o.Update(modeldb.MachinesC, m.doc.ID, modeltxn.Exists, bson.D{{"$set", bson.D{{"hostkeys", keys}}}})
		return nil
	})
}

// SetStatus replaces the machine's status.
func (m *Machine) SetStatus(ctx context.Context, s entity.Status) error {
	return m.st.db.SetStatus(ctx, modeldb.MachineKey(m.doc.ID), s)
}
