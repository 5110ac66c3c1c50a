package state

import (
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// What a machine's instance takes with it when it is lost, besides what the machine's document
// says of it. The rest of what is recorded of the machine's units is theirs, and stays: what they
// have told others in relations, where their new address replaces the old one; what charms keep in
// the controller; leadership, which ends by itself unless the new agent keeps it. Tasks that ran
// there are ended by the new agents, which do not know them.

// lostStorageOps records that storage is attached to nothing on the machine, and that what was on
// the instance's own disk is to be made again. The storage provisioner attaches it to the next
// instance, and the unit's first hook waits for that.
func (m *Machine) lostStorageOps(o *ops) error {
	attached, err := m.st.attachments(bson.D{{"machine", m.doc.ID}, {"location", bson.D{{"$exists", true}}}})
	if err != nil {
		return err
	}
	for _, a := range attached {
		o.Update(modeldb.AttachmentsC, a.doc.ID, nil, bson.D{{"$unset", bson.D{{"location", 1}}}})
	}
	onDisk, err := m.st.storages(bson.D{{"machine", m.doc.ID}, {"filesystem", bson.D{{"$exists", true}}}})
	if err != nil {
		return err
	}
	for _, s := range onDisk {
		o.Update(modeldb.StorageC, s.doc.ID, nil, bson.D{{"$unset", bson.D{{"filesystem", 1}, {"made", 1}}}})
	}
	return nil
}

// lostUnitsOps gives the machine's units the statuses of new ones, and takes the passwords from
// their agents. A failed hook that was resolved failed on the lost instance.
func (m *Machine) lostUnitsOps(o *ops) error {
	units, err := m.hosted()
	if err != nil {
		return err
	}
	for _, u := range units {
		if u.doc.Life == entity.Dead {
			continue
		}
		o.DropStatus(modeldb.UnitKey(u.doc.Name))
		o.DropStatus(modeldb.WorkloadKey(u.doc.Name))
		if err := m.st.hashOps(o, u.tag(), ""); err != nil {
			return err
		}
		if u.doc.Resolved != entity.ResolvedNone {
			o.Update(modeldb.UnitsC, u.doc.Name, nil, bson.D{{"$unset", bson.D{{"resolved", 1}}}})
		}
	}
	return nil
}
