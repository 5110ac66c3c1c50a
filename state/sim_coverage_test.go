package state_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
	"juju/state/simulationtest"
)

// A rowCounts counts how often each row of the lifecycle tables was used: moves
// by the operations of transactions, references when they blocked something.
// The model does not use the tables.
type rowCounts struct {
	mu   sync.Mutex
	rows map[string]int
	// The rows of this action so far: a retried transaction counts once.
	seen map[string]bool
}

func newRowCounts() *rowCounts {
	c := &rowCounts{rows: map[string]int{}, seen: map[string]bool{}}
	for _, m := range lifecycle.Moves {
		c.rows[moveRow(m)] = 0
	}
	for _, r := range lifecycle.Refs {
		c.rows[refRow(r)] = 0
	}
	for _, event := range append(simulationtest.UpgradeEvents(), simulationtest.SecretEvents()...) { // the lifecycle tables don't have these
		c.rows[event] = 0
	}
	return c
}

func moveRow(m lifecycle.Move) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s→%s by %s %s", m.Kind, m.From, m.To, m.By, m.When))
}

func refRow(r lifecycle.Ref) string { return fmt.Sprintf("%s: %s→%s", r.Name, r.From, r.To) }

// add adds the counts of another run.
func (c *rowCounts) add(o *rowCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for row, n := range o.rows {
		c.rows[row] += n
	}
}

// fewest returns the row with the lowest count.
func (c *rowCounts) fewest() (row string, n int) {
	n = -1
	for r, hits := range c.rows {
		if n < 0 || hits < n {
			row, n = r, hits
		}
	}
	return row, n
}

// lowest returns the n rows with the lowest counts.
func (c *rowCounts) lowest(n int) (rows []string) {
	for row := range c.rows {
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b string) int { return cmp.Or(c.rows[a]-c.rows[b], strings.Compare(a, b)) })
	rows = rows[:min(n, len(rows))]
	for i, row := range rows {
		rows[i] = fmt.Sprintf("%6d %s", c.rows[row], row)
	}
	return rows
}

// follow counts what happens in a model.
func (c *rowCounts) follow(m *simulationtest.Model) {
	m.Barred = c.barred
	m.Happened = func(event string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, known := c.rows[event]; !known {
			panic("unknown event: " + event)
		}
		c.rows[event]++
	}
}

// barred counts a reference that blocked something.
func (c *rowCounts) barred(from, to, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range lifecycle.Refs {
		if string(r.From) != from || string(r.To) != to {
			continue
		}
		if from == "principal" && to == "machine" && (what == "destroy") != (r.Name == "alive-units") {
			continue
		}
		c.rows[refRow(r)]++
	}
}

// see counts the moves in a transaction.
func (c *rowCounts) see(s *sim, ops []txn.Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, op := range ops {
		id, _ := op.Id.(string)
		from, known := lifeIn(op.Assert)
		to, moves := lifeIn(setOf(op.Update))
		if op.Remove {
			to, moves = entity.Gone, true
		}
		if !known || !moves || to == from {
			continue
		}
		kind, by := lifecycle.Kind(""), s.by
		switch op.C {
		case "machines":
			kind = lifecycle.Machine
			if m := s.shadow.docs["machines"][id]; by == "machine agent" && m != nil && m.Instance == "" {
				by = string(lifecycle.Provisioner)
			}
		case "units":
			kind = lifecycle.Principal
			if u := s.shadow.docs["units"][id]; u != nil && u.Principal != "" {
				kind = lifecycle.Subordinate
			}
		case "services":
			kind, by = lifecycle.Service, ""
		case "offers":
			kind = lifecycle.Offer
		case "remotes":
			kind = lifecycle.Remote
		case "relations":
			if kind = lifecycle.Relation; by != string(lifecycle.Controller) {
				by = ""
			}
		case "storage":
			kind = lifecycle.Storage
		case "attachments":
			kind = lifecycle.Attachment
		case "model":
			kind = lifecycle.Model
		}
		for _, m := range lifecycle.Moves {
			right := by == string(m.By) || by == "" && m.By != lifecycle.Controller || m.By == lifecycle.LastRef
			if m.Kind == kind && m.From == from && m.To == to && right {
				c.once(moveRow(m), op.C+id)
			}
		}
	}
}

func (c *rowCounts) once(row, id string) {
	if !c.seen[row+id] {
		c.seen[row+id] = true
		c.rows[row]++
	}
}

// next begins another action.
func (c *rowCounts) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.seen)
}

// setOf returns the $set part of an update.
func setOf(update any) any {
	d, _ := update.(bson.D)
	for _, e := range d {
		if e.Name == "$set" {
			return e.Value
		}
	}
	return nil
}

// lifeIn finds a life in an assert or an update.
func lifeIn(doc any) (entity.Life, bool) {
	d, _ := doc.(bson.D)
	for _, e := range d {
		if l, ok := e.Value.(entity.Life); ok && e.Name == "life" {
			return l, true
		}
	}
	return 0, false
}
