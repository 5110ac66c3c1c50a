package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"
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

// kindWords are the words for the kinds of deltas.
var kindWords = map[string]string{"application": "service", "remoteApplication": "service of another model", "applicationOffer": "offer",
	"action": "task"}

func wordFor(kind string) string { return cmp.Or(kindWords[kind], kind) }

// An observed is a part of a model as a delta brings it.
type observed struct {
	kind, key string
	was, now  part
	known     bool // it was there before
	removed   bool
	whole     bool // the model is read as a whole
}

// note remembers how a part has changed. A model that is read as a whole shows no changes, but since when things are as they
// are.
func (c *changes) note(o observed) {
	kind, was, now, known, removed, whole := o.kind, o.was, o.now, o.known, o.removed, o.whole
	word := wordFor(kind)
	add := func(at time.Time, health Health, text string) {
		if at.IsZero() {
			at = time.Now()
		}
		i := len(*c)
		if whole {
			i, _ = slices.BinarySearchFunc(*c, at, func(one Change, at time.Time) int { return one.At.Compare(at) })
		}
		*c = slices.Insert(*c, i, Change{At: at, Kind: word, Name: o.key, Text: text, Health: health})
		*c = slices.Delete(*c, 0, max(0, len(*c)-maxChanges))
	}
	statuses := []struct {
		of       string
		was, now status
	}{{"", was.Status, now.Status}, {"", was.Workload, now.Workload}, {"agent", was.Agent, now.Agent}, {"instance", was.Instance, now.Instance}}
	switch {
	case kind == "annotation" || kind == "charm" || kind == "model":
		return
	case kind == "action":
		if !removed && !whole {
			add(time.Time{}, healthOf(now.Status), strings.TrimSpace(now.Name+" on "+now.Receiver+": "+now.Status.Current+" "+now.Message))
		}
		return
	case removed:
		statuses = nil
		add(time.Time{}, Unknown, "removed")
	case !known && !whole:
		add(time.Time{}, Unknown, "added")
	}
	if now.isDying() && !was.isDying() && !removed {
		add(time.Time{}, Working, "is being removed")
	}
	if known && now.Charm != was.Charm && now.Charm != "" {
		add(time.Time{}, Unknown, "charm "+now.Charm)
	}
	for _, s := range statuses {
		if s.now.Current == "" || s.now.Current == s.was.Current && s.now.Message == s.was.Message {
			continue
		}
		text := strings.TrimSpace(s.of + " " + s.now.Current)
		if s.now.Message != "" {
			text += ": " + s.now.Message
		}
		add(s.now.Since, healthOf(s.now), text)
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
