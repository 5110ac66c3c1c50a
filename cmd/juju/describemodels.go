package main

import (
	"context"

	"juju/state/entity"
)

// A describeModelsAPI lists and describes models.
type describeModelsAPI interface {
	modelsAPI
	ModelSummaries(ctx context.Context) ([]entity.ModelSummary, error)
	ModelInfo(ctx context.Context, uuid string) (entity.ModelInfo, error)
}
