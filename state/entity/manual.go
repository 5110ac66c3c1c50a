package entity

import (
	"net"
	"strconv"
	"strings"
)

// manualPrefix begins the instance ids of manual machines.
const manualPrefix = "manual:"

// ManualInstance returns the instance id of a manual machine: a host that a user has added, and that
// no cloud starts or stops.
func ManualInstance(host string) string { return manualPrefix + host }

// IsManualInstance reports whether an instance is that of a manual machine.
func IsManualInstance(id string) bool {
	return strings.HasPrefix(id, manualPrefix) && len(id) > len(manualPrefix)
}

// ManualPlacement begins the placement of a manual machine: ssh:USER@HOST[:PORT] is how the user who
// has added it reached it.
const ManualPlacement = "ssh:"

// ManualPort returns the port of SSH in the placement of a manual machine; 22 if it names none.
func ManualPort(placement string) int {
	host := placement[strings.LastIndexByte(placement, '@')+1:]
	_, text, err := net.SplitHostPort(strings.TrimPrefix(host, ManualPlacement))
	if port, err2 := strconv.ParseUint(text, 10, 16); err == nil && err2 == nil && port > 0 {
		return int(port)
	}
	return 22
}

// DataDir is the directory of everything of agents on a machine that has an operating system of its own.
const DataDir = "/var/lib/juju"

// NoHosts is the error of a host that is to become a machine, for a controller that only its own host
// reaches.
func NoHosts() error {
	return WithHint(Errorf(NotSupported,
		"cannot add a host: this controller listens on loopback addresses only, where no other host reaches it"),
		"A controller on a cloud with a network can have hosts: juju bootstrap lxd")
}

// IsManual reports whether the machine is a manual one.
func (m MachineInfo) IsManual() bool { return IsManualInstance(m.InstanceID) }
