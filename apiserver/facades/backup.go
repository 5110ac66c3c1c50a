package facades

import (
	"context"
	"io"
	"net/http"
	"os"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

// Backups makes backups of the controller.
type Backups interface {
	// Backup makes a backup, in a file without a name: without the key of secrets if it is to be readable by anyone. It calls
	// progress now and then with the bytes that the file has.
	Backup(ctx context.Context, plain bool, progress func(bytes int64)) (*os.File, error)
}

// serveBackup sends a new backup of the controller. It is served only for the controller's own model, and to
// superusers: a backup has all keys and passwords.
func serveBackup(v *Visitor, w http.ResponseWriter, r *http.Request) error {
	switch {
	case v.ControllerAccess != controller.AccessSuperuser:
		return lacksController(v.Identity, controller.AccessSuperuser)
	case v.Model.UUID() != v.ControllerModel.UUID():
		return entity.WithHint(Denied(), "Backups are made of the controller's own model")
	case v.Backups == nil:
		return entity.Errorf(entity.NotSupported, "this controller can't be backed up")
	}
	logger.Infof("%s@%s makes a backup of the controller", v.Tag, r.RemoteAddr)
	file, err := v.Backups.Backup(r.Context(), r.URL.Query().Has(params.PlainBackup), v.Progress)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-tar")
	return v.Send(io.NewSectionReader(file, 0, info.Size()), "", "backup")
}
