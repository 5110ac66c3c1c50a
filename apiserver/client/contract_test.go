package client_test

import (
	"juju/apiserver/client"
	"juju/worker/deployer"
	"juju/worker/machiner"
	"juju/worker/provisioner"
	"juju/worker/uniter"
)

// A connection is all that the agents' workers ask for.
var (
	_ machiner.API    = (*client.Conn)(nil)
	_ deployer.API    = (*client.Conn)(nil)
	_ provisioner.API = (*client.Conn)(nil)
	_ uniter.API      = (*client.Conn)(nil)
)
