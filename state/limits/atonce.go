package limits

import "juju/state/entity"

// MaxAtOnce is the maximum number of units or machines that one request can add. A command adds more only if
// it is forced, because a typo could start thousands of agents.
const MaxAtOnce = 100

// maxMinUnits limits the minimum number of units of a service, also if it is forced: the controller adds what is missing
// until nothing is, so a number that nobody means would fill the disk.
const maxMinUnits = 1000

// CheckMinUnits returns an Invalid error unless n can be the minimum number of units of a service.
func CheckMinUnits(n int) error {
	switch {
	case n < 0:
		return entity.Errorf(entity.Invalid, "cannot set a negative minimum number of units")
	case n > maxMinUnits:
		return entity.Errorf(entity.Invalid, "the minimum number of units is at most %d", maxMinUnits)
	}
	return nil
}

// CheckAtOnce returns an Invalid error if a request adds more than MaxAtOnce units or machines.
func CheckAtOnce(what string, n int) error {
	if n <= MaxAtOnce {
		return nil
	}
	return entity.WithHint(entity.Errorf(entity.Invalid,
		"cannot add %d %s at once: the maximum is %d", n, what, MaxAtOnce),
		"To add more with one command: --force")
}
