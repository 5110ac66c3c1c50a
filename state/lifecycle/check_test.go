package lifecycle

import (
	"fmt"

	"juju/state/entity"
)

// checkTables returns the errors in the tables of moves and references: a move that is backward or
// duplicated; a life that no move leaves; a kind that is never removed; and a reference that has no
// actor or collection, whose target has no moves, or that bars being alive.
func checkTables(moves []Move, refs []Ref) []error {
	var wrong []error
	seen := map[Move]bool{}
	leaves := map[Kind]map[entity.Life]bool{}
	arrives := map[Kind]map[entity.Life]bool{}
	for _, m := range moves {
		if m.To <= m.From {
			wrong = append(wrong, fmt.Errorf("%s goes back from %s to %s", m.Kind, m.From, m.To))
		}
		if seen[m] {
			wrong = append(wrong, fmt.Errorf("%s from %s to %s by %s is duplicated", m.Kind, m.From, m.To, m.By))
		}
		seen[m] = true
		if leaves[m.Kind] == nil {
			leaves[m.Kind], arrives[m.Kind] = map[entity.Life]bool{}, map[entity.Life]bool{entity.Alive: true}
		}
		leaves[m.Kind][m.From] = true
		arrives[m.Kind][m.To] = true
	}
	for kind, lives := range arrives {
		for life := range lives {
			if life != entity.Gone && !leaves[kind][life] {
				wrong = append(wrong, fmt.Errorf("no move leaves the life %s of a %s", life, kind))
			}
		}
		if !lives[entity.Gone] {
			wrong = append(wrong, fmt.Errorf("a %s is never removed", kind))
		}
	}
	for _, r := range refs {
		if leaves[r.To] == nil {
			wrong = append(wrong, fmt.Errorf("reference %s→%s: no moves for %s", r.From, r.To, r.To))
		}
		if len(r.By) == 0 {
			wrong = append(wrong, fmt.Errorf("reference %s→%s: no actor does %s", r.From, r.To, r.Then))
		}
		if r.In == "" {
			wrong = append(wrong, fmt.Errorf("reference %s→%s: no collection", r.From, r.To))
		}
		if r.Bars == entity.Alive {
			wrong = append(wrong, fmt.Errorf("reference %s→%s bars being alive", r.From, r.To))
		}
	}
	return wrong
}
