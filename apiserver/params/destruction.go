package params

import (
	"time"

	"juju/state/entity"
)

// A Destruction specifies how strongly to destroy something, in the requests of all Destroy methods.
type Destruction struct {
	Force bool `json:"force,omitempty"`
	// Lenient, which Juju does not have, skips failed hooks. Force is stronger.
	Lenient bool `json:"lenient,omitempty"`
	// MaxWait, in nanoseconds, is how long force waits for agents; nil for the default.
	MaxWait *time.Duration `json:"max-wait,omitempty"`
}

// Read returns the Destruction. The error is entity.Invalid if the time is negative or more
// than entity.MaxTimeout.
func (d Destruction) Read() (entity.Destruction, error) {
	how := entity.Destruction{}
	switch {
	case d.Force:
		how = entity.Forced()
		if d.MaxWait != nil {
			how.Timeout = *d.MaxWait
		}
		if how.Timeout < 0 {
			return how, entity.Errorf(entity.Invalid, "max-wait must not be negative, got %v", how.Timeout)
		}
		if how.Timeout > entity.MaxTimeout {
			return how, entity.Errorf(entity.Invalid, "max-wait must not be more than %v, got %v", entity.MaxTimeout,
				how.Timeout)
		}
	case d.Lenient:
		how.Strength = entity.Lenient
	}
	return how, nil
}

// FromDestruction returns a Destruction for a request.
func FromDestruction(how entity.Destruction) Destruction {
	d := Destruction{Force: how.Strength == entity.Force, Lenient: how.Strength == entity.Lenient}
	if d.Force {
		d.MaxWait = &how.Timeout
	}
	return d
}
