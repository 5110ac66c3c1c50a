package state

import (
	"context"
	"fmt"

	"juju/state/check"
	"juju/state/entity"
)

// A view is what the rules read. Its methods know the documents of this package.
type view struct{ *check.View }

// A rule is a check.Rule for such a view.
type rule struct {
	of    string
	ids   func(v *view) []string
	judge func(v *view, id string) *check.Wrong
}

func asRules(rules []rule) []check.Rule {
	all := make([]check.Rule, len(rules))
	for i, r := range rules {
		all[i] = check.Rule{Of: r.of, Judge: func(v *check.View, id string) *check.Wrong { return r.judge(&view{v}, id) }}
		if r.ids != nil {
			all[i].IDs = func(v *check.View) []string { return r.ids(&view{v}) }
		}
	}
	return all
}

// Check looks at every record of the model for what can't be: wrong counts, references to
// documents that do not exist, unfinished transactions. It can run while others change
// the model, and does not report what is wrong only for a moment. With repair it repairs
// what it finds, and what that shows in turn, until nothing is left to repair.
func (st *State) Check(ctx context.Context, repair bool) ([]entity.Finding, error) {
	k := &check.Checker{DB: st.db, Model: st.name, Now: st.host.Now(),
		Rules: st.rules(), Fields: modelFields}
	found, err := k.Run(ctx, repair)
	if err != nil {
		return found, fmt.Errorf("cannot check model %q: %w", st.name, err)
	}
	return found, nil
}
