package deployer

import "juju/state/entity"

// A Step is what a deployer does next with a unit.
type Step string

const (
	Deploy          Step = "deploy"
	Ensure          Step = "keep running"
	Drain           Step = "drain" // keep the agent of a Dying unit running until the unit is Dead
	Recall          Step = "recall"
	RecallAndRemove Step = "recall and remove"
	Remove          Step = "remove"
)

// Next returns what to do with a unit that is assigned to the deployer's machine or principal.
func Next(deployed bool, life entity.Life) Step {
	switch {
	case deployed && life == entity.Dead:
		return RecallAndRemove
	case deployed && life == entity.Dying:
		return Drain
	case deployed:
		return Ensure
	case life == entity.Alive:
		return Deploy
	}
	return Remove
}
