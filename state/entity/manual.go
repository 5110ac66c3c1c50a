package entity

import (
	"net"
	"strconv"
	"strings"
)

// manualPrefix is the prefix of the instance ids of manual machines.
const manualPrefix = "manual:"

// ManualInstance returns the instance id of a manual machine: a host that a user added, and that no
// cloud starts or stops.
func ManualInstance(host string) string { return manualPrefix + host }

// IsManualInstance reports whether id is the instance id of a manual machine.
func IsManualInstance(id string) bool {
	return strings.HasPrefix(id, manualPrefix) && len(id) > len(manualPrefix)
}

// ManualPlacement is the prefix of the placement of a manual machine, ssh:USER@HOST[:PORT], which is
// how the user who added it connected to it.
const ManualPlacement = manualScope + ":"

// ManualPort returns the SSH port in the placement of a manual machine, which defaults to 22.
func ManualPort(placement string) int {
	host := placement[strings.LastIndexByte(placement, '@')+1:]
	_, text, err := net.SplitHostPort(strings.TrimPrefix(host, ManualPlacement))
	if port, err2 := strconv.ParseUint(text, 10, 16); err == nil && err2 == nil && port > 0 {
		return int(port)
	}
	return 22
}

// DataDir is the agents' data directory on a machine with an operating system of its own.
const DataDir = "/var/lib/juju"

// NoHosts returns the error for adding a host to a controller that is reachable only from its own host.
func NoHosts() error {
	return WithHint(Errorf(NotSupported,
		"cannot add a host: this controller listens only on loopback addresses, which other hosts cannot reach"),
		"Hosts can join a controller on a cloud with a network: juju bootstrap lxd")
}

// IsManual reports whether the machine is manual.
func (m MachineInfo) IsManual() bool { return IsManualInstance(m.InstanceID) }
