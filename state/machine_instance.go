package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/constraints"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/internal/ports"
	"juju/state/mongo"
)

// SetProvisioned records a new instance of a machine that has none. The machine must be Alive, or Dying with units on
// it: their agents ran on an instance that was lost, and only agents can leave relations cleanly.
func (m *Machine) SetProvisioned(ctx context.Context, in entity.Instance) error {
	err := m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		switch {
		case in.ID == "" || in.Nonce == "":
			return entity.Errorf(entity.Invalid, "instance id and nonce cannot be empty")
		case m.doc.InstanceID == in.ID && m.doc.Nonce == in.Nonce:
			return mongo.ErrNothing
		case m.doc.InstanceID != "":
			return entity.Errorf(entity.Invalid, "already set")
		}
		if m.doc.Life != entity.Alive {
			key := modeldb.MachineKey(m.doc.ID)
			holders, err := m.st.db.CountsOf(ctx, key)
			if err != nil {
				return err
			}
			if m.doc.Life != entity.Dying || holders["units"] == 0 {
				return entity.Errorf(entity.NotAlive, "machine is not alive")
			}
			// A Dying machine gets an instance only for units that must run their last hooks on it.
			o.Expect(key, "units", bson.D{{"$gt", 0}})
		}
		seen := m.doc
		seen.CloudAddresses, seen.CloudHardware = in.Addresses, in.Hardware
		set := append(seen.Observed(m.doc), bson.D{{"instance", in.ID}, {"nonce", in.Nonce}}...)
		if in.Profiles != nil {
			set = append(set, bson.DocElem{Name: "profiles", Value: modeldb.Profiles{Has: in.Profiles}})
		}
		return m.addressOps(ctx, o, bson.D{{"life", m.doc.Life}, {"instance", bson.D{{"$exists", false}}}}, seen, set)
	})
	if err != nil {
		return fmt.Errorf("cannot set instance data for machine %s: %w", m.doc.ID, err)
	}
	return nil
}

// RunRestored records that the machine, whose controller was on an instance of the cloud, has the controller that was
// restored from a backup, as if bootstrap had started it. It does nothing if bootstrap has. The error is Invalid if the
// machine runs no controller.
func (m *Machine) RunRestored(ctx context.Context) error {
	err := m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		switch {
		case m.doc.Life != entity.Alive || !m.IsManager():
			return entity.Errorf(entity.Invalid, "it runs no controller")
		case m.doc.InstanceID == entity.BootstrapInstance:
			return mongo.ErrNothing
		}
		o.Update(modeldb.MachinesC, m.doc.ID, bson.D{{"life", entity.Alive}, {"jobs", modeldb.JobManageModel}},
			bson.D{{"$set", bson.D{{"instance", entity.BootstrapInstance}, {"nonce", entity.BootstrapInstance}}}})
		o.DropStatus(modeldb.InstanceKey(m.doc.ID))
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot make machine %s that of the restored controller: %w", m.doc.ID, err)
	}
	return nil
}

