package modelcheck

import (
	"juju/state/check"
)

// A view is what the rules read. Its methods know this package's documents.
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
