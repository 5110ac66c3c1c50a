package client

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// A HistoryQuery selects statuses from a history by exactly one of the first three fields.
type HistoryQuery struct {
	Size    int           // the newest Size statuses
	From    time.Time     // since this time
	Ago     time.Duration // since this long ago, by the controller's clock
	Exclude []string      // messages to leave out
}

// StatusHistory returns the past statuses of a unit or machine, oldest first.
func (c *Conn) StatusHistory(
	ctx context.Context, kind entity.HistoryKind, of entity.Tag, q HistoryQuery,
) ([]entity.PastStatus, error) {
	request := params.StatusHistoryRequest{Kind: string(kind), Tag: params.TagOf(of),
		Filter: params.StatusHistoryFilter{Size: q.Size, Date: params.NewTime(q.From), Exclude: q.Exclude}}
	if q.Ago != 0 {
		request.Filter.Delta = &q.Ago
	}
	var result params.StatusHistoryResults
	err := c.call(ctx, "Client", 7, "StatusHistory",
		params.StatusHistoryRequests{Requests: []params.StatusHistoryRequest{request}}, &result)
	if err != nil {
		return nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return nil, err
	}
	if err := result.Results[0].Error; err != nil {
		return nil, params.FromError(err)
	}
	return result.Results[0].History.Past(), nil
}
