package state

import (
	"context"
	"encoding/json"
	"fmt"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/internal/modelcheck"
	"juju/state/internal/modeldb"
)

// Check checks all documents of the model for inconsistencies: wrong counts, dangling references, unfinished
// transactions. It can run while others change the model, and ignores transient inconsistencies. With repair it repairs
// what it finds, and what that uncovers, until nothing is left to repair.
func (st *State) Check(ctx context.Context, repair bool) ([]entity.Finding, error) {
	rules := modelcheck.Outside{UUID: st.db.UUID, Leases: st.host.Leases, Archives: st.host.Archives,
		Made: func() (modeldb.Model, error) {
			made, err := st.host.Made()
			return made.doc(), err
		},
		EndLease: func(ctx context.Context, service string) error {
			_, err := st.leadership().EndLease(ctx, service)
			return err
		}}.Rules()
	k := &check.Checker{DB: st.db.Database, Model: st.db.Name, Now: st.host.Now(),
		Rules: append(rules, st.host.Form.Rule()), Fields: modelcheck.Fields}
	found, err := k.Run(ctx, repair)
	if err != nil {
		return found, fmt.Errorf("cannot check model %q: %w", st.db.Name, err)
	}
	return found, nil
}

// Dump returns every document of the model: see mongo.Database.Dump.
func (st *State) Dump(ctx context.Context) (map[string][]json.RawMessage, error) {
	return st.db.Dump(ctx)
}
