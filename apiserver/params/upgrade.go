package params

// An UpgradeModelParams is what ModelUpgrader 1 UpgradeModel takes.
type UpgradeModelParams struct {
	ModelTag      Tag    `json:"model-tag"`
	TargetVersion string `json:"target-version"`
	SHA256        string `json:"sha256,omitempty"` // ours: of the archive, for the controller's own model
	DryRun        bool   `json:"dry-run,omitempty"`
}

// An UpgradeModelResult is what it returns.
type UpgradeModelResult struct {
	ChosenVersion string `json:"chosen-version"`
	Commit        string `json:"commit,omitempty"` // ours: what that was built from
	Error         *Error `json:"error,omitempty"`  // that there is nothing to do
}
