package state

import (
	"context"
	"errors"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/mongo"
)

// Observe records what the cloud now reports of the machine's instance: its addresses, its hardware, and its
// status, a word of the cloud's, or "" for none; entity.StatusMissing if the cloud does not list it. It does
// nothing if the machine has another instance, or is Dead: what counts of that is whether its instance could be
// stopped, and the cleaner waits for it. An instance that has no address at the moment, as while it
// restarts, keeps those that it had, and one that is missing also its hardware.
func (m *Machine) Observe(ctx context.Context, in entity.Instance, status string) error {
	key := instanceKey(m.doc.ID)
	doc := newStatusDoc(key, entity.Status{Status: entity.StatusWord(status)}, m.st.now())
	changed := false
	err := m.st.change(ctx, func(o *ops) error {
		changed = false
		if err := m.refresh(ctx); err != nil {
			return err
		}
		if in.ID == "" || m.doc.InstanceID != in.ID || m.doc.Nonce != in.Nonce || m.doc.Life == entity.Dead {
			return mongo.ErrNothing
		}
		seen := m.doc
		if status != string(entity.StatusMissing) {
			seen.CloudHardware = in.Hardware
		}
		if len(in.Addresses) > 0 {
			seen.CloudAddresses = in.Addresses
		}
		is := append(bson.D{{"instance", in.ID}, {"nonce", in.Nonce}}, notDead...)
		said, err := m.st.status(key)
		switch {
		case entity.IsNotFound(err) && status != "" && status != instanceRuns:
			changed = true
			o.Assert(machinesC, m.doc.ID, is)
			o.Insert(statusesC, key, doc)
		case err == nil && status != "" && string(said.Status) != status:
			changed = true
			o.Assert(machinesC, m.doc.ID, is)
			o.Update(statusesC, key, exists, bson.D{{"$set", bson.D{
				{"status", doc.Status}, {"message", doc.Message}, {"data", doc.Data}, {"since", doc.Since}}}})
		case err != nil && !entity.IsNotFound(err):
			return err
		}
		err = m.observedOps(o, is, seen)
		if changed && errors.Is(err, mongo.ErrNothing) {
			return nil
		}
		return err
	})
	if err == nil && changed {
		m.st.remember(doc)
	}
	return err
}

// instanceRuns is the status of an instance of which the cloud has said nothing.
const instanceRuns = "running"

// SetAddresses records the addresses that the machine's agent reports, the preferred one first. Those of
// the cloud come before them.
func (m *Machine) SetAddresses(ctx context.Context, addresses []string) error {
	return m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		seen := m.doc
		seen.HostAddresses = addresses
		if entity.IsManualInstance(m.doc.InstanceID) {
			// No cloud says when an address by which the user has added the host is the host's no more.
			seen.CloudAddresses = slices.DeleteFunc(slices.Clone(m.doc.CloudAddresses), func(a string) bool {
				return slices.Contains(m.doc.HostAddresses, a) && !slices.Contains(addresses, a)
			})
		}
		return m.observedOps(o, exists, seen)
	})
}

// SetHardware records the hardware that the machine's agent finds. It counts where the cloud does not
// know; of a manual machine, it is more recent than what the user's client has found.
func (m *Machine) SetHardware(ctx context.Context, hardware entity.Hardware) error {
	return m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		seen := m.doc
		seen.HostHardware = hardware
		return m.observedOps(o, exists, seen)
	})
}

// observedOps records what was seen of a machine of which assert holds. This is where the reports of
// the cloud and of the machine's agent are merged.
func (m *Machine) observedOps(o *ops, assert any, seen machineDoc) error {
	change := seen.observed(m.doc)
	if len(change) == 0 {
		return mongo.ErrNothing
	}
	return m.addressOps(o, assert, seen, change)
}

// merge sets what follows from the reports of the cloud and of the machine's agent.
func (d *machineDoc) merge() {
	d.Addresses = slices.Clone(d.CloudAddresses)
	for _, a := range d.HostAddresses {
		if !slices.Contains(d.Addresses, a) && len(d.Addresses) < entity.LimitAddresses.Max {
			d.Addresses = append(d.Addresses, a)
		}
	}
	d.Hardware = d.hardware().String()
}

// hardware returns what the machine is known to have.
func (d *machineDoc) hardware() entity.Hardware {
	if entity.IsManualInstance(d.InstanceID) {
		return d.HostHardware.Or(d.CloudHardware)
	}
	return d.CloudHardware.Or(d.HostHardware)
}

// observed merges the reports, and returns the fields that differ from those of before.
func (d *machineDoc) observed(before machineDoc) (change bson.D) {
	d.merge()
	for _, f := range []struct {
		name    string
		was, is []string
	}{
		{"addresses", before.Addresses, d.Addresses},
		{"cloudaddresses", before.CloudAddresses, d.CloudAddresses},
		{"hostaddresses", before.HostAddresses, d.HostAddresses},
	} {
		if !slices.Equal(f.was, f.is) {
			change = append(change, bson.DocElem{Name: f.name, Value: f.is})
		}
	}
	if d.CloudHardware != before.CloudHardware {
		change = append(change, bson.DocElem{Name: "cloudhardware", Value: d.CloudHardware})
	}
	if d.HostHardware != before.HostHardware {
		change = append(change, bson.DocElem{Name: "hosthardware", Value: d.HostHardware})
	}
	if d.Hardware != before.Hardware {
		change = append(change, bson.DocElem{Name: "hardware", Value: d.Hardware})
	}
	return change
}

// addressOps sets the fields of a machine of which assert holds. With an address, the machine's units
// move from the one that was lost with its instance, if there is one.
func (m *Machine) addressOps(o *ops, assert any, seen machineDoc, fields bson.D) error {
	change := bson.D{{"$set", fields}}
	if m.doc.LostAddress != "" && len(seen.Addresses) > 0 {
		change = append(change, bson.DocElem{Name: "$unset", Value: bson.D{{"lostaddress", 1}}})
	}
	o.Update(machinesC, m.doc.ID, assert, change)
	return m.moveOps(o, seen.Addresses)
}
