package params

import (
	"encoding/json"
	"fmt"
	"slices"
)

// plannable are the methods whose changes can be planned, by facade.
var plannable = map[string][]string{
	"Action":      {"Cancel", "EnqueueOperation", "Run", "RunOnAllMachines"},
	"Annotations": {"Set"},
	"Application": {"AddRelation", "AddUnits", "Consume", "Deploy", "DestroyApplication", "DestroyConsumedApplications", "DestroyRelation",
		"DestroyUnit", "Expose", "MergeBindings", "ResolveUnitErrors", "ResumeRollout", "RevertRollout", "ScaleApplications", "SetCharm", "SetConfigs", "SetConstraints", "SetMinUnits", "SetRelationsSuspended", "Unexpose", "UnsetApplicationsConfig", "UpdateApplicationBase"},
	"ApplicationOffers": {"DestroyOffers", "ModifyOfferAccess", "Offer"},
	"Block":             {"SwitchBlockOff", "SwitchBlockOn"},
	"KeyManager":        {"AddKeys", "DeleteKeys"},
	"MachineManager":    {"AddMachines", "DestroyMachineWithParams", "RetryProvisioning"},
	"ModelManager":      {"DestroyModels"},
	"ModelConfig":       {"ModelSet", "ModelUnset", "SetModelConstraints"},
	"Resources":         {"AddPendingResources"},
	"Spaces":            {"CreateSpaces", "MoveSubnets", "ReloadSpaces", "RemoveSpace", "RenameSpace"},
	"Storage":           {"AddToUnit", "Attach", "CreatePool", "DetachStorage", "Import", "Remove", "RemovePool", "UpdatePool"},
}

// IsPlannable reports whether the changes of a method can be planned.
func IsPlannable(facade, method string) bool { return slices.Contains(plannable[facade], method) }

// readers are the methods for users of a model that change nothing, by facade.
var readers = map[string][]string{
	"Action":            {"Actions", "ApplicationsCharmsActions", "FindActionTagsByPrefix", "ListOperations", "Operations", "WatchActionsProgress"},
	"Annotations":       {"Get"},
	"Application":       {"ApplicationsInfo", "CharmConfig", "CharmRelations", "CheckDeploy", "Get", "GetCharmURLOrigin", "GetConstraints", "Leader", "UnitsInfo"},
	"ApplicationOffers": {"ApplicationOffers", "CheckUsers", "FindApplicationOffers", "GetConsumeDetails", "ListApplicationOffers"},
	"Backups":           {"Create"},
	"Block":             {"List"},
	"Bundle":            {"ExportBundle", "GetChangesMapArgs"},
	"Charms":            {"CharmInfo", "ResolveCharms"},
	"Client":            {"FullStatus", "StatusHistory", "WatchAll"},
	"Explain":           {"Explain"},
	"KeyManager":        {"ListKeys"},
	"MetricsDebug":      {"GetMetrics"},
	"ModelConfig":       {"GetModelConstraints", "ModelGet", "Sequences"},
	"Payloads":          {"List"},
	"Plans":             {"DryRun"},
	"Resources":         {"ListPendingResources", "ListResources"},
	"SSHClient":         {"AllAddresses", "PrivateAddress", "Proxy", "PublicAddress", "PublicKeys"},
	"SecretBackends":    {"ListSecretBackends"},
	"Secrets":           {"ListSecrets"},
	"Spaces":            {"ListSpaces", "ShowSpace"},
	"Status":            {"WatchOperation", "WatchStatus"},
	"Storage":           {"ListFilesystems", "ListPools", "ListStorageDetails", "ListVolumes", "StorageDetails"},
	"Subnets":           {"AllZones", "ListSubnets", "SubnetsByCIDR"},
}

// IsRead reports whether a method for users of a model changes nothing.
func IsRead(facade, method string) bool { return slices.Contains(readers[facade], method) }

// A PlannedCall is a request that is not made as it is: it is only planned, or made only if the model is unchanged. A plan
// without a method only checks the token, or adds the charm or the file.
type PlannedCall struct {
	Facade  string          `json:"facade"`
	Version int             `json:"version"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params" limit:"file"`
	// Charm is the archive of a charm that is added first, for a plan only; its files may be empty but for those that
	// describe it. CharmURL stands for its URL, which is not known yet, in the parameters of this call and the next ones.
	Charm    []byte `json:"charm,omitempty" limit:"file"`
	Series   string `json:"series,omitempty"` // of the charm
	CharmURL string `json:"charm-url,omitempty"`
	Token    string `json:"token,omitempty"` // of the plan, to make the request
	// Resource is a file that is uploaded then, for a plan only.
	Resource *PlannedResource `json:"resource,omitempty"`
	// Uploads stand for the ids of the uploads that the call announces, in the parameters of the next calls.
	Uploads []string `json:"uploads,omitempty"`
	// Machines stand for those that the call adds, or that the units which it adds are on, in the parameters of the next calls.
	Machines []PlannedMachine `json:"machines,omitempty"`
	// Then are the calls that are planned after this one, together with it. The first that fails is the last.
	Then []PlannedCall `json:"then,omitempty"`
}

// A PlannedResource is the file of a resource, of which a plan needs no more than the sum.
type PlannedResource struct {
	Application string `json:"application"`
	Name        string `json:"name"`
	Upload      string `json:"upload,omitempty"` // what stands for its id; "" to attach the file to the service as it is
	SHA256      string `json:"sha256"`           // in hex
}

// A PlannedMachine stands for a machine, or a container and its host.
type PlannedMachine struct {
	ID   string `json:"id"`
	Host string `json:"host"`
}

// NewCharm stands for the URL of one of the charms that a plan adds.
func NewCharm(number int) string { return fmt.Sprintf("local:jammy/planned-charm-%d", number) }

// NewUpload stands for the id of one of the uploads of resources that a plan announces.
func NewUpload(number int) string { return fmt.Sprintf("planned-upload-%d", number) }

// NewMachine stands for the id of one of the machines that a plan adds. All have the same length.
func NewMachine(number int) string { return fmt.Sprintf("9%08d", number%1e8) }
