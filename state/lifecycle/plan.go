package lifecycle

import (
	"slices"

	"juju/state/entity"
)

// A Goal is how far an actor wants to move an entity.
type Goal string

// The goals. ToDestroy starts the removal of an entity and takes it as far as nothing bars it. ToDead records
// that its work is done. ToRemove removes it from state.
const (
	ToDestroy Goal = "destroy"
	ToDead    Goal = "ensure dead"
	ToRemove  Goal = "remove"
)

// Facts describe an entity to Plan.
type Facts struct {
	Life    entity.Life
	Guards  []Guard        // the guards that hold
	Holders map[string]int // the number of sources, by name of the reference
}

func (f Facts) holds(g Guard) bool { return g == Unguarded || slices.Contains(f.Guards, g) }

// A Step is the result of Plan. The transaction that makes Move must assert that the life is Move.From, that Move.When
// holds, that no reference in None has a source, and that the one in Some, if any, has one. Otherwise a different move
// would be correct.
type Step struct {
	Move Move
	None []Ref
	Some []Ref // at most one
}

// Nothing reports whether there is nothing to do: the entity is already at the goal.
func (s Step) Nothing() bool { return s.Move == Move{} }

// Barred is the error of Plan if no move is possible: because of a reference; or if Ref is zero, because a guard does not
// hold; or if Guard is empty too, because the actor has no such move.
type Barred struct {
	Ref   Ref
	Guard Guard
	Kind  Kind
	Life  entity.Life
	By    Actor
}

// Error returns a text for logs. State writes the errors for users, because it knows the names.
func (b *Barred) Error() string {
	switch {
	case b.Ref.Name != "":
		return "barred by " + b.Ref.Name
	case b.Guard != "":
		return "barred unless " + string(b.Guard)
	}
	return string(b.By) + " can't move a " + string(b.Kind) + " that is " + b.Life.String()
}

// Is makes a Barred an entity.InUse if a reference bars the plan, and otherwise an entity.Invalid.
func (b *Barred) Is(target error) bool {
	if b.Ref.Name != "" {
		return target == entity.InUse
	}
	return target == entity.Invalid
}

// Plan returns the farthest move toward the goal that the actor may make and that no guard or reference bars. The Step is
// empty if the entity is already at the goal; the error is a *Barred if no move is possible.
func Plan(kind Kind, goal Goal, by Actor, facts Facts) (Step, error) {
	if reached(goal, facts.Life) {
		return Step{}, nil
	}
	var (
		step   Step
		barred *Barred
	)
	for _, m := range movesToward(kind, goal, by, facts.Life) {
		if !facts.holds(m.When) {
			barred = &Barred{Guard: m.When, Kind: kind, Life: facts.Life, By: by}
			continue
		}
		barring := facts.bars(kind, m.To)
		if ref, ok := firstOf(barring, facts.Holders); ok {
			step.Some = []Ref{ref}
			barred = &Barred{Ref: ref, Kind: kind, Life: facts.Life, By: by}
			continue
		}
		step.Move = m
		step.None = barring
		return step, nil
	}
	if barred == nil {
		barred = &Barred{Kind: kind, Life: facts.Life, By: by}
	}
	return Step{}, barred
}

func reached(goal Goal, life entity.Life) bool {
	switch goal {
	case ToDestroy:
		return life != entity.Alive
	case ToDead:
		return life >= entity.Dead
	}
	return life == entity.Gone
}

// movesToward returns the actor's moves from a life toward a goal, farthest first.
func movesToward(kind Kind, goal Goal, by Actor, life entity.Life) []Move {
	var found []Move
	for _, m := range Moves {
		fits := m.Kind == kind && m.By == by && m.From == life
		switch goal {
		case ToDead:
			fits = fits && m.To == entity.Dead
		case ToRemove:
			fits = fits && m.To == entity.Gone
		}
		if fits {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b Move) int { return int(b.To) - int(a.To) })
	return found
}

// bars returns the references that keep an entity with these facts from reaching a life. Force destroys the
// sources that refuse a plain destruction, so those don't bar a forced one.
func (f Facts) bars(kind Kind, to entity.Life) []Ref {
	all := Bars(kind, to)
	if to == entity.Dying && f.holds(Forced) {
		all = slices.DeleteFunc(all, func(r Ref) bool { return r.Then == Refuse })
	}
	return all
}

func firstOf(refs []Ref, holders map[string]int) (Ref, bool) {
	for _, r := range refs {
		if holders[r.Name] > 0 {
			return r, true
		}
	}
	return Ref{}, false
}

// May reports whether an actor has a move from a life toward a goal, regardless of guards.
func May(kind Kind, goal Goal, by Actor, from entity.Life) bool {
	return len(movesToward(kind, goal, by, from)) > 0
}
