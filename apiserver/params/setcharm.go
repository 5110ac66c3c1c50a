package params

import "juju/state/entity"

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

	// The controller rejects these.
	EndpointBindings map[string]string `json:"endpoint-bindings,omitempty"`
}

// A SetCharmResult has warnings for the user; in Juju SetCharm returns nothing.
type SetCharmResult struct {
	Warnings []string `json:"warnings,omitempty"`
}
