package entity

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The grammars of names. Numbers have no leading zeros, so that each entity has only one name.
var (
	serviceName  = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*$`)
	unitName     = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*/(0|[1-9][0-9]*)$`)
	machineID    = regexp.MustCompile(`^(0|[1-9][0-9]*)(/[a-z]+/(0|[1-9][0-9]*))*$`)
	endpointName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]*[a-z][a-z0-9]*)*:[a-zA-Z0-9][a-zA-Z0-9_-]*$`)
	userName     = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9.+-]*[a-zA-Z0-9]$|^[a-zA-Z0-9]$`)
	spaceName    = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	modelName    = regexp.MustCompile(`^[a-z0-9]+[a-z0-9-]*$`)
	uuid         = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
)

// IsValidService reports whether name is a valid service name.
func IsValidService(name string) bool { return isShort(name) && serviceName.MatchString(name) }

// IsValidUnit reports whether name has the form "service/number".
func IsValidUnit(name string) bool { return unitName.MatchString(name) }

// IsValidMachine reports whether id has the form "0" or "0/lxd/1".
func IsValidMachine(id string) bool { return machineID.MatchString(id) }

// IsValidUser reports whether name is a valid user name.
func IsValidUser(name string) bool { return isShort(name) && userName.MatchString(name) }

// PrincipalOf returns what stands for a user of a name that a number of removed users had before: unlike the name, it is no later
// user's. For the first one it is the name.
func PrincipalOf(name string, before int) string {
	if before == 0 {
		return name
	}
	return name + "#" + strconv.Itoa(before)
}

// UserOf returns the name of the user for whom a principal stands.
func UserOf(principal string) string {
	name, _, _ := strings.Cut(principal, "#")
	return name
}

// IsValidModel reports whether name is a valid model name.
func IsValidModel(name string) bool { return isShort(name) && modelName.MatchString(name) }

// IsValidSpace reports whether name is a valid name of a space.
func IsValidSpace(name string) bool { return isShort(name) && spaceName.MatchString(name) }

// MaxName is the maximum length of the names of services, models, users, controllers, storage pools and stores, in
// bytes. File names are made of them, with additions such as the number of a unit.
const MaxName = 200

func isShort(name string) bool { return len(name) <= MaxName }

// IsValidUUID reports whether s is a UUID in lower case.
func IsValidUUID(s string) bool { return uuid.MatchString(s) }

// ContainerTypes are the types of containers that users can request. No cloud supports all of them.
var ContainerTypes = []string{"lxc", "lxd", "kvm"}

// IsContainerType reports whether s is one of ContainerTypes.
func IsContainerType(s string) bool { return slices.Contains(ContainerTypes, s) }

// ContainerOf returns the type of the container with this id, and the outermost machine that hosts it:
// "lxd" and "3" for "3/lxd/0". The type is "" if the machine is not a container.
func ContainerOf(id string) (kind, machine string) {
	parts := strings.Split(id, "/")
	if len(parts) > 2 {
		kind = parts[len(parts)-2]
	}
	return kind, parts[0]
}

// MachineHost returns the machine that hosts the container with this id; "" if the machine is not a
// container.
func MachineHost(id string) string {
	parts := strings.Split(id, "/")
	return strings.Join(parts[:max(0, len(parts)-2)], "/")
}

// IsValidRelationKey reports whether key is one endpoint (a peer relation) or two separated by a space.
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

// The errors for invalid names, each with a hint that describes valid ones.

// InvalidService returns the error for an invalid service name.
func InvalidService(name string) error {
	return WithHint(Errorf(Invalid, "invalid service name %q", name), ServiceNames)
}

// ServiceNames describes the names of services.
const ServiceNames = "A service name has lower-case letters, digits and hyphens, begins with a letter, has a letter in each part between hyphens, and has at most 200 characters: web, web-db2"

// InvalidUnit returns the error for an invalid unit name.
func InvalidUnit(name string) error {
	return WithHint(Errorf(Invalid, "invalid unit name %q", name),
		"A unit name is a service name, a slash and a number: web/0")
}

// InvalidMachine returns the error for an invalid machine id.
func InvalidMachine(id string) error {
	return WithHint(Errorf(Invalid, "invalid machine id %q", id),
		"A machine id is a number; a container id is its host's id, a container type and a number: 3, 3/lxd/0")
}

// InvalidUser returns the error for an invalid user name.
func InvalidUser(name string) error {
	return WithHint(Errorf(Invalid, "invalid user name %q", name),
		"A user name has letters and digits, with dots, plus signs and hyphens between them, and at most 200 characters: bob, bob.smith")
}

// InvalidModel returns the error for an invalid model name. Its text is Juju's, which doesn't mention
// the first character and the length.
func InvalidModel(name string) error {
	return WithHint(Errorf(Invalid, "%q is not a valid name: model names may only contain lowercase letters, digits and hyphens", name),
		"A model name begins with a letter or digit, and has at most 200 characters: staging, eu-1")
}

// InvalidEndpoint returns the error for an invalid endpoint of a relation.
func InvalidEndpoint(name string) error {
	return WithHint(Errorf(Invalid, "invalid endpoint %q", name),
		"An endpoint is a service, or a service and the name of one of its relations: web, web:db. "+ServiceNames)
}

// InvalidSeries returns the error for an invalid series name.
func InvalidSeries(name string) error {
	return WithHint(Errorf(Invalid, "invalid series %q", name),
		"A series name has lower-case letters and digits, and begins with a letter: trusty, centos7")
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

// CompareNatural orders names naturally: runs of digits by their value, and the rest by bytes, so that
// "mysql/10" follows "mysql/9". It returns 0 only for identical names.
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

// NaturalKeys returns the keys of a map in natural order.
func NaturalKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), CompareNatural)
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
