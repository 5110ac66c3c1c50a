package entity

import "time"

// The types below describe models and users to clients. Access is "read", "write" or "admin" for a
// model; "login", "add-model" or "superuser" for the controller.

// A ModelDescription has the fields that ModelInfo and ModelSummary share.
type ModelDescription struct {
	Name           string `json:"name"`
	UUID           string `json:"uuid"`
	Type           string `json:"type"` // "iaas"
	ControllerUUID string `json:"controller-uuid"`
	IsController   bool   `json:"is-controller"` // the controller's own model
	ProviderType   string `json:"provider-type,omitempty"`
	OwnerTag       Tag    `json:"owner-tag"`
	Life           string `json:"life"`
	Status         Status `json:"-"` // package params has its own wire form
	CloudName      string `json:"-"` // in package params it is a tag
	CloudRegion    string `json:"cloud-region"`
	AgentVersion   string `json:"agent-version"` // JujuVersion
	Release        string `json:"release"`       // of the binaries that its agents are to run
}

// A ModelSummary is one entry in a list of models.
type ModelSummary struct {
	ModelDescription
	Credential     string             `json:"-"` // its name; in package params it is a tag
	UserAccess     string             `json:"user-access"`
	LastConnection *time.Time         `json:"last-connection"`
	Counts         []ModelEntityCount `json:"counts"`
}

// A ModelEntityCount is the number of a model's entities of one kind.
type ModelEntityCount struct {
	Entity string `json:"entity"` // "machines", "cores", "units"
	Count  int64  `json:"count"`
}

// A ModelInfo describes one model.
type ModelInfo struct {
	ModelDescription
	Credential string         `json:"-"` // its name; in package params it is a tag
	Users      []ModelUser    `json:"users"`
	Machines   []ModelMachine `json:"machines"`
}

// A ModelUser is one user of a model.
type ModelUser struct {
	ModelTag       Tag        `json:"model-tag"`
	UserName       string     `json:"user"`
	DisplayName    string     `json:"display-name"`
	LastConnection *time.Time `json:"last-connection"`
	Access         string     `json:"access"`
}

// A ModelMachine is one machine of a model.
type ModelMachine struct {
	ID         string `json:"id"`
	InstanceID string `json:"instance-id,omitempty"`
	Status     string `json:"status,omitempty"`
	Message    string `json:"message,omitempty"`
	HasVote    bool   `json:"has-vote,omitempty"`
	WantsVote  bool   `json:"wants-vote,omitempty"`

	Hardware MachineHardware `json:"hardware"`
}

// MachineHardware is Hardware with the key that Juju has in models' descriptions.
type MachineHardware struct {
	Arch     string `json:"arch,omitempty"`
	Cores    uint64 `json:"cores,omitempty"`
	Mem      uint64 `json:"mem,omitempty"`       // MiB
	RootDisk uint64 `json:"root-disk,omitempty"` // MiB
	Zone     string `json:"availability-zone,omitempty"`
}

// A ModelBlocks is a model with the types of its blocks.
type ModelBlocks struct {
	Name     string   `json:"name"`
	UUID     string   `json:"model-uuid"`
	OwnerTag Tag      `json:"owner-tag"`
	Blocks   []string `json:"blocks"`
}

// A UserInfo describes a user of the controller.
type UserInfo struct {
	Username       string     `json:"username"`
	DisplayName    string     `json:"display-name"`
	Access         string     `json:"access"` // to the controller; "" for a disabled user
	CreatedBy      string     `json:"created-by"`
	DateCreated    time.Time  `json:"date-created"`
	LastConnection *time.Time `json:"last-connection,omitempty"`
	Disabled       bool       `json:"disabled"`
}
