package install

import _ "embed"

// The files of a controller on a dedicated machine. ControllerArchive (see WriteArchive) and
// ControllerParams, the input of `jujud bootstrap`, must exist before ControllerScript runs. It writes
// jujud's output to Bootstrapped, and errors to ControllerLog.
const (
	ControllerArchive = Root + "/programs.tar.gz"
	ControllerParams  = Root + "/bootstrap.json"
	Bootstrapped      = Root + "/bootstrapped.json"
	ControllerLog     = Root + "/bootstrap.log"
)

//go:embed controller.sh
var controller string

// ControllerScript returns a POSIX shell script that creates a controller and its systemd service. It
// must run as root.
func ControllerScript() string { return "#!/bin/sh\n" + assign("dir", Root) + controller }
