package uniter

import (
	"context"
	"errors"
	"testing"

	"juju/state/entity"
	"juju/worker"
)

// away waits for the controller when a watch is to begin.
type away struct {
	*controller
	asked chan<- struct{}
}

func (a away) WatchUnit(ctx context.Context, _ entity.Tag) (<-chan struct{}, error) {
	return nil, a.wait(ctx)
}

func (a away) WatchRelationUnits(
	ctx context.Context, _ entity.Tag, _ int,
) (<-chan entity.RelationUnitsChange, error) {
	return nil, a.wait(ctx)
}

func (a away) wait(ctx context.Context) error {
	a.asked <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// An agent that stops does not wait for a controller that is away, to begin a watch that would outlive the stop.
func TestNoWatchBegins(t *testing.T) {
	asked := make(chan struct{})
	api := away{newController(), asked}
	for name, begin := range map[string]func(context.Context) error{
		"the unit": func(ctx context.Context) error {
			_, err := newRemote(ctx, api, entity.UnitTag("web/0"), nil, nil)
			return err
		},
		"a relation": func(ctx context.Context) error {
			return (&remote{api: api, ctx: context.WithoutCancel(ctx)}).watch(ctx, 3)
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- begin(ctx) }()
		<-asked
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the watch of %s: %v", name, err)
		}
	}
}

// late is a controller whose watch of the unit has events only after all others.
type late struct{ *controller }

func (l late) WatchUnit(ctx context.Context, unit entity.Tag) (<-chan struct{}, error) {
	events, err := l.controller.WatchUnit(ctx, unit)
	if err != nil {
		return nil, err
	}
	first := make(chan struct{}, 1)
	first <- <-events
	return first, nil
}

// What has made another unit depart is known before a hook runs for that, whichever watch is first: with force, none runs.
func TestWhatMadeAUnitDepartIsKnown(t *testing.T) {
	r := newRig(t, nil)
	r.config.API = late{r.c}
	r.c.relations[1] = newRelation(1, "db", "mysql", map[string]int64{"mysql/0": 1})
	r.start()
	r.settle(nil)
	r.hooks()
	r.c.change(func() {
		r.c.relations[1].members = map[string]int64{}
		r.c.unit.Life, r.c.unit.Strength = entity.Dying, entity.Force
	})
	if err := r.end(); !errors.Is(err, worker.ErrTerminateAgent) {
		t.Error(err)
	}
	r.expect()
}
