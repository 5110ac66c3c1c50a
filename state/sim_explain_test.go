package state_test

import (
	"fmt"
	"maps"
	"strings"

	"juju/state/entity"
)

// checkExplain checks that state's explanations of everything that is ending match
// the model's.
func (s *sim) checkExplain() error {
	for _, key := range s.model.Ends() {
		kind, id, _ := strings.Cut(key, "#")
		tag := map[string]func(string) entity.Tag{"m": entity.MachineTag, "u": entity.UnitTag,
			"s": entity.ServiceTag, "rs": entity.ServiceTag, "o": entity.OfferTag, "st": entity.StorageTag, "r": entity.RelationTag}[kind](id)
		e, err := s.st.Explainer().Explain(s.ctx, tag)
		if err != nil {
			return fmt.Errorf("cannot explain %s: %w", key, err)
		}
		refs, by := map[string]int{}, ""
		for _, r := range e.Reasons {
			if r.Depth == 0 && r.Ref != "" {
				refs[r.Ref]++
			} else if r.Depth == 0 {
				by += r.By
			}
		}
		wantRefs, wantBy := s.model.Blockers(key)
		for name, n := range wantRefs { // long lists are cut
			wantRefs[name] = min(n, 11)
		}
		if !maps.Equal(refs, wantRefs) || by != wantBy {
			return fmt.Errorf("%s waits for %v and %q, but explain says %v and %q: %+v", key, wantRefs, wantBy, refs, by,
				e.Reasons)
		}
		if len(wantRefs) == 0 && wantBy == "" {
			return fmt.Errorf("%s waits for nothing", key)
		}
	}
	return nil
}
