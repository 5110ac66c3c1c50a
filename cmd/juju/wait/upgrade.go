package wait

import (
	"slices"

	"juju/state/entity"
)

// upgradeLeft returns the units that have not finished the step of the machine's upgrade.
func (u Condition) upgradeLeft(m *entity.ModelStatus, all []Entity) (string, error) {
	var waiting []string
	for _, one := range m.AllMachines() {
		if one.ID == u.Upgrading && one.Upgrade != nil {
			waiting = one.Upgrade.Waiting
		}
	}
	var left []string
	for _, t := range all {
		if t.Kind != "unit" || !slices.Contains(waiting, t.Name) {
			continue
		}
		if err := t.Failed(); err != nil && !u.retried {
			return "", err
		}
		left = append(left, t.Name+t.now())
	}
	return Some(left), nil
}
