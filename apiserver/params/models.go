package params

import (
	"encoding/json"
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

// ModelType is the type of all our models: models with machines.
const ModelType = "iaas"

// A UserModelList is what Controller AllModels and ModelManager ListModels return.
type UserModelList struct {
	UserModels []UserModel `json:"user-models"`
}

// A UserModel is a model that a user can access.
type UserModel struct {
	Model          `json:"model"`
	LastConnection *time.Time `json:"last-connection"`
}

// A ModelSummariesRequest is what ListModelSummaries takes.
type ModelSummariesRequest struct {
	UserTag Tag  `json:"user-tag"`
	All     bool `json:"all,omitempty"`
}

// A ModelSummaryResults is what ListModelSummaries returns.
type ModelSummaryResults struct {
	Results []ModelSummaryResult `json:"results"`
}

// A ModelSummaryResult is one model, or an error.
type ModelSummaryResult struct {
	Result *ModelSummary `json:"result,omitempty"`
	Error  *Error        `json:"error,omitempty"`
}

// A ModelSummary is an entity.ModelSummary in the wire's form.
type ModelSummary struct {
	entity.ModelSummary
	Status   *EntityStatus `json:"status,omitempty"`
	CloudTag string        `json:"cloud-tag"`
	SLA      ModelSLAInfo  `json:"sla"`
}

// A ModelSLAInfo is there because clients read it. It has no meaning.
type ModelSLAInfo struct {
	Level string `json:"level"`
	Owner string `json:"owner"`
}

// A ModelInfoResults is what ModelInfo returns.
type ModelInfoResults struct {
	Results []ModelInfoResult `json:"results"`
}

// A ModelInfoResult is one model, or an error.
type ModelInfoResult struct {
	Result *ModelInfo `json:"result,omitempty"`
	Error  *Error     `json:"error,omitempty"`
}

// A ModelInfo is an entity.ModelInfo in the wire's form.
type ModelInfo struct {
	entity.ModelInfo
	Status         *EntityStatus `json:"status,omitempty"`
	CloudTag       string        `json:"cloud-tag"`
	SecretBackends []struct{}    `json:"secret-backends"`
	SLA            ModelSLAInfo  `json:"sla"`
}

// A DestroyModelsParams is what DestroyModels takes.
type DestroyModelsParams struct {
	Models []DestroyModelParams `json:"models"`
}

// A DestroyModelParams names one model to destroy.
type DestroyModelParams struct {
	ModelTag Tag `json:"model-tag"`
	// DestroyStorage says whether the model's storage is destroyed, or released. Unless it is said, a
	// model with storage that outlives machines is refused.
	DestroyStorage *bool `json:"destroy-storage,omitempty"`
	Destruction
	// Timeout, in nanoseconds, is another name of MaxWait, which takes precedence.
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

// A LeftoverResults lists what removed models have left in the cloud.
type LeftoverResults struct {
	Results []entity.Leftover `json:"results"`
}

// A DestroyControllerArgs is what Controller 12 DestroyController takes.
type DestroyControllerArgs struct {
	DestroyModels  bool           `json:"destroy-models"`
	DestroyStorage *bool          `json:"destroy-storage,omitempty"`
	Force          *bool          `json:"force,omitempty"`
	MaxWait        *time.Duration `json:"max-wait,omitempty"`
	ModelTimeout   *time.Duration `json:"model-timeout,omitempty"`
}

// A ModelCreateArgs is what CreateModel takes.
type ModelCreateArgs struct {
	Name     string         `json:"name"`
	OwnerTag Tag            `json:"owner-tag"`
	Config   map[string]any `json:"config,omitempty"`
	CloudTag string         `json:"cloud-tag,omitempty"`
	Region   string         `json:"region,omitempty"`
}

// CloudTag returns the tag of a cloud.
func CloudTag(cloud string) string { return cloudPrefix + cloud }

// DumpModelsRequest asks for dumps of models.
type DumpModelsRequest struct {
	Entities []Entity `json:"entities"` // tags of models
}

// A MapResult is a model's dump: its documents by collection.
type MapResult struct {
	Result map[string][]json.RawMessage `json:"result,omitempty"`
	Error  *Error                       `json:"error,omitempty"`
}

// MapResults is the answer to DumpModelsDB, in the order of the request.
type MapResults struct {
	Results []MapResult `json:"results"`
}
