package params

import (
	"net/netip"

	"juju/state/constraints"
	"juju/state/entity"
)

// An AddMachines is the parameter of MachineManager 10 AddMachines.
type AddMachines struct {
	MachineParams []AddMachineParams `json:"params"`
}

// An AddMachineParams describes a new machine.
type AddMachineParams struct {
	Base          *entity.Base      `json:"base,omitempty"`
	Constraints   constraints.Value `json:"constraints"`
	Jobs          []string          `json:"jobs"`
	ParentID      string            `json:"parent-id"`
	ContainerType string            `json:"container-type"`
	Placement     *Placement        `json:"placement,omitempty"`
	// The others are only for manual machines.
	InstanceID string                  `json:"instance-id"`
	Nonce      string                  `json:"nonce"`
	Hardware   HardwareCharacteristics `json:"hardware-characteristics"`
	Addresses  []Address               `json:"addresses"`
}

// HardwareCharacteristics describes a machine's hardware; 0 or "" is unknown.
type HardwareCharacteristics struct {
	Arch     string `json:"arch,omitempty"`
	Mem      uint64 `json:"mem,omitempty"`       // MiB
	RootDisk uint64 `json:"root-disk,omitempty"` // MiB
	Cores    uint64 `json:"cpu-cores,omitempty"`
}

// An Address is an address of a machine.
type Address struct {
	Value string `json:"value"`
	Type  string `json:"type"`  // "ipv4", "ipv6" or "hostname"
	Scope string `json:"scope"` // "" for unknown
}

// AddressesOf returns addresses in the wire format.
func AddressesOf(addresses []string) []Address {
	var all []Address
	for _, a := range addresses {
		kind := "hostname"
		if ip, err := netip.ParseAddr(a); err == nil && ip.Is4() {
			kind = "ipv4"
		} else if err == nil {
			kind = "ipv6"
		}
		all = append(all, Address{Value: a, Type: kind})
	}
	return all
}

// A ProvisioningScriptParams is the parameter of MachineManager 10 ProvisioningScript.
type ProvisioningScriptParams struct {
	MachineID string `json:"machine-id"`
	Nonce     string `json:"nonce"`
	// DataDir is the agents' directory; "" for the default.
	DataDir string `json:"data-dir"`
	// DisablePackageCommands forbids the script to install packages. It never does.
	DisablePackageCommands bool `json:"disable-package-commands"`
}

// A ProvisioningScriptResult is a shell script that makes a host a machine. It contains the password of the machine's
// agent.
type ProvisioningScriptResult struct {
	Script string `json:"script"`
}

// An AddMachinesResults has the result for each machine.
type AddMachinesResults struct {
	Machines []AddMachinesResult `json:"machines"`
}

// An AddMachinesResult is a machine's id, or an error.
type AddMachinesResult struct {
	Machine  string   `json:"machine"`
	Error    *Error   `json:"error,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // not in Juju
}

// A DestroyMachinesParams is the parameter of DestroyMachineWithParams.
type DestroyMachinesParams struct {
	MachineTags []Tag `json:"machine-tags"`
	Keep        bool  `json:"keep,omitempty"`
	DryRun      bool  `json:"dry-run,omitempty"`
	Destruction
}

// A DestroyMachineResults has the result for each machine.
type DestroyMachineResults struct {
	Results []DestroyMachineResult `json:"results"`
}

// A DestroyMachineResult is the result for one machine.
type DestroyMachineResult struct {
	Error *Error              `json:"error,omitempty"`
	Info  *DestroyMachineInfo `json:"info,omitempty"`
}

// A DestroyMachineInfo describes what is destroyed.
type DestroyMachineInfo struct {
	MachineID string `json:"machine-id"`
	DestroyedWith
}

// A RetryProvisioningArgs is the parameter of RetryProvisioning: machines, or all machines whose instances could not be
// started. Juju does not have Constraints.
type RetryProvisioningArgs struct {
	Machines []Tag `json:"machines,omitempty"`
	All      bool  `json:"all"`
	// Constraints replace those of each machine, unless nil.
	Constraints *constraints.Value `json:"constraints,omitempty"`
}

// A RetryProvisioningResults has a result for each machine. Juju does not have the warnings.
type RetryProvisioningResults struct {
	ErrorResults
	Warnings []string `json:"warnings,omitempty"`
}
