package main

import (
	"context"
	"io"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A modelAPI is all that commands call on a connection to a model. A *client.Conn implements
// it.
type modelAPI interface {
	io.Closer
	statusAPI
	deployAPI
	addUnitAPI
	destroyAPI
	addRelationAPI
	destroyRelationAPI
	addMachineAPI
	getAPI
	setAPI
	resolvedAPI
	retryProvisioningAPI
	exposeAPI
	constraintsAPI
	modelConfigAPI
	statusHistoryAPI
	minUnitsAPI
	debugLogAPI
	blockAPI
	explainAPI
	annotationsAPI
	charmArchiveAPI
	upgradeCharmAPI
	tasksAPI
	storageAPI
	resourcesAPI
	sshKeysAPI
	uploadProgramsAPI
}

var _ modelAPI = (*client.Conn)(nil)

// The parts of modelAPI that several commands use, or that are too small for the command's own
// file.
type (
	statusAPI interface {
		watchStatusAPI
		Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error)
		ModelConfig(ctx context.Context) (modelconfig.Config, error)
	}
	destroyAPI interface {
		DestroyUnits(ctx context.Context, how entity.Destruction, units ...string) ([]error, entity.DestroyInfo, error)
		DestroyServices(ctx context.Context, how entity.Destruction, services ...string) ([]error, entity.DestroyInfo, error)
		DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
	}
	addRelationAPI interface {
		AddRelation(ctx context.Context, endpoints ...string) (map[string]string, error)
	}
	getAPI interface {
		ServiceConfig(ctx context.Context, service string) (client.ServiceConfig, error)
	}
	exposeAPI interface {
		Expose(ctx context.Context, service string) (warnings []string, err error)
		Unexpose(ctx context.Context, service string) error
	}
)
