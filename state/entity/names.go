package entity

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The grammars of names. A number has no leading zeros, so that an entity has only one name.
var (
	serviceName  = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*$`)
	unitName     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*/(0|[1-9][0-9]*)$`)
	machineID    = regexp.MustCompile(`^(0|[1-9][0-9]*)(/[a-z]+/(0|[1-9][0-9]*))*$`)
	endpointName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*:[a-zA-Z0-9][a-zA-Z0-9_-]*$`)
	userName     = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.+-]*[a-zA-Z0-9]$|^[a-zA-Z0-9]$`)
	modelName    = regexp.MustCompile(`^[a-z0-9]+[a-z0-9-]*$`)
	uuid         = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// IsValidService reports whether name can be a service's.
func IsValidService(name string) bool { return isShort(name) && serviceName.MatchString(name) }

// IsValidUnit reports whether name has the form "service/number".
func IsValidUnit(name string) bool { return unitName.MatchString(name) }

// IsValidMachine reports whether id has the form "0" or "0/lxd/1".
func IsValidMachine(id string) bool { return machineID.MatchString(id) }

// IsValidUser reports whether name can be a user's.
func IsValidUser(name string) bool { return isShort(name) && userName.MatchString(name) }

// IsValidModel reports whether name can be a model's.
func IsValidModel(name string) bool { return isShort(name) && modelName.MatchString(name) }

// MaxName bounds the names of services, models, users, controllers, storage pools and stores, in bytes: with what is
// added to them, such as the number of a unit, they are names of files.
const MaxName = 200

func isShort(name string) bool { return len(name) <= MaxName }

// IsValidUUID reports whether s is a UUID in lower case.
func IsValidUUID(s string) bool { return uuid.MatchString(s) }

// ContainerTypes are the types of containers that users can ask for. No cloud has all of them.
var ContainerTypes = []string{"lxc", "lxd", "kvm"}

// IsContainerType reports whether s is one of ContainerTypes.
func IsContainerType(s string) bool { return slices.Contains(ContainerTypes, s) }

// ContainerOf returns the type of the container with this id and the machine that it is on in the end:
// "lxd" and "3" for "3/lxd/0". The type of a machine that is no container is "".
func ContainerOf(id string) (kind, machine string) {
	parts := strings.Split(id, "/")
	if len(parts) > 2 {
		kind = parts[len(parts)-2]
	}
	return kind, parts[0]
}

// MachineHost returns the machine that hosts the container with this id; "" for the id of a machine
// that is no container.
func MachineHost(id string) string {
	parts := strings.Split(id, "/")
	return strings.Join(parts[:max(0, len(parts)-2)], "/")
}

// IsValidRelationKey reports whether key is one endpoint (a peer relation) or
// two, separated by a space.
func IsValidRelationKey(key string) bool {
	ends := strings.Split(key, " ")
	if len(ends) > 2 {
		return false
	}
	for _, end := range ends {
		if !endpointName.MatchString(end) {
			return false
		}
	}
	return true
}

// The errors that refuse a name, each with a hint that says what a valid one is.

// InvalidService refuses the name of a service.
func InvalidService(name string) error {
	return WithHint(Errorf(Invalid, "invalid service name %q", name), ServiceNames)
}

// ServiceNames describes the names of services.
const ServiceNames = "A service name has lower-case letters, digits and hyphens, begins with a letter, and has a letter in each part between hyphens, and 200 characters at most: web, web-db2"

// InvalidUnit refuses the name of a unit.
func InvalidUnit(name string) error {
	return WithHint(Errorf(Invalid, "invalid unit name %q", name), "A unit is its service with a number: web/0")
}

// InvalidMachine refuses the id of a machine.
func InvalidMachine(id string) error {
	return WithHint(Errorf(Invalid, "invalid machine id %q", id), "A machine is a number, a container its machine with type and number: 3, 3/lxd/0")
}

// InvalidUser refuses the name of a user.
func InvalidUser(name string) error {
	return WithHint(Errorf(Invalid, "invalid user name %q", name), "A user name has letters and digits, and between them dots, plus signs and hyphens, 200 characters at most: bob, bob.smith")
}

// InvalidModel refuses the name of a model. Juju's words say all of it except for the first
// character.
func InvalidModel(name string) error {
	return WithHint(Errorf(Invalid, "%q is not a valid name: model names may only contain lowercase letters, digits and hyphens", name),
		"The first is a letter or a digit, and 200 are the most: staging, eu-1")
}

// InvalidEndpoint refuses the endpoint of a relation.
func InvalidEndpoint(name string) error {
	return WithHint(Errorf(Invalid, "invalid endpoint %q", name), "An endpoint is a service, or a service and the name of its relation: web, web:db. "+ServiceNames)
}

// InvalidSeries refuses the name of a series.
func InvalidSeries(name string) error {
	return WithHint(Errorf(Invalid, "invalid series %q", name), "A series name has lower-case letters and digits, and begins with a letter: trusty, centos7")
}

// UnitService returns the name of the named unit's service.
func UnitService(unit string) string {
	service, _, _ := strings.Cut(unit, "/")
	return service
}

// UnitNumber returns the number of the named unit, or -1 if it has none.
func UnitNumber(unit string) int {
	_, number, _ := strings.Cut(unit, "/")
	n, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return n
}

// CompareNatural orders names as people do: runs of digits by their value, the rest by letters,
// so that "mysql/10" follows "mysql/9". Only equal names are equal.
func CompareNatural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			nx, rx := digits(x)
			ny, ry := digits(y)
			if c := cmp.Or(len(nx)-len(ny), strings.Compare(nx, ny)); c != 0 {
				return c
			}
			x, y = rx, ry
			continue
		}
		if x[0] != y[0] {
			return int(x[0]) - int(y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(len(x)-len(y), strings.Compare(a, b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// digits splits off the leading run of digits, without leading zeros.
func digits(s string) (number, rest string) {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return strings.TrimLeft(s[:i], "0"), s[i:]
}
