package state

import "juju/state/entity"

// status is what users see of the model itself.
func (d modelDoc) status() entity.Status {
	if d.Life != entity.Alive {
		return entity.Status{Status: entity.StatusDestroying}
	}
	return entity.Status{Status: entity.StatusAvailable}
}
