package params

import (
	"encoding/json"
	"strings"
	"time"

	"juju/state/entity"
)

// A Model names a model.
type Model struct {
	Name     string `json:"name"`
	UUID     string `json:"uuid"`
	Type     string `json:"type"` // "iaas"
	OwnerTag Tag    `json:"owner-tag"`
}

// ModelType is the type of all models here: models with machines.
const ModelType = "iaas"

// A UserModelList is the result of Controller AllModels and ModelManager ListModels.
type UserModelList struct {
	UserModels []UserModel `json:"user-models"`
}

// A UserModel is a model that a user can access.
type UserModel struct {
	Model          `json:"model"`
	LastConnection *time.Time `json:"last-connection"`
}

// A ModelSummariesRequest is the parameter of ListModelSummaries.
type ModelSummariesRequest struct {
	UserTag Tag  `json:"user-tag"`
	All     bool `json:"all,omitempty"`
}

// A ModelSummaryResults is the result of ListModelSummaries.
type ModelSummaryResults struct {
	Results []ModelSummaryResult `json:"results"`
}

// A ModelSummaryResult is one model, or an error.
type ModelSummaryResult struct {
	Result *ModelSummary `json:"result,omitempty"`
	Error  *Error        `json:"error,omitempty"`
}

// A ModelSummary is an entity.ModelSummary in the wire format.
type ModelSummary struct {
	entity.ModelSummary
	Status        *EntityStatus `json:"status,omitempty"`
	CloudTag      string        `json:"cloud-tag"`
	CredentialTag string        `json:"cloud-credential-tag,omitempty"`
	SLA           ModelSLAInfo  `json:"sla"`
}

// A ModelSLAInfo exists only because clients read it.
type ModelSLAInfo struct {
	Level string `json:"level"`
	Owner string `json:"owner"`
}

// A ModelInfoResults is the result of ModelInfo.
type ModelInfoResults struct {
	Results []ModelInfoResult `json:"results"`
}

// A ModelInfoResult is one model, or an error.
type ModelInfoResult struct {
	Result *ModelInfo `json:"result,omitempty"`
	Error  *Error     `json:"error,omitempty"`
}

// A ModelInfo is an entity.ModelInfo in the wire format.
type ModelInfo struct {
	entity.ModelInfo
	Status         *EntityStatus `json:"status,omitempty"`
	CloudTag       string        `json:"cloud-tag"`
	CredentialTag  string        `json:"cloud-credential-tag"`
	SecretBackends []struct{}    `json:"secret-backends"`
	SLA            ModelSLAInfo  `json:"sla"`
	Series         string        `json:"-"` // the default; only older versions have it
}

// ModelStatusResults are the results of ModelStatus.
type ModelStatusResults struct {
	Results []ModelStatus `json:"models"`
}

// A ModelStatus is what a model has that would have to be removed with it.
type ModelStatus struct {
	ModelTag           Tag                   `json:"model-tag"`
	Life               string                `json:"life"`
	Type               string                `json:"type"`
	HostedMachineCount int                   `json:"hosted-machine-count"`
	ApplicationCount   int                   `json:"application-count"`
	UnitCount          int                   `json:"unit-count"`
	OwnerTag           Tag                   `json:"owner-tag"`
	Applications       []ModelApplication    `json:"applications,omitempty"`
	Machines           []entity.ModelMachine `json:"model-machines,omitempty"`
	Volumes            []struct{}            `json:"model-volumes,omitempty"` // none: storage here is filesystems
	Filesystems        []ModelFilesystem     `json:"model-filesystems,omitempty"`
	Error              *Error                `json:"error,omitempty"`
}

// A ModelApplication is a service in a ModelStatus.
type ModelApplication struct {
	Name string `json:"name"`
}

// A ModelFilesystem is a filesystem in a ModelStatus.
type ModelFilesystem struct {
	ID         string `json:"id"` // the number of its storage instance
	ProviderID string `json:"provider-id,omitempty"`
	Status     string `json:"status,omitempty"`
	Message    string `json:"message,omitempty"`
	Detachable bool   `json:"detachable,omitempty"` // it outlives its unit
}

// ModelFilesystems returns the filesystems of storage instances.
func ModelFilesystems(all []entity.StorageStatus) (list []ModelFilesystem) {
	for _, s := range all {
		_, number, _ := strings.Cut(s.ID, "/")
		list = append(list, ModelFilesystem{number, s.Filesystem, string(s.Status.Status), s.Status.Message, s.Persistent})
	}
	return list
}

// A DestroyModelsParams is the parameter of DestroyModels.
type DestroyModelsParams struct {
	Models []DestroyModelParams `json:"models"`
}

