package params

import "juju/state/entity"

// An UpgradeModelParams is the parameter of ModelUpgrader 1 UpgradeModel.
type UpgradeModelParams struct {
	ModelTag      Tag    `json:"model-tag"`
	TargetVersion string `json:"target-version"`   // a release; NewestVersion, "" or entity.JujuVersion for the newest that there is
	SHA256        string `json:"sha256,omitempty"` // not in Juju: of the archive, for the controller's own model
	DryRun        bool   `json:"dry-run,omitempty"`
}

// NewestVersion is the version that clients of Juju ask for if the controller is to choose one.
const NewestVersion = "0.0.0"

// IsNewest reports whether the controller is to choose the version. A client that asks for what ModelGet told it, the
// version of Juju, asks for what it has: all releases that the controller could choose say so.
func (p UpgradeModelParams) IsNewest() bool {
	return p.TargetVersion == "" || p.TargetVersion == NewestVersion || p.TargetVersion == entity.JujuVersion
}

// An UpgradeModelResult is the result of UpgradeModel.
type UpgradeModelResult struct {
	ChosenVersion string `json:"chosen-version"`   // a release: these decide what an upgrade is
	Commit        string `json:"commit,omitempty"` // not in Juju: the commit it was built from
	Error         *Error `json:"error,omitempty"`  // set if there is nothing to do
}
