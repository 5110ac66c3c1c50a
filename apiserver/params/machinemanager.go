package params

import (
	"net/netip"

	"juju/state/constraints"
	"juju/state/entity"
)

// An AddMachines is what MachineManager 10 AddMachines takes.
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
	// The rest is given for a manual machine only.
	InstanceID string                  `json:"instance-id"`
	Nonce      string                  `json:"nonce"`
	Hardware   HardwareCharacteristics `json:"hardware-characteristics"`
	Addresses  []Address               `json:"addresses"`
}

// HardwareCharacteristics are what a machine has; 0 or "" is unknown.
type HardwareCharacteristics struct {
	Arch     string `json:"arch,omitempty"`
	Mem      uint64 `json:"mem,omitempty"`       // MiB
	RootDisk uint64 `json:"root-disk,omitempty"` // MiB
	Cores    uint64 `json:"cpu-cores,omitempty"`
}

// An Address is one at which others reach a machine.
type Address struct {
	Value string `json:"value"`
	Type  string `json:"type"`  // "ipv4", "ipv6" or "hostname"
	Scope string `json:"scope"` // "" for unknown
}

// AddressesOf returns the wire's form of addresses.
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

// A ProvisioningScriptParams is what MachineManager 10 ProvisioningScript takes.
type ProvisioningScriptParams struct {
	MachineID string `json:"machine-id"`
	Nonce     string `json:"nonce"`
	// DataDir is where the agents are; "" is the place that they have on all machines.
	DataDir string `json:"data-dir"`
	// DisablePackageCommands says that the script must install no package; it never does.
	DisablePackageCommands bool `json:"disable-package-commands"`
}

// A ProvisioningScriptResult is a shell script that makes a host a machine. It holds the password
// of the machine's agent.
type ProvisioningScriptResult struct {
	Script string `json:"script"`
}

// An AddMachinesResults has the outcome of each.
type AddMachinesResults struct {
	Machines []AddMachinesResult `json:"machines"`
}

// An AddMachinesResult is a machine's id, or an error.
type AddMachinesResult struct {
	Machine  string   `json:"machine"`
	Error    *Error   `json:"error,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // ours
}

// A DestroyMachinesParams is what DestroyMachineWithParams takes.
type DestroyMachinesParams struct {
	MachineTags []Tag `json:"machine-tags"`
	Keep        bool  `json:"keep,omitempty"`
	DryRun      bool  `json:"dry-run,omitempty"`
	Destruction
}

// A DestroyMachineResults has the outcome of each.
type DestroyMachineResults struct {
	Results []DestroyMachineResult `json:"results"`
}

// A DestroyMachineResult is one outcome.
type DestroyMachineResult struct {
	Error *Error              `json:"error,omitempty"`
	Info  *DestroyMachineInfo `json:"info,omitempty"`
}

// A DestroyMachineInfo says what was destroyed.
type DestroyMachineInfo struct {
	MachineID string `json:"machine-id"`
	DestroyedWith
}

// A RetryProvisioningArgs is what RetryProvisioning takes: machines, or all whose instances
// could not be started. Constraints is ours.
type RetryProvisioningArgs struct {
	Machines []Tag `json:"machines,omitempty"`
	All      bool  `json:"all"`
	// Constraints replace those of each machine, unless they are nil.
	Constraints *constraints.Value `json:"constraints,omitempty"`
}

// A RetryProvisioningResults has a result for each machine. The warnings are ours.
type RetryProvisioningResults struct {
	ErrorResults
	Warnings []string `json:"warnings,omitempty"`
}
