package state

import (
	"context"
	"fmt"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltxn"
	"juju/state/mongo"
)

// RequestReboot asks the agent of the unit's machine to restart the machine. boot identifies the boot
// that is to end: once the machine has another, the request is met. So several units may ask, and each
// may repeat it, and the machine restarts once.
func (u *Unit) RequestReboot(ctx context.Context, boot string) error {
	err := u.st.change(ctx, func(o *ops) error {
		if err := entity.LimitBoot.CheckText(boot); err != nil {
			return err
		}
		if err := u.refresh(ctx); err != nil {
			return err
		}
		machine, err := u.st.db.MachineOf(u.doc)
		if err != nil {
			return err
		}
		m, err := u.st.Machine(ctx, machine)
		if err != nil {
			return err
		}
		switch {
		case boot == "":
			return entity.Errorf(entity.Invalid, "no boot is named")
		case m.doc.Life == entity.Dead:
			return entity.Errorf(entity.NotAlive, "machine %s is dead", machine)
		case m.doc.Reboot == boot:
			return mongo.ErrNothing
		}
		o.Update(modeldb.MachinesC, machine, modeltxn.NotDead, bson.D{{"$set", bson.D{{"reboot", boot}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot request a reboot for unit %s: %w", u.doc.Name, err)
	}
	return nil
}
