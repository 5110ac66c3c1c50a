package state

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/internal/networks"
	"juju/state/mongo"
)

// Observe records what the cloud reports about the machine's instance: its addresses, hardware and status, which is the
// cloud's word, "" for none, or entity.StatusMissing if the cloud does not list it. It does nothing if the machine has
// another instance or is Dead: then the status says whether the instance could be stopped, and the cleaner waits for it.
// An instance without an address, as during a restart, keeps its old ones; a missing one also keeps its hardware.
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
		// What the cloud says is about this instance: the machine may have got another one since the cloud was asked.
		is := append(bson.D{{"instance", in.ID}, {"nonce", in.Nonce}}, modeltxn.NotDead...)
		said, err := m.st.db.StatusDoc(ctx, key)
		switch {
		case entity.IsNotFound(err) && status != "" && status != modeldb.InstanceRuns:
			changed = true
			o.Assert(modeldb.MachinesC, m.doc.ID, is)
			o.Insert(modeldb.StatusesC, key, doc)
		case err == nil && status != "" && string(said.Status) != status:
			changed = true
			o.Assert(modeldb.MachinesC, m.doc.ID, is)
			o.ReplaceStatus(said, doc, modeltxn.Exists)
		case err != nil && !entity.IsNotFound(err):
			return err
		}
		err = m.observedOps(ctx, o, is, seen)
		if changed && errors.Is(err, mongo.ErrNothing) {
			return nil
		}
		return err
	})
	if err == nil && changed {
		m.st.db.Remember(ctx, doc)
	}
	return err
}

// SetAddresses records the addresses that the machine's agent reports, the preferred one first. The cloud's precede
// them.
func (m *Machine) SetAddresses(ctx context.Context, addresses []string) error {
	return m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		seen := m.doc
		seen.HostAddresses = addresses
		if entity.IsManualInstance(m.doc.InstanceID) {
			// For a user's host, no cloud reports that an address is no longer valid.
			seen.CloudAddresses = slices.DeleteFunc(slices.Clone(m.doc.CloudAddresses), func(a string) bool {
				return slices.Contains(m.doc.HostAddresses, a) && !slices.Contains(addresses, a)
			})
		}
		return m.observedOps(ctx, o, modeltxn.Exists, seen)
	})
}

// SetHardware records the hardware that the machine's agent detects. It is used where the cloud reports nothing; for a
// manual machine, it replaces what the user's client detected.
func (m *Machine) SetHardware(ctx context.Context, hardware entity.Hardware) error {
	return m.st.change(ctx, func(o *ops) error {
		if err := m.refresh(ctx); err != nil {
			return err
		}
		seen := m.doc
		seen.HostHardware = hardware
		return m.observedOps(ctx, o, modeltxn.Exists, seen)
	})
}

// observedOps records observations of a machine for which assert holds. It merges the reports of the cloud and of the
// machine's agent.
func (m *Machine) observedOps(ctx context.Context, o *ops, assert any, seen modeldb.Machine) error {
	change := seen.Observed(m.doc)
	if len(change) == 0 {
		return mongo.ErrNothing
	}
	return m.addressOps(ctx, o, assert, seen, change)
}

// addressOps sets the fields of a machine for which assert holds. A new address replaces the lost instance's, if any, in
// the machine's units.
func (m *Machine) addressOps(ctx context.Context, o *ops, assert any, seen modeldb.Machine, fields bson.D) error {
	change := bson.D{{"$set", fields}}
	if m.doc.LostAddress != "" && len(seen.Addresses) > 0 {
		change = append(change, bson.DocElem{Name: "$unset", Value: bson.D{{"lostaddress", 1}}})
	}
	o.Update(modeldb.MachinesC, m.doc.ID, assert, change)
	return m.moveOps(ctx, o, seen.Addresses)
}

// addressSettings are the relation settings that publish a unit's address. EnterScope writes them, and the charm may
// change them. A host name has no subnet. Juju has written all three since 2.3, and charms on the ops framework read the
// last two without checking that they exist.
func addressSettings(address string) map[string]string {
	settings := map[string]string{"private-address": address, "ingress-address": address}
	if subnet := entity.HostSubnet(address); subnet != "" {
		settings[egressKey] = subnet
	}
	return settings
}

// hosted returns the units on the machine: its principals, and their subordinates.
func (m *Machine) hosted(ctx context.Context) ([]*Unit, error) {
	principals, err := m.st.units(ctx, bson.D{{"machine", m.doc.ID}})
	if err != nil || len(principals) == 0 {
		return nil, err
	}
	names := make([]string, len(principals))
	for i, u := range principals {
		names[i] = u.doc.Name
	}
	subordinates, err := m.st.units(ctx, bson.D{{"principal", bson.D{{"$in", names}}}})
	return append(principals, subordinates...), err
}

// addressing returns the function that chooses the address which the unit uses at an endpoint, of those that its machine
// has; "" if that has none.
func (u *Unit) addressing(ctx context.Context) (func(endpoint string, addresses []string) string, error) {
	service, err := u.st.db.Service(ctx, u.doc.Service)
	if err != nil {
		return nil, err
	}
	return u.st.addressing(ctx, service)
}

