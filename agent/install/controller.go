package install

import (
	_ "embed"
	"path"

	"juju/provider"
)

// The files of a controller on a dedicated machine. ControllerArchive (see WriteArchive) and
// ControllerParams, the input of `jujud bootstrap` or `jujud restore`, must exist before ControllerScript runs, and
// ControllerBackup too if it restores that. The script writes jujud's output to Bootstrapped, and errors to ControllerLog.
const (
	ControllerArchive = Root + "/programs.tar.gz"
	ControllerParams  = Root + "/bootstrap.json"
	ControllerBackup  = Root + "/backup"
	Bootstrapped      = Root + "/bootstrapped.json"
	ControllerLog     = Root + "/bootstrap.log"
)

// The files of a migration of a controller's store. MigrationURL must exist before MigrationScript runs, which removes it
// and writes errors to MigrationLog.
const (
	MigrationURL = Root + "/migrate.url"
	MigrationLog = Root + "/migrate.log"
)

var (
	//go:embed migrate.sh
	migrate string
	//go:embed controller.sh
	controller string
	//go:embed controllerservice.sh
	controllerService string
)

// ControllerScript returns a POSIX shell script that creates a controller, or restores one from a backup, and its systemd
// service. It must run as root.
func ControllerScript(restore bool) string {
	verb := "bootstrap"
	if restore {
		verb = "restore"
	}
	return "#!/bin/sh\n" + assign("dir", Root) + assign("verb", verb) + controller + controllerService
}

// MigrationScript returns a POSIX shell script that moves the store of a controller. It must run as root.
func MigrationScript() string { return "#!/bin/sh\n" + assign("dir", Root) + migrate }

// ControllerConfig is the configuration file of a controller. It must exist before the script of NodeScript runs.
const ControllerConfig = Root + "/controller/controller.conf"

// ControllerEnded is a file that keeps a controller from being started again.
const ControllerEnded = Root + "/controller/ended"

// NodeScript returns a POSIX shell script that downloads and verifies the binaries, and installs a further controller
// with its systemd service. It must run as root, and can be run again after an interruption. The error is Invalid if
// tools is not valid.
func NodeScript(tools provider.Tools) (string, error) {
	head, err := variables(path.Join(Root, "tools"), tools)
	if err != nil {
		return "", err
	}
	return "#!/bin/sh\n" + head + assign("dir", Root) + fetch + controllerService, nil
}
