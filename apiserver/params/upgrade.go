package params

// An UpgradeModelParams is the parameter of ModelUpgrader 1 UpgradeModel.
type UpgradeModelParams struct {
	ModelTag      Tag    `json:"model-tag"`
	TargetVersion string `json:"target-version"`
	SHA256        string `json:"sha256,omitempty"` // not in Juju: of the archive, for the controller's own model
	DryRun        bool   `json:"dry-run,omitempty"`
}

// An UpgradeModelResult is the result of UpgradeModel.
type UpgradeModelResult struct {
	ChosenVersion string `json:"chosen-version"`
	Commit        string `json:"commit,omitempty"` // not in Juju: the commit it was built from
	Error         *Error `json:"error,omitempty"`  // set if there is nothing to do
}
