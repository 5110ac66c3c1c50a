package apiserver

import (
	"context"
	"errors"
	"testing"

	"juju/state/entity"
)

// While a controller is not sure that it may, it executes no request.
func TestARequestIsNotExecutedByAnUnsteadyController(t *testing.T) {
	var steady error
	w := newWorld(t, func(c *Config) { c.Steady = func(context.Context) error { return steady } })
	admin := w.dial(w.adminInfo(""))
	_, err := admin.ModelSummaries(t.Context())
	w.ok(err)
	steady = entity.Errorf(entity.Unavailable, "it was paused")
	if _, err := admin.ModelSummaries(t.Context()); !errors.Is(err, entity.Unavailable) {
		t.Errorf("it is executed: %v", err)
	}
	steady = nil
	_, err = admin.ModelSummaries(t.Context())
	w.ok(err)
}
