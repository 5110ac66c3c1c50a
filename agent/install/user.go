package install

import _ "embed"

// User is the user that people log in as on a machine, as in Juju whatever the distribution is.
const User = "ubuntu"

// UserScript is a POSIX shell script that makes User, who may become root. Another may follow it.
//
//go:embed user.sh
var UserScript string
