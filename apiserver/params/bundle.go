package params

// BundleChanges is the parameter of GetChangesMapArgs.
type BundleChanges struct {
	YAML string `json:"yaml"`
	URL  string `json:"bundleURL"`
}

// BundleChangesMapArgsResults are the steps that deploy a bundle, or what is wrong with it.
type BundleChangesMapArgsResults struct {
	Changes []BundleChange `json:"changes,omitempty"`
	Errors  []string       `json:"errors,omitempty"`
}

// A BundleChange is one step. "$ID" in its arguments is the result of the step with that id.
type BundleChange struct {
	ID       string         `json:"id"`
	Method   string         `json:"method"`
	Args     map[string]any `json:"args"`
	Requires []string       `json:"requires"`
}

// ExportBundleParams are the parameter of ExportBundle.
type ExportBundleParams struct {
	IncludeCharmDefaults bool `json:"include-charm-defaults,omitempty"`
}

// An ExportBundleResult is a bundle that describes a model.
type ExportBundleResult struct {
	Result string `json:"result"` // YAML
	// Warnings, which Juju does not have, name what is not in it.
	Warnings []string `json:"warnings,omitempty"`
}
