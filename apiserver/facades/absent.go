package facades

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Clients of Juju list what models here do not have, metrics, to show their pages. The list is empty. What would add
// something is not served, and so is refused by name.

func metricsGet(_ context.Context, _ *Caller, p params.Entities) (params.MetricResults, error) {
	results := make([]params.EntityMetrics, len(p.Entities))
	for i := range results {
		results[i].Metrics = []struct{}{}
	}
	return params.MetricResults{Results: results}, nil
}

// backupsCreate says how backups are made: a controller keeps none.
func backupsCreate(context.Context, *Caller, None) (struct{}, error) {
	return struct{}{}, entity.WithHint(entity.Errorf(entity.NotSupported, "the controller keeps no backups"),
		"To make one, in a file of yours: juju create-backup FILE")
}