// A DestroyModelParams names one model to destroy.
type DestroyModelParams struct {
	ModelTag Tag `json:"model-tag"`
	// DestroyStorage is whether the model's storage is destroyed (true) or released (false). If nil, a model with
	// persistent storage is not destroyed.
	DestroyStorage *bool `json:"destroy-storage,omitempty"`
	Destruction
	// Timeout, in nanoseconds, is another name for MaxWait, which takes precedence.
	Timeout *time.Duration `json:"timeout,omitempty"`
}

// Read is Destruction.Read.
func (p DestroyModelParams) Read() (entity.Destruction, error) {
	d := p.Destruction
	if d.MaxWait == nil {
		d.MaxWait = p.Timeout
	}
	how, err := d.Read()
	if p.DestroyStorage != nil {
		how.Storage, how.Release = *p.DestroyStorage, !*p.DestroyStorage
	}
	return how, err
}

// A LeftoverResults lists the cloud resources left behind by removed models.
type LeftoverResults struct {
	Results []entity.Leftover `json:"results"`
}

// A DestroyControllerArgs is the parameter of Controller 12 DestroyController.
type DestroyControllerArgs struct {
	DestroyModels  bool           `json:"destroy-models"`
	DestroyStorage *bool          `json:"destroy-storage,omitempty"`
	Force          *bool          `json:"force,omitempty"`
	MaxWait        *time.Duration `json:"max-wait,omitempty"`
	ModelTimeout   *time.Duration `json:"model-timeout,omitempty"`
}

// ControllerVersionResults are the result of ControllerVersion.
type ControllerVersionResults struct {
	Version   string `json:"version"`
	GitCommit string `json:"git-commit"`
}

// A ControllerConfigResult is the result of Controller 12 ControllerConfig.
type ControllerConfigResult struct {
	Config map[string]any `json:"config" limit:"file"`
}

// A ControllerConfigSet is the parameter of ConfigSet.
type ControllerConfigSet struct {
	Config map[string]any `json:"config" limit:"file"`
}

// A ModelCreateArgs is the parameter of CreateModel.
type ModelCreateArgs struct {
	Name     string         `json:"name"`
	OwnerTag Tag            `json:"owner-tag"`
	Config   map[string]any `json:"config,omitempty" limit:"file"`
	CloudTag string         `json:"cloud-tag,omitempty"`
	Region   string         `json:"region,omitempty"`
	// CredentialTag is the tag of the cloud's credential: cloudcred-CLOUD_USER_NAME.
	CredentialTag string `json:"credential,omitempty"`
}

// CloudTag returns the tag of a cloud.
func CloudTag(cloud string) string { return cloudPrefix + cloud }

// A DumpModelsRequest lists the models to dump.
type DumpModelsRequest struct {
	Entities []Entity `json:"entities"` // tags of models
	// Simplified leaves out of DumpModels what has happened: tasks, the history of statuses, and annotations.
	Simplified bool `json:"simplified,omitempty"`
}

// A MapResult is a model's dump: its documents by collection.
type MapResult struct {
	Result map[string][]json.RawMessage `json:"result,omitempty"`
	Error  *Error                       `json:"error,omitempty"`
}

// MapResults is the result of DumpModelsDB, in the order of the request.
type MapResults struct {
	Results []MapResult `json:"results"`
}

// A ControllerAPIInfoResults is in the order of the request.
type ControllerAPIInfoResults struct {
	Results []ControllerAPIInfoResult `json:"results"`
}

// A ControllerAPIInfoResult is how a controller is reached.
type ControllerAPIInfoResult struct {
	Addresses []string `json:"addresses"`
	CACert    string   `json:"cacert"`
	Error     *Error   `json:"error,omitempty"`
}

// A HostedModelConfigsResults is the result of HostedModelConfigs.
type HostedModelConfigsResults struct {
	Models []HostedModelConfig `json:"models"`
}

// A HostedModelConfig is the settings of a model, and its cloud, or why they can't be read.
type HostedModelConfig struct {
	Name      string            `json:"name"`
	Owner     Tag               `json:"owner"`
	Config    map[string]any    `json:"config,omitempty"` // with name, uuid, type and agent-version; a boolean setting is a bool
	CloudSpec *entity.CloudSpec `json:"cloud-spec,omitempty"`
	Error     *Error            `json:"error,omitempty"`
}

// A CloudSpecResults is the result of Controller 12 CloudSpec, in the order of the request.
type CloudSpecResults struct {
	Results []CloudSpecResult `json:"results"`
}

// A CloudSpecResult is how a model uses its cloud, or an error.
type CloudSpecResult struct {
	Result *entity.CloudSpec `json:"result,omitempty"`
	Error  *Error            `json:"error,omitempty"`
}

// A StringResults is in the order of the request.
type StringResults struct {
	Results []StringResult `json:"results"`
}