// LoseInstance removes a machine's instance, because the cloud no longer has it. The machine becomes pending, agents on
// the old instance are rejected, and what was on it is forgotten: see lostStorageOps and lostUnitsOps. It does nothing
// if the machine was removed, is Dead, or has an instance other than missed. It rejects managers and manual machines,
// whose instances are not in a cloud.
func (m *Machine) LoseInstance(ctx context.Context, missed entity.Instance) error {
	key := modeldb.MachineKey(m.doc.ID)
	doc := modeldb.NewStatus(key, entity.Status{Status: entity.StatusPending,
		Message: fmt.Sprintf("instance %s was lost", missed.ID)}, m.st.db.Now())
	lost := false
	err := m.st.change(ctx, func(o *ops) error {
		lost = false
		if err := m.refresh(ctx); entity.IsNotFound(err) {
			return mongo.ErrNothing
		} else if err != nil {
			return err
		}
		switch {
		case m.IsManager():
			return entity.Errorf(entity.Invalid, "machine %s runs a controller", m.doc.ID)
		case entity.IsManualInstance(m.doc.InstanceID):
			return entity.Errorf(entity.Invalid, "machine %s is manual", m.doc.ID)
		case missed.ID == "" || m.doc.Life == entity.Dead || m.doc.InstanceID != missed.ID || m.doc.Nonce != missed.Nonce:
			return mongo.ErrNothing
		}
		change := bson.D{{"$unset", bson.D{{"instance", 1}, {"nonce", 1}, {"addresses", 1}, {"cloudaddresses", 1},
			{"hostaddresses", 1}, {"hardware", 1}, {"cloudhardware", 1}, {"hosthardware", 1}, {"hostkeys", 1}, {"reboot", 1},
			{"profiles", 1}}}}
		if address := m.doc.Address(); address != "" {
			change = append(change, bson.DocElem{Name: "$set", Value: bson.D{{"lostaddress", address}}})
		}
		o.Update(modeldb.MachinesC, m.doc.ID,
			bson.D{{"life", m.doc.Life}, {"instance", missed.ID}, {"nonce", missed.Nonce},
				{"jobs", bson.D{{"$ne", modeldb.JobManageModel}}}},
			change)
		was, err := m.st.db.StatusDoc(ctx, key)
		if err != nil {
			return err
		}
		o.ReplaceStatus(was, doc, modeltxn.Exists)
		o.DropStatus(modeldb.InstanceKey(m.doc.ID))
		if err := m.st.hashOps(ctx, o, entity.MachineTag(m.doc.ID), ""); err != nil {
			return err
		}
		if err := m.lostStorageOps(ctx, o); err != nil {
			return err
		}
		// Hooks open the ports again on the new instance.
		if err := ports.Lose(ctx, m.st.db, o.Ops, m.doc.ID); err != nil {
			return err
		}
		if err := m.lostUnitsOps(ctx, o); err != nil {
			return err
		}
		lost = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot remove instance %s from machine %s: %w", missed.ID, m.doc.ID, err)
	}
	if lost {
		m.st.db.Remember(ctx, doc)
	}
	return nil
}

// RetryProvisioning retries starting a machine whose instance failed to start, with its constraints replaced unless
// constraints is nil. The error is entity.Invalid if the machine's status is not error or it has an instance.
func (m *Machine) RetryProvisioning(ctx context.Context, constraints *constraints.Value) error {
	key := modeldb.MachineKey(m.doc.ID)
	doc := modeldb.NewStatus(key, entity.Status{Status: entity.StatusPending}, m.st.db.Now())
	err := m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		said, err := m.st.db.StatusDoc(ctx, key)
		if err != nil {
			return err
		}
		switch {
		case m.doc.Life == entity.Dead:
			return entity.Errorf(entity.NotAlive, "machine is dead")
		case said.Status != entity.StatusError || m.doc.InstanceID != "":
			return entity.WithHint(entity.Errorf(entity.Invalid, "machine %s is not in error", m.doc.ID),
				"To see what it is doing: juju status")
		}
		o.Update(modeldb.MachinesC, m.doc.ID, bson.D{{"life", m.doc.Life}, {"instance", bson.D{{"$exists", false}}}},
			bson.D{{"$inc", bson.D{{"retries", 1}}}})
		o.ReplaceStatus(said, doc, bson.D{{"status", entity.StatusError}})
		if constraints == nil {
			return nil
		}
		if _, _, err := networks.Demand(ctx, m.st.db, o.Ops, *constraints); err != nil {
			return err
		}
		return m.st.constraintsOps(ctx, o, key, *constraints)
	})
	if err != nil {
		return fmt.Errorf("cannot retry provisioning of machine %s: %w", m.doc.ID, err)
	}
	m.st.db.Remember(ctx, doc)
	return nil
}

