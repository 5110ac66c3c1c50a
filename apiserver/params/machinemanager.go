package params

import "juju/state/entity"

// An AddMachines is what MachineManager 10 AddMachines takes.
type AddMachines struct {
	MachineParams []AddMachineParams `json:"params"`
}

// An AddMachineParams describes a new machine.
type AddMachineParams struct {
	Base          *entity.Base       `json:"base,omitempty"`
	Constraints   entity.Constraints `json:"constraints"`
	Jobs          []string           `json:"jobs"`
	ParentID      string             `json:"parent-id"`
	ContainerType string             `json:"container-type"`
	Placement     *Placement         `json:"placement,omitempty"`
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
// could not be started.
type RetryProvisioningArgs struct {
	Machines []Tag `json:"machines,omitempty"`
	All      bool  `json:"all"`
}
