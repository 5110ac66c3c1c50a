package facades

import (
	"cmp"
	"context"
	"reflect"
	"time"

	"juju/apiserver/deltas"
	"juju/apiserver/params"
	"juju/state"
	"juju/state/entity"
)

func clientFullStatus(ctx context.Context, c *Caller, p params.StatusParams) (*params.FullStatus, error) {
	status, err := statusOf(ctx, c, p.Patterns)
	if err != nil {
		return nil, err
	}
	full := params.FullStatusOf(status)
	if p.IncludeStorage {
		all, err := c.storageOf(ctx)
		if err != nil {
			return nil, err
		}
		for _, s := range all {
			full.Storage = append(full.Storage, params.StorageDetailsOf(s))
			full.Filesystems = append(full.Filesystems, params.FilesystemDetailsOf(s))
		}
	}
	return full, nil
}

// statusOf returns the status of the caller's model, or of what matches one of the patterns.
func statusOf(ctx context.Context, c *Caller, patterns []string) (*entity.ModelStatus, error) {
	status, err := c.Model.Status(ctx)
	if err != nil {
		return nil, err
	}
	wanted, err := c.Model.Settings().Binaries(ctx)
	if err != nil {
		return nil, err
	}
	status.Model.Version, status.Model.JujuVersion = cmp.Or(wanted.Version, c.Version), entity.JujuVersion
	if status.Model.Version == c.Version {
		status.Model.Commit = c.Commit
	}
	c.atCloud(status)
	// Lost agents are marked before the patterns are applied, so that patterns can match them.
	c.Presence.Mark(status, wanted)
	if err := state.MatchStatus(status, patterns); err != nil {
		return nil, err
	}
	return status, c.bindAll(ctx, status.Services)
}

// bindAll adds to the bindings of services in a status those of the endpoints that are bound like the default.
func (c *Caller) bindAll(ctx context.Context, services []entity.ServiceStatus) error {
	for i := range services {
		s := &services[i]
		ch, err := c.Model.Charms().Get(ctx, s.CharmURL)
		if entity.IsNotFound(err) {
			continue // the service was removed after the status was read
		} else if err != nil {
			return err
		}
		all := map[string]string{"": cmp.Or(s.Bindings[""], entity.AlphaSpace)}
		for _, endpoint := range ch.Meta.Endpoints() {
			all[endpoint] = cmp.Or(s.Bindings[endpoint], all[""])
		}
		s.Bindings = all
	}
	return nil
}

// statusWatch sends an event when the result of FullStatus may have changed: when the model's documents change, and
// when an agent is lost or reconnects.
func statusWatch(ctx context.Context, c *Caller, _ None) (Stream, error) {
	changes, err := c.Model.Watches().Status(ctx)
	if err != nil {
		return Stream{}, err
	}
	return Notify(c.Presence.Watch(ctx, c.Model.UUID(), changes), nil)
}

// clientWatchAll sends what changes in the model, beginning with everything in it.
func clientWatchAll(ctx context.Context, c *Caller, _ None) (Stream, error) {
	model, err := c.deltaModel(ctx)
	if err != nil {
		return Stream{}, err
	}
	takes, err := c.Deltas.Watch(ctx, c.Model, model)
	return Stream{Facade: "AllWatcher", Ch: reflect.ValueOf(takes), Event: func(v reflect.Value) (params.Event, error) {
		news, err := v.Interface().(deltas.Take)()
		if err != nil {
			return params.Event{}, err
		}
		all, err := news.Deltas()
		return params.Event{Deltas: all}, err
	}}, err
}

// deltaModel returns what deltas say about the caller's model that its parts don't.
func (c *Caller) deltaModel(ctx context.Context) (params.DeltaModel, error) {
	model := params.DeltaModel{UUID: c.Model.UUID(), Controller: c.Controller.UUID()}
	row, err := c.Controller.ModelRow(ctx, model.UUID)
	model.Owner = row.Owner
	return model, err
}

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
		filter.From = f.Date.Time
	}
	if f.Delta != nil {
		filter.From = time.Now().Add(-*f.Delta)
	}
	return c.Model.StatusHistory(ctx, entity.HistoryKind(p.Kind), p.Tag.ID, filter)
}
