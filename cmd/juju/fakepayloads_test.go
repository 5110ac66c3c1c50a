package main

import (
	"context"

	"juju/state/entity"
)

func (f *fakeModel) Payloads(_ context.Context, patterns []string) ([]entity.UnitPayload, error) {
	return f.payloads, f.note("Payloads", patterns)
}
