package minunits

import (
	"context"

	"juju/state/entity"
)

// API is what the worker needs of one model.
type API interface {
	// WatchMinUnits names services that may have fewer units than their minimum; the first
	// event names all services with a minimum.
	WatchMinUnits(ctx context.Context) (<-chan []string, error)
	// EnsureMinUnits adds a service's missing units.
	EnsureMinUnits(ctx context.Context, service entity.Tag) error
}