// addressing is Unit.addressing for the units of a service.
func (st *State) addressing(ctx context.Context,
	service modeldb.Service) (func(endpoint string, addresses []string) string, error) {
	doc, err := st.db.Networks(ctx)
	return func(endpoint string, addresses []string) string {
		address, _ := networks.AddressFor(doc, service, endpoint, addresses)
		return address
	}, err
}

// moveOps publishes the machine's new addresses in its units' relations, except where the charm has set another address.
func (m *Machine) moveOps(ctx context.Context, o *ops, addresses []string) error {
	was := m.doc.Addresses
	if len(was) == 0 && m.doc.LostAddress != "" {
		was = []string{m.doc.LostAddress}
	}
	if len(addresses) == 0 || slices.Equal(was, addresses) {
		return nil
	}
	units, err := m.hosted(ctx)
	if err != nil {
		return err
	}
	for _, u := range units {
		at, err := u.addressing(ctx)
		if err != nil {
			return err
		}
		old := func(endpoint string) []string {
			if len(was) == 0 {
				return []string{""} // units entered before the machine had an address
			}
			return []string{at(endpoint, was)}
		}
		if err := u.publishOps(ctx, o, addresses, at, old); err != nil {
			return err
		}
	}
	return nil
}

// republish publishes the addresses to which the units of a service are bound now in place of others of their machines.
func (st *State) republish(ctx context.Context, service string) error {
	names, err := st.db.IDs(ctx, modeldb.UnitsC, bson.D{{"service", service}})
	if err != nil {
		return err
	}
	for _, name := range names {
		err := st.change(ctx, func(o *ops) error {
			u, err := st.Unit(ctx, name)
			if err != nil {
				return err
			}
			m, err := u.machine(ctx)
			if err != nil || len(m.Addresses) == 0 {
				return cmp.Or(err, mongo.ErrNothing)
			}
			at, err := u.addressing(ctx)
			if err != nil {
				return err
			}
			if err := u.publishOps(ctx, o, m.Addresses, at, func(string) []string { return m.Addresses }); err != nil {
				return err
			}
			if o.Len() == 0 {
				return mongo.ErrNothing
			}
			return nil
		})
		if err != nil && !entity.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// publishOps publishes the unit's addresses in its relations, as at chooses them, where it has published one of those that
// old returns for the endpoint, and not what the charm has set.
func (u *Unit) publishOps(ctx context.Context,
	o *ops, addresses []string, at func(endpoint string, addresses []string) string, old func(endpoint string) []string,
) error {
	if err := o.KeepCounts(ctx, u.st.db, modeldb.UnitKey(u.doc.Name)); err != nil { // it enters no other scope meanwhile
		return err
	}
	var scopes []modeldb.Scope
	if err := u.st.db.All(ctx, modeldb.ScopesC, bson.D{{"unit", u.doc.Name}}, &scopes); err != nil {
		return err
	}
	for _, s := range scopes {
		key := modeldb.RelationSettingsKey(s.Relation, s.Unit)
		settings, err := u.st.db.Settings(ctx, key)
		if entity.IsNotFound(err) {
			continue // the scope was left meanwhile
		} else if err != nil {
			return err
		}
		relation, err := u.st.db.RelationByID(ctx, s.Relation)
		if entity.IsNotFound(err) {
			continue // as above
		} else if err != nil {
			return err
		}
		endpoint := ""
		for _, end := range relation.Endpoints {
			if end.Service == u.doc.Service && end.Role == s.Role {
				endpoint = end.Name
			}
		}
		now := at(endpoint, addresses)
		for _, a := range old(endpoint) {
			if change := moved(settings.Settings, a, now); a != now && len(change) > 0 {
				change = append(change, bson.DocElem{Name: "$inc", Value: bson.D{{"version", 1}}})
				o.Update(modeldb.SettingsC, key, bson.D{{"version", settings.Version}}, change)
				break
			}
		}
	}
	return nil
}

// moved returns the update that replaces the old address, "" for none, with the new one in a unit's relation settings,
// empty if they don't have the old one.
func moved(settings map[string]any, was, now string) (update bson.D) {
	var set, unset bson.D
	before, next := addressSettings(was), addressSettings(now)
	for _, key := range []string{"private-address", "ingress-address", egressKey} {
		if has, _ := settings[key].(string); has != before[key] || has == next[key] {
			continue
		}
		field := "settings." + modeldb.EscapeKey(key)
		if next[key] != "" {
			set = append(set, bson.DocElem{Name: field, Value: next[key]})
		} else {
			unset = append(unset, bson.DocElem{Name: field, Value: ""})
		}
	}
	if len(set) > 0 {
		update = append(update, bson.DocElem{Name: "$set", Value: set})
	}
	if len(unset) > 0 {
		update = append(update, bson.DocElem{Name: "$unset", Value: unset})
	}
	return update
}
