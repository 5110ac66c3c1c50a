package dashboard

import (
	"slices"
	"strings"
	"time"

	"juju/state/entity"
)

// A Change is something that has changed in a model, as a line of the page of events.
type Change struct {
	At     time.Time
	Kind   string // "unit"
	Name   string
	Text   string
	Health Health // Unknown if it has nothing to do with it
}

// Path returns where the page of what has changed is, below that of the model; "" if there is none.
func (c Change) Path() string { return pagePath(c.Kind, c.Name) }

func pagePath(kind, name string) string {
	switch kind {
	case "unit", "machine", "service", "operation":
		return kind + "/" + name
	}
	return ""
}

// maxChanges is how many changes a mirror remembers.
const maxChanges = 500

// changes are the last changes of a model, the oldest first.
type changes []Change

// An observed is a part of a model as it has changed.
type observed struct {
	was, now part
	known    bool // it was there before
	removed  bool
	whole    bool // the model is read as a whole
}

// note remembers how a part has changed. A model that is read as a whole shows no changes, but since when things are as they
// are.
func (c *changes) note(o observed) {
	was, now, known, removed, whole := o.was, o.now, o.known, o.removed, o.whole
	add := func(at time.Time, health Health, text string) {
		if at.IsZero() {
			at = time.Now()
		}
		i := len(*c)
		if whole {
			i, _ = slices.BinarySearchFunc(*c, at, func(one Change, at time.Time) int { return one.At.Compare(at) })
		}
		*c = slices.Insert(*c, i, Change{At: at, Kind: kindWords[now.Key.Kind], Name: now.name(), Text: text, Health: health})
		*c = slices.Delete(*c, 0, max(0, len(*c)-maxChanges))
	}
	switch t := now.Task; {
	case now.Annotations != nil || now.Charm != nil || now.Model != nil:
		return
	case t != nil:
		if !removed && !whole {
			add(time.Time{}, healthOf(entity.StatusWord(t.Status)), strings.TrimSpace(t.Name+" on "+t.Receiver+": "+string(t.Status)+" "+t.Message))
		}
		return
	case removed:
		add(time.Time{}, Unknown, "removed")
		return
	case !known && !whole:
		add(time.Time{}, Unknown, "added")
	}
	if now.isDying() && !was.isDying() {
		add(time.Time{}, Working, "is being removed")
	}
	if known && now.charm() != was.charm() && now.charm() != "" {
		add(time.Time{}, Unknown, "charm "+now.charm())
	}
	before := was.statuses()
	for i, s := range now.statuses() {
		if s.Status.Status == "" || known && s.Status.Status == before[i].Status.Status && s.Message == before[i].Message {
			continue
		}
		text := strings.TrimSpace(s.of + " " + string(s.Status.Status))
		if s.Message != "" {
			text += ": " + s.Message
		}
		add(s.Since, healthOf(s.Status.Status), text)
	}
}

// Changes returns the last changes, the newest first.
func (m *Mirror) Changes() List[Change] {
	m.mu.RLock()
	defer m.mu.RUnlock()
	l := List[Change]{Rows: slices.Clone(m.changes)}
	slices.Reverse(l.Rows)
	return l
}
