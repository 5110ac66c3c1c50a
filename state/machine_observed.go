package state

import (
	"context"
	"errors"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// Observe records what the cloud now reports of the machine's instance: its addresses, its hardware, and its
// status, a word of the cloud's, or "" for none; entity.StatusMissing if the cloud does not list it. It does
// nothing if the machine has another instance, or is Dead: what counts of that is whether its instance could be
// stopped, and the cleaner waits for it. An instance that has no address at the moment, as while it
// restarts, keeps those that it had, and one that is missing also its hardware.
func (m *Machine) Observe(ctx context.Context, in entity.Instance, status string) error {
	key := modeldb.InstanceKey(m.doc.ID)
	doc := modeldb.NewStatus(key, entity.Status{Status: entity.StatusWord(status)}, m.st.db.Now())
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
		is := append(bson.D{{"instance", in.ID}, {"nonce", in.Nonce}}, modeltxn.NotDead...)
		said, err := m.st.db.Status(key)
		switch {
		case entity.IsNotFound(err) && status != "" && status != modeldb.InstanceRuns:
			changed = true
			o.Assert(modeldb.MachinesC, m.doc.ID, is)
			o.Insert(modeldb.StatusesC, key, doc)
		case err == nil && status != "" && string(said.Status) != status:
			changed = true
			o.Assert(modeldb.MachinesC, m.doc.ID, is)
			o.Update(modeldb.StatusesC, key, modeltxn.Exists, bson.D{{"$set", bson.D{
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
		m.st.db.Remember(doc)
	}
	return err
}

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
		return m.observedOps(o, modeltxn.Exists, seen)
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
		return m.observedOps(o, modeltxn.Exists, seen)
	})
}

// observedOps records what was seen of a machine of which assert holds. This is where the reports of
// the cloud and of the machine's agent are merged.
func (m *Machine) observedOps(o *ops, assert any, seen modeldb.Machine) error {
	change := seen.Observed(m.doc)
	if len(change) == 0 {
		return mongo.ErrNothing
	}
	return m.addressOps(o, assert, seen, change)
}

// addressOps sets the fields of a machine of which assert holds. With an address, the machine's units
// move from the one that was lost with its instance, if there is one.
func (m *Machine) addressOps(o *ops, assert any, seen modeldb.Machine, fields bson.D) error {
	change := bson.D{{"$set", fields}}
	if m.doc.LostAddress != "" && len(seen.Addresses) > 0 {
		change = append(change, bson.DocElem{Name: "$unset", Value: bson.D{{"lostaddress", 1}}})
	}
	o.Update(modeldb.MachinesC, m.doc.ID, assert, change)
	return m.moveOps(o, seen.Addresses)
}
