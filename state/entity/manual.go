package entity

import "strings"

// manualPrefix begins the instance ids of manual machines.
const manualPrefix = "manual:"

// ManualInstance returns the instance id of a manual machine: a host that a user has added, and that
// no cloud starts or stops.
func ManualInstance(host string) string { return manualPrefix + host }

// IsManualInstance reports whether an instance is that of a manual machine.
func IsManualInstance(id string) bool {
	return strings.HasPrefix(id, manualPrefix) && len(id) > len(manualPrefix)
}

// IsManual reports whether the machine is a manual one.
func (m MachineInfo) IsManual() bool { return IsManualInstance(m.InstanceID) }