// FailedMachines returns the machines whose instance failed to start, for RetryProvisioning.
func (p Provisioning) FailedMachines(ctx context.Context) ([]*Machine, error) {
	machines, err := p.st.Machines(ctx)
	if err != nil {
		return nil, err
	}
	var failed []*Machine
	for _, m := range machines {
		if m.doc.InstanceID != "" || m.doc.Life == entity.Dead {
			continue
		}
		if said, err := p.st.db.Status(ctx, modeldb.MachineKey(m.doc.ID)); entity.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, err
		} else if said.Status == entity.StatusError {
			failed = append(failed, m)
		}
	}
	return failed, nil
}

// SetInstanceStatus records what the cloud last reported about the machine's instance. The data of an error may have a
// "hint": how to remove the instance manually.
func (m *Machine) SetInstanceStatus(ctx context.Context, s entity.Status) error {
	key := modeldb.InstanceKey(m.doc.ID)
	doc := modeldb.NewStatus(key, s, m.st.db.Now())
	var was modeldb.Status
	err := m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		// The status is removed with the machine; one that is written later would stay.
		o.Assert(modeldb.MachinesC, m.doc.ID, modeltxn.Exists)
		var err error
		if was, err = m.st.db.StatusDoc(ctx, key); entity.IsNotFound(err) {
			o.Insert(modeldb.StatusesC, key, doc)
		} else if err != nil {
			return err
		} else {
			o.ReplaceStatus(was, doc, modeltxn.Exists)
		}
		o.WakeForce(modeldb.MachineKey(m.doc.ID), m.doc.Living, s)
		return nil
	})
	if err == nil && !doc.Repeats(was) {
		m.st.db.Remember(ctx, doc)
	}
	return err
}

// What is lost with a machine's instance, besides what is in the machine's document. Other records of its units are
// kept: settings in relations, where their new address replaces the old one; charm state; leadership, which expires
// unless the new agent renews it. The new agents end the tasks that ran there.

// lostStorageOps records that no storage is attached on the machine, and that what was on the instance's own disk must
// be recreated. The storage provisioner attaches it to the next instance, and the unit's first hook waits for that.
func (m *Machine) lostStorageOps(ctx context.Context, o *ops) error {
	attached, err := m.st.attachments(ctx, bson.D{{"machine", m.doc.ID}, {"location", bson.D{{"$exists", true}}}})
	if err != nil {
		return err
	}
	for _, a := range attached {
		o.Update(modeldb.AttachmentsC, a.doc.ID, nil, bson.D{{"$unset", bson.D{{"location", 1}}}})
	}
	onDisk, err := m.st.storages(ctx, bson.D{{"machine", m.doc.ID}, {"filesystem", bson.D{{"$exists", true}}}})
	if err != nil {
		return err
	}
	for _, s := range onDisk {
		o.Update(modeldb.StorageC, s.doc.ID, nil, bson.D{{"$unset", bson.D{{"filesystem", 1}, {"made", 1}}}})
	}
	return nil
}

// lostUnitsOps resets the statuses of the machine's units, and removes their agents' passwords. A resolved hook failed
// on the lost instance.
func (m *Machine) lostUnitsOps(ctx context.Context, o *ops) error {
	units, err := m.hosted(ctx)
	if err != nil {
		return err
	}
	for _, u := range units {
		if u.doc.Life == entity.Dead {
			continue
		}
		o.DropStatus(modeldb.UnitKey(u.doc.Name))
		o.DropStatus(modeldb.WorkloadKey(u.doc.Name))
		if err := m.st.hashOps(ctx, o, u.tag(), ""); err != nil {
			return err
		}
		if u.doc.Resolved != entity.ResolvedNone {
			o.Update(modeldb.UnitsC, u.doc.Name, nil, bson.D{{"$unset", bson.D{{"resolved", 1}}}})
		}
	}
	return nil
}
