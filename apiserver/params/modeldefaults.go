package params

// A ModelDefaultsResults is the result of ModelManager 10 ModelDefaultsForClouds.
type ModelDefaultsResults struct {
	Results []ModelDefaultsResult `json:"results"`
}

// A ModelDefaultsResult has the defaults of the settings of new models on one cloud, or an error.
type ModelDefaultsResult struct {
	Config map[string]ModelDefaults `json:"config"`
	Error  *Error                   `json:"error,omitempty"`
}

// A ModelDefaults is the default of one setting: its own, and the one that a superuser has set.
type ModelDefaults struct {
	Default    any `json:"default,omitempty"`
	Controller any `json:"controller,omitempty"`
}

// A SetModelDefaults is the parameter of SetModelDefaults.
type SetModelDefaults struct {
	Config []ModelDefaultValues `json:"config"`
}

// A ModelDefaultValues are defaults to set on a cloud, and in one of its regions if that is not "".
type ModelDefaultValues struct {
	CloudTag    string         `json:"cloud-tag,omitempty"`
	CloudRegion string         `json:"cloud-region,omitempty"`
	Config      map[string]any `json:"config" limit:"file"`
}

// An UnsetModelDefaults is the parameter of UnsetModelDefaults.
type UnsetModelDefaults struct {
	Keys []ModelUnsetKeys `json:"keys"`
}

// A ModelUnsetKeys are defaults to remove on a cloud, and in one of its regions if that is not "".
type ModelUnsetKeys struct {
	CloudTag    string   `json:"cloud-tag,omitempty"`
	CloudRegion string   `json:"cloud-region,omitempty"`
	Keys        []string `json:"keys"`
}
