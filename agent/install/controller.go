package install

import _ "embed"

// The files of a controller on a machine of its own. ControllerArchive (see WriteArchive) and
// ControllerParams, the input of `jujud bootstrap`, must be there before ControllerScript runs.
// It writes what jujud has printed to Bootstrapped, and what went wrong to ControllerLog.
const (
	ControllerArchive = Root + "/programs.tar.gz"
	ControllerParams  = Root + "/bootstrap.json"
	Bootstrapped      = Root + "/bootstrapped.json"
	ControllerLog     = Root + "/bootstrap.log"
)

//go:embed controller.sh
var controller string

// ControllerScript returns a POSIX shell script that makes a controller, and has systemd run it. It
// needs root.
func ControllerScript() string { return "#!/bin/sh\n" + assign("dir", Root) + controller }
