package clouds

import (
	"context"
	"path/filepath"

	"juju/agent/binaries"
	"juju/provider"
	"juju/provider/local"
)

// The localCloud is this host: machines are processes and directories.
type localCloud struct{ bare }

// Machines implements Kind.
func (localCloud) Machines() provider.Machines { return local.Machines }

// MachineDir implements Kind.
func (localCloud) MachineDir(dir, model, instance string) string {
	return local.MachineDir(dir, model, instance)
}

// Check implements Kind.
func (localCloud) Check(Params) error { return local.CheckLoopback() }

// Open implements Kind. The programs of the agents are those beside this one.
func (localCloud) Open(_ context.Context, c Controller) (*Cloud, error) {
	dir, err := binaries.OwnDir()
	if err != nil {
		return nil, err
	}
	cloud, err := local.New(local.Config{Dir: c.Dir, Controller: c.UUID,
		MachineAgent: filepath.Join(dir, "machine-agent"), Jujud: filepath.Join(dir, "jujud")})
	if err != nil {
		return nil, err
	}
	return &Cloud{Open: cloud.Open, Worker: cloud.Supervise}, nil
}
