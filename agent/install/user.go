package install

import _ "embed"

// User is the login user on machines, the same on every distribution, as in Juju.
const User = "ubuntu"

// UserScript is a POSIX shell script that creates User with sudo rights. Another script may follow it.
//
//go:embed user.sh
var UserScript string
