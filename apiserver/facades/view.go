package facades

import (
	"bytes"
	"context"
	"time"

	"juju/apiserver/deltas"
	"juju/apiserver/display"
	"juju/apiserver/params"
	"juju/apiserver/statusfmt"
	"juju/state"
)

// A View reads a model for whoever may read it, and nothing else: it sees no more of the controller than any reader does.
type View struct{ caller *Caller }

// NewView returns the view of a model.
func NewView(b *Backend, model *state.State) View {
	return View{&Caller{Identity: Identity{Roles: Reader}, Backend: b, Model: model}}
}

// Status returns the model's status, as `juju status --utc --format json` prints it.
func (v View) Status(ctx context.Context) ([]byte, error) {
	status, err := statusOf(ctx, v.caller, nil)
	if err != nil {
		return nil, err
	}
	storage, err := v.caller.Model.StorageStatus(ctx)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = statusfmt.JSON(&text, status, statusfmt.Options{Controller: v.caller.Controller.Name(), Location: time.UTC, Storage: storage})
	return text.Bytes(), err
}

// Explain returns what an entity, or with "" the model, is waiting for, as `juju explain --format json` prints it. more is
// how many entities beyond the limit are waiting.
func (v View) Explain(ctx context.Context, name string) (text []byte, more int, err error) {
	var p params.Explain
	if name != "" {
		p.Words = []string{name}
	}
	results, err := explain(ctx, v.caller, p)
	if err == nil {
		text, err = display.JSON(results.Explanations)
	}
	return text, results.More, err
}

// Follow is deltas.Feeds.Resume for the model.
func (v View) Follow(ctx context.Context, revision string) (<-chan deltas.Take, error) {
	model, err := v.caller.deltaModel(ctx)
	if err != nil {
		return nil, err
	}
	return v.caller.Deltas.Resume(ctx, v.caller.Model, model, revision)
}

// Watch is deltas.Feeds.Watch for the model.
func (v View) Watch(ctx context.Context) (<-chan deltas.Take, error) {
	model, err := v.caller.deltaModel(ctx)
	if err != nil {
		return nil, err
	}
	return v.caller.Deltas.Watch(ctx, v.caller.Model, model)
}
