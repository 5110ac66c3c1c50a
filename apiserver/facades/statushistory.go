package facades

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

func clientStatusHistory(
	ctx context.Context, c *Caller, p params.StatusHistoryRequests,
) (params.StatusHistoryResults, error) {
	results := make([]params.StatusHistoryResult, 0, len(p.Requests))
	for _, request := range p.Requests {
		past, err := statusHistory(ctx, c, request)
		if err == nil {
			err = c.keep(ctx, past)
		}
		if err != nil {
			results = append(results, params.StatusHistoryResult{Error: c.wireError("StatusHistory",
				err)})
			continue
		}
		results = append(results, params.StatusHistoryResult{History: params.HistoryOf(past)})
	}
	return params.StatusHistoryResults{Results: results}, nil
}

func statusHistory(ctx context.Context, c *Caller, p params.StatusHistoryRequest) ([]entity.PastStatus, error) {
	f := p.Filter
	ways := 0
	for _, asked := range []bool{f.Size != 0, f.Date != nil, f.Delta != nil} {
		if asked {
			ways++
		}
	}
	switch {
	case ways != 1:
		return nil, entity.Errorf(entity.Invalid, "a status history needs exactly one of size, date and delta")
	case f.Size < 0:
		return nil, entity.Errorf(entity.Invalid, "%d is not a number of statuses", f.Size)
	case f.Delta != nil && *f.Delta < 0:
		return nil, entity.Errorf(entity.Invalid, "%v is not a time ago", *f.Delta)
	}
	filter := entity.HistoryFilter{Size: f.Size, Exclude: f.Exclude}
	if f.Date != nil {
		filter.From = *f.Date
	}
	if f.Delta != nil {
		filter.From = time.Now().Add(-*f.Delta)
	}
	return c.Model.StatusHistory(ctx, entity.HistoryKind(p.Kind), p.Tag.ID, filter)
}
