package storageprovisioner

import (
	"fmt"

	"juju/state/entity"
)

// A Step is what is done next for a storage instance.
type Step int

// Those that name the cloud end with a record of what it has done.
const (
	Wait       Step = iota // until its records change
	Create                 // its filesystem, in the cloud
	Attach                 // it to its unit, in the cloud
	Detach                 // it from its unit, in the cloud, and remove the attachment
	EnsureDead             // nothing holds it any more
	End                    // destroy or release its filesystem in the cloud, and remove it
)

// Next returns the next step for a storage instance.
func Next(w entity.StorageWork) Step {
	switch a := w.Attachment; {
	case a != nil && a.After != "" && w.Filesystem != "":
		return Wait // until the other is attached or removed
	case a != nil && a.Life == entity.Dead:
		return Detach
	case w.Life == entity.Dying:
		return EnsureDead
	case w.Life != entity.Alive:
		return End
	case w.Filesystem == "" && !w.OnMachine:
		return Create
	case a == nil || a.Instance == "":
		return Wait // until there is a cloud instance
	case w.Filesystem == "":
		return Create
	}
	return Attach
}

// Refusal returns why the cloud is not asked for a step, nil if it is.
func Refusal(step Step, w entity.StorageWork) error {
	a := w.Attachment
	switch {
	case step == Attach && a.InUse != "":
		return fmt.Errorf("cannot attach it to unit %s: %s is in use by storage %s", a.Unit, a.Mount, a.InUse)
	case (step == Attach || step == Create && w.OnMachine) && entity.IsManualInstance(a.Instance):
		err := entity.Errorf(entity.NotSupported,
			"cannot attach it to unit %s: its machine is %s, a host for which the cloud has no storage", a.Unit, a.Instance)
		return entity.WithHint(err, "Place the unit on a machine of the cloud.")
	}
	return nil
}
