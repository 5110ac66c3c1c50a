package state

import (
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// privateAddress is the key, in a unit's settings in a relation, of the address at which the relation's
// other units reach it. EnterScope sets it, and the charm may set another.
const privateAddress = "private-address"

// address returns the address that units of the machine have told others, "" if there is none.
func (d machineDoc) address() string {
	if len(d.Addresses) > 0 {
		return d.Addresses[0]
	}
	return d.LostAddress
}

// moveOps gives the units of the machine its new address in the relations that they are in. Where the
// charm has set another address, that stays.
func (m *Machine) moveOps(o *ops, addresses []string) error {
	was := m.doc.address()
	if was == "" || len(addresses) == 0 || addresses[0] == was {
		return nil
	}
	principals, err := m.st.units(bson.D{{"machine", m.doc.ID}})
	if err != nil {
		return err
	}
	var names []string
	for _, u := range principals {
		names = append(names, u.doc.Name)
	}
	subordinates, err := m.st.units(bson.D{{"principal", bson.D{{"$in", names}}}})
	if err != nil {
		return err
	}
	for _, u := range subordinates {
		names = append(names, u.doc.Name)
	}
	var scopes []scopeDoc
	if err := m.st.db.All(scopesC, bson.D{{"unit", bson.D{{"$in", names}}}}, &scopes); err != nil {
		return err
	}
	for _, s := range scopes {
		key := relationSettingsKey(s.Relation, s.Unit)
		settings, err := m.st.settings(key)
		if entity.IsNotFound(err) {
			continue // the scope was left meanwhile
		} else if err != nil {
			return err
		}
		if settings.Settings[privateAddress] != was {
			continue
		}
		o.Update(settingsC, key, bson.D{{"version", settings.Version}}, bson.D{
			{"$set", bson.D{{"settings." + escapeKey(privateAddress), addresses[0]}}}, {"$inc", bson.D{{"version", 1}}}})
	}
	return nil
}
