package rehearsal

import (
	"context"
	"time"

	"juju/state"
	"juju/state/entity"
	"juju/worker/uniter/operation"
)

// unitAPI is the API of units' agents, on the copy of the model. Hooks that do nothing ask for nothing else.
type unitAPI struct {
	operation.API
	st *state.State
}

func (a unitAPI) on(ctx context.Context, unit entity.Tag, do func(*state.Unit) error) error {
	u, err := a.st.Unit(ctx, unit.ID)
	if err == nil {
		err = do(u)
	}
	return err
}

func (a unitAPI) EnterScope(ctx context.Context, unit entity.Tag, relation int) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.EnterScope(ctx, relation) })
}

func (a unitAPI) LeaveScope(ctx context.Context, unit entity.Tag, relation int) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.LeaveScope(ctx, relation) })
}

func (a unitAPI) DestroyUnit(ctx context.Context, unit entity.Tag) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.DestroySelf(ctx) })
}

func (a unitAPI) DestroySubordinates(ctx context.Context, unit entity.Tag) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.DestroySubordinates(ctx) })
}

func (a unitAPI) FinishUpgradeStep(ctx context.Context, unit entity.Tag, number int64, completing bool) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.FinishUpgradeStep(ctx, number, completing) })
}

func (a unitAPI) DetachStorage(ctx context.Context, unit entity.Tag, storage string) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.DetachStorage(ctx, storage) })
}

func (a unitAPI) EnsureDead(ctx context.Context, unit entity.Tag) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.EnsureDead(ctx) })
}

func (a unitAPI) SetCharm(ctx context.Context, unit entity.Tag, url string) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.SetCharm(ctx, url) })
}

func (a unitAPI) CommitHook(ctx context.Context, unit entity.Tag, changes entity.HookChanges) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.CommitHook(ctx, changes) })
}

func (unitAPI) HookRan(context.Context, entity.Tag, time.Duration) error { return nil }

func (a unitAPI) ClearResolved(ctx context.Context, unit entity.Tag) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.ClearResolved(ctx) })
}

func (a unitAPI) SetUnitStatus(ctx context.Context, unit entity.Tag, s entity.Status) error {
	return a.on(ctx, unit, func(u *state.Unit) error { return u.SetStatus(ctx, s) })
}

func (a unitAPI) UnitStatus(ctx context.Context, unit entity.Tag) (s entity.Status, err error) {
	err = a.on(ctx, unit, func(u *state.Unit) error {
		s, err = u.Status(ctx)
		return err
	})
	return s, err
}
