package limits

import "juju/state/entity"

// MaxAtOnce is how many units, or machines, one request can add. A command adds no more unless it is forced,
// since a slip of the finger would start thousands of agents.
const MaxAtOnce = 100

// CheckAtOnce returns an Invalid error if a request is to add more units or machines than MaxAtOnce.
func CheckAtOnce(what string, n int) error {
	if n <= MaxAtOnce {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid, "cannot add %d %s at once: the most is %d", n, what, MaxAtOnce),
		"To add more with one command: --force")
}
