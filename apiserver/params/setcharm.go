package params

import (
	"time"

	"juju/state/entity"
)

// An ApplicationSetCharm changes the charm of a service. Force implies the other Force fields.
type ApplicationSetCharm struct {
	ApplicationName    string            `json:"application"`
	Generation         string            `json:"generation,omitempty"`
	CharmURL           string            `json:"charm-url"`
	CharmOrigin        *CharmOrigin      `json:"charm-origin,omitempty"`
	Channel            string            `json:"channel,omitempty"`
	ConfigSettings     map[string]string `json:"config-settings,omitempty" limit:"file"`
	ConfigSettingsYAML string            `json:"config-settings-yaml,omitempty" limit:"file"`
	Force              bool              `json:"force"`
	ForceUnits         bool              `json:"force-units"`
	ForceSeries        bool              `json:"force-series"`
	ForceBase          bool              `json:"force-base"`

	ResourceIDs map[string]string `json:"resource-ids,omitempty"` // ids of uploads, by name

	StorageConstraints map[string]entity.StorageConstraints `json:"storage-constraints,omitempty"` // by store
	StorageDirectives  map[string]entity.StorageConstraints `json:"storage-directives,omitempty"`  // its name since version 20

	// Not in Juju: the units are upgraded in batches.
	BatchSize     int           `json:"batch-size,omitempty"`
	HealthTimeout time.Duration `json:"health-timeout,omitempty"`

	EndpointBindings map[string]string `json:"endpoint-bindings,omitempty"`
}

// Storage returns the constraints of stores, by their names.
func (p ApplicationSetCharm) Storage() map[string]entity.StorageConstraints {
	if p.StorageDirectives != nil {
		return p.StorageDirectives
	}
	return p.StorageConstraints
}

// A SetCharmResult has warnings for the user; in Juju SetCharm returns nothing.
type SetCharmResult struct {
	Warnings []string `json:"warnings,omitempty"`
	Restored []string `json:"restored,omitempty"` // settings that are as before an upgrade that is reverted
}

// A Rollout is the parameter of ResumeRollout and RevertRollout, methods that Juju does not have: of a service whose
// units are upgraded in batches. A batch or timeout of 0 stays as it is.
type Rollout struct {
	ApplicationName string        `json:"application"`
	BatchSize       int           `json:"batch-size,omitempty"`
	HealthTimeout   time.Duration `json:"health-timeout,omitempty"`
}
