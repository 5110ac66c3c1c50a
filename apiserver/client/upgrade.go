package client

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"juju/apiserver/params"
	"juju/state/entity"
)

// ControllerBinaries returns the binaries that the controller runs. The connection must be to the controller itself.
func (c *Conn) ControllerBinaries(ctx context.Context) (p entity.ControllerBinaries, err error) {
	err = c.call(ctx, "ModelUpgrader", 1, "ControllerPrograms", nil, &p)
	return p, err
}

// UploadBinaries uploads an archive of binaries to the controller, which checks them. The connection must be to the
// controller's own model.
func (c *Conn) UploadBinaries(ctx context.Context, archive io.Reader, p entity.Binaries) error {
	query := url.Values{"binaryVersion": {p.Version}, "sha256": {p.SHA256}}
	body, err := c.transfer(ctx, http.MethodPost, "/tools", query, &sent{
		"application/gzip", archive, "archive of agent binaries", entity.MaxBinaries}, nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// UpgradeModel upgrades a model's agents to the binaries that the controller runs or, for the controller's own model,
// upgrades the controller to binaries that were uploaded. It returns the version; with dryRun it changes nothing. The
// error is AlreadyExists, with the version, if there is nothing to do. The connection must be to the controller itself.
func (c *Conn) UpgradeModel(ctx context.Context, uuid string, to entity.Binaries,
	dryRun bool) (entity.Binaries, error) {
	var result params.UpgradeModelResult
	err := c.call(ctx, "ModelUpgrader", 1, "UpgradeModel", params.UpgradeModelParams{
		ModelTag: params.TagOf(entity.ModelTag(uuid)), TargetVersion: to.Version, SHA256: to.SHA256, DryRun: dryRun,
	}, &result)
	if err == nil {
		err = params.FromError(result.Error)
	}
	return entity.Binaries{Version: result.ChosenVersion, Commit: result.Commit}, err
}

// Archive opens the archive of binaries with this hash. The reader fails when ctx or the connection ends, or when it is
// closed.
func (f AgentFacade) Archive(ctx context.Context, sha256 string) (archive io.ReadCloser, err error) {
	err = f.Do(ctx, func(c *Conn) error {
		archive, err = c.fetch(ctx, http.MethodGet, "/tools/"+sha256, nil, nil)
		return err
	})
	return archive, err
}
