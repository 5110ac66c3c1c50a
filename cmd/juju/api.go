package main

import (
	"context"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// What several commands call on a connection to a model.
type (
	statusAPI interface {
		watchStatusAPI
		Status(ctx context.Context, patterns ...string) (*entity.ModelStatus, error)
		ModelConfig(ctx context.Context) (modelconfig.Config, error)
	}
	addRelationAPI interface {
		AddRelation(ctx context.Context, endpoints ...string) (map[string]string, error)
	}
	destroyMachinesAPI interface {
		DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
	}
	getAPI interface {
		ServiceConfig(ctx context.Context, service string) (client.ServiceConfig, error)
	}
	exposeAPI interface {
		Expose(ctx context.Context, service string) (warnings []string, err error)
		Unexpose(ctx context.Context, service string) error
	}
)
