package provisioner

import "juju/state/entity"

// A Step is what the provisioner does next for a machine.
type Step int

const (
	Wait       Step = iota // until its life or its instance changes, or a user retries it
	Start                  // an instance for it
	EnsureDead             // it has no instance with an agent that would do that
	Stop                   // its instance, and remove the machine
	Remove                 // the machine, whose instance is not ours to stop
)

// Next returns the next step for a machine. inUse says that the machine is known to have units, or containers, which
// keep it from becoming Dead.
func Next(m entity.MachineInfo, inUse bool) Step {
	switch {
	case m.InstanceID == "" && m.Life == entity.Dying && !inUse:
		return EnsureDead
	case m.InstanceID == "" && m.Life != entity.Dead:
		// If it is Dying, its units' agents were on an instance that was lost, and need another one.
		if m.Status == entity.StatusError {
			return Wait
		}
		return Start
	case m.Life != entity.Dead:
		return Wait
	case m.InstanceID == "" || m.InstanceID == entity.BootstrapInstance || m.IsManual():
		return Remove
	}
	return Stop
}
