package dashboard

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/lifecycle"
)

// Waits is the page of what waits: everything in a model that waits for something, and for what.
type Waits struct {
	All  []entity.Explanation
	More int // that are not shown
}

func waitsPage(ctx context.Context, v Visit) (any, error) {
	all, more, err := explainAll(ctx, v)
	// What a user must do stands before what the system does.
	slices.SortStableFunc(all, func(a, b entity.Explanation) int { return urgency(a) - urgency(b) })
	return &Waits{all, more}, err
}

// explainAll returns everything in a model that waits, and how much more there is.
func explainAll(ctx context.Context, v Visit) (all []entity.Explanation, more int, err error) {
	err = v.call(ctx, func(api *client.Conn) error {
		all, more, err = api.Explain(ctx)
		return err
	})
	return all, more, err
}

// explain returns what an entity waits for; nothing if there is nothing to say.
func explain(ctx context.Context, api *client.Conn, name string) ([]entity.Explanation, error) {
	all, _, err := api.Explain(ctx, name)
	return slices.DeleteFunc(all, func(e entity.Explanation) bool {
		return e.Life == entity.Alive && len(e.Reasons)+len(e.Refusals)+len(e.Leftovers) == 0
	}), err
}

// urgency is 0 if a user must act, and 1 if not.
func urgency(e entity.Explanation) int {
	for _, r := range e.Reasons {
		if r.By == entity.ByUser {
			return 0
		}
	}
	return 1
}

// A Way is something that a user can do about what waits.
type Way struct {
	Text string // "skip it"
	Line string // the command, without "juju"; "" if it is none that can be copied as it is
	Runs bool   // pages can run it
}

var (
	hintLine    = regexp.MustCompile(`^[a-z][a-z-]*( [A-Za-z0-9/._:#=*-]+)*$`)
	placeholder = regexp.MustCompile(`\b[A-Z]{2,}\b`)
)

// elsewhere are the commands that need a terminal, or only show what pages do.
var elsewhere = []string{"debug-log", "ssh", "status", "bootstrap", "register"}

// waysOf returns the ways that a hint names: "skip it: juju resolved --no-retry web/0; …".
func waysOf(hint string) []Way {
	var ways []Way
	for _, part := range strings.Split(hint, "; ") {
		text, line, ok := strings.Cut(part, "juju ")
		verb, _, _ := strings.Cut(line, " ")
		if !ok || !hintLine.MatchString(line) {
			ways = append(ways, Way{Text: part})
			continue
		}
		ways = append(ways, Way{Text: strings.TrimSuffix(strings.TrimSpace(text), ":"), Line: line,
			Runs: !slices.Contains(elsewhere, verb) && !placeholder.MatchString(line)})
	}
	return ways
}

// whoActs returns who must act, as people name it.
func whoActs(by string) string {
	switch t, err := entity.ParseTag(by); {
	case by == entity.ByUser:
		return "you must act"
	case err == nil:
		return "the agent of " + string(t.Kind) + " " + t.ID + " acts"
	}
	return "the " + by + " acts"
}

// Removals is the page of what is being removed.
type Removals struct {
	Rows []Removal
	More int
}

// A Removal is an entity that is being removed, with the steps of its life.
type Removal struct {
	entity.Explanation
	Steps []Step
}

// A Step is a life that an entity has had, has, or will have.
type Step struct {
	Life string
	Done bool // it has been left
	Here bool
	By   []Mover // who takes it to the next one; none of a step that is done
}

// A Mover is who makes a move, and when.
type Mover struct{ Who, When string }

func removalsPage(ctx context.Context, v Visit) (any, error) {
	all, more, err := explainAll(ctx, v)
	page := &Removals{More: more}
	for _, e := range all {
		if e.Life == entity.Dying || e.Life == entity.Dead {
			page.Rows = append(page.Rows, Removal{e, steps(v.Mirror.kindOf(e.Tag), e)})
		}
	}
	return page, err
}

// kindOf returns the kind of an entity in the tables of lifecycles.
func (m *Mirror) kindOf(tag string) lifecycle.Kind {
	t, _ := entity.ParseTag(tag)
	switch t.Kind {
	case entity.KindUnit:
		if p, _ := m.part(entity.PartUnit, t.ID); p.Unit != nil && p.Unit.Principal != "" {
			return lifecycle.Subordinate
		}
		return lifecycle.Principal
	case entity.KindMachine:
		return lifecycle.Machine
	case entity.KindRelation:
		return lifecycle.Relation
	case entity.KindStorage:
		return lifecycle.Storage
	case entity.KindService:
		if _, err := m.part(entity.PartService, t.ID); err != nil {
			return lifecycle.Remote
		}
		return lifecycle.Service
	case entity.KindModel:
		return lifecycle.Model
	}
	return lifecycle.Kind(t.Kind)
}

// mover says who makes a move.
func mover(by lifecycle.Actor) string {
	if by == lifecycle.LastRef {
		return "once nothing refers to it"
	}
	return "by the " + string(by)
}

// steps returns the lives of an entity, as the table of moves has them.
func steps(kind lifecycle.Kind, e entity.Explanation) []Step {
	all := []Step{{Life: entity.Alive.String(), Done: true}}
	at := entity.Dying
	for at != entity.Gone {
		s := Step{Life: at.String(), Done: at < e.Life, Here: at == e.Life}
		next := entity.Gone
		for _, m := range lifecycle.Moves {
			if m.Kind != kind || m.From != at || m.When == lifecycle.Forced && e.Strength != entity.Force {
				continue
			}
			next = min(next, m.To)
			if !s.Done {
				s.By = append(s.By, Mover{mover(m.By), string(m.When)})
			}
		}
		all = append(all, s)
		at = next
	}
	return append(all, Step{Life: "removed"})
}
