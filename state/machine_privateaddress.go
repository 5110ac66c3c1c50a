package state

import (
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// addressSettings are the settings that tell, in a relation, how its other units reach a unit at an address.
// EnterScope makes them, and the charm may set others. The name of a host has no subnet. Juju has written
// all three since 2.3, and charms on the ops framework read the later two without asking whether they are there.
func addressSettings(address string) map[string]string {
	settings := map[string]string{"private-address": address, "ingress-address": address}
	if subnet := entity.HostSubnet(address); subnet != "" {
		settings["egress-subnets"] = subnet
	}
	return settings
}

// hosted returns the units on the machine: its principals, and their subordinates.
func (m *Machine) hosted() ([]*Unit, error) {
	principals, err := m.st.units(bson.D{{"machine", m.doc.ID}})
	if err != nil || len(principals) == 0 {
		return nil, err
	}
	names := make([]string, len(principals))
	for i, u := range principals {
		names[i] = u.doc.Name
	}
	subordinates, err := m.st.units(bson.D{{"principal", bson.D{{"$in", names}}}})
	return append(principals, subordinates...), err
}

// moveOps gives the units of the machine its new address in the relations that they are in. Where the
// charm has set another address, that stays.
func (m *Machine) moveOps(o *ops, addresses []string) error {
	was := m.doc.Address()
	if was == "" || len(addresses) == 0 || addresses[0] == was {
		return nil
	}
	units, err := m.hosted()
	if err != nil {
		return err
	}
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.doc.Name
	}
	var scopes []modeldb.Scope
	if err := m.st.db.All(modeldb.ScopesC, bson.D{{"unit", bson.D{{"$in", names}}}}, &scopes); err != nil {
		return err
	}
	for _, s := range scopes {
		key := modeldb.RelationSettingsKey(s.Relation, s.Unit)
		settings, err := m.st.db.Settings(key)
		if entity.IsNotFound(err) {
			continue // the scope was left meanwhile
		} else if err != nil {
			return err
		}
		if change := moved(settings.Settings, was, addresses[0]); len(change) > 0 {
			change = append(change, bson.DocElem{Name: "$inc", Value: bson.D{{"version", 1}}})
			o.Update(modeldb.SettingsC, key, bson.D{{"version", settings.Version}}, change)
		}
	}
	return nil
}

// moved returns the update of a unit's settings in a relation that tells the new address in place of
// the old one, empty if the settings don't tell the old one.
func moved(settings map[string]any, was, now string) (update bson.D) {
	var set, unset bson.D
	next := addressSettings(now)
	for key, value := range addressSettings(was) {
		if settings[key] != value {
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
