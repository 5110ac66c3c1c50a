package main

import (
	"testing"

	"juju/cmd/juju/clitest"
	"juju/cmd/juju/commands"
)

// newUser returns a user of all commands, who has selected the model "default" of a controller.
func newUser(t *testing.T) *clitest.User {
	t.Helper()
	return clitest.NewUserOf(t, commands.Run)
}
