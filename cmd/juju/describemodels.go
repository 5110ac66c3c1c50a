package main

import (
	"context"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A describeModelsAPI lists and describes models.
type describeModelsAPI interface {
	cli.ModelsAPI
	ModelSummaries(ctx context.Context) ([]entity.ModelSummary, error)
	ModelInfo(ctx context.Context, uuid string) (entity.ModelInfo, error)
}
