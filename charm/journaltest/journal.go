package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"juju/charm"
)

// An Entry is a line of a journal.
type Entry struct {
	Line   int
	Word   string // begin, end, …
	Who    string // the unit or service; "" in settled
	Args   []string
	Values map[string]string // the KEY=VALUE pairs of begin
}

// arity is the minimum and maximum number of arguments after WORD WHO.
var arity = map[string][2]int{
	"begin": {1, 1}, "ran": {1, 1}, "end": {1, 1}, "set": {2, 2}, "saw": {3, 3},
	"config": {1, 1}, "upgraded": {1, 2}, "killed": {0, 0}, "lost": {1, 1}, "resolved": {1, 1},
	"members": {1, 1 << 20}, "entered": {1, 1}, "taken": {1, 1}, "forced": {0, 0}, "gone": {0, 0},
	"retries": {1, 1}, "leads": {1, 1}, "led": {1, 1}, "stores": {0, 1 << 20}, "task": {1, 1}, "done": {1, 1},
	"queued": {1, 1}, "cancelled": {1, 1}, "dying": {0, 0},
}

var keys = []string{"relation", "remote", "departing", "version", "storage", "charm", "config", "leads",
	"claim", "at", "later"}

// Parse parses lines of a journal. number is the line number of the first.
func Parse(text string, number int) ([]Entry, error) {
	var all []Entry
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		e, err := parseLine(words)
		if err != nil {
			return nil, fmt.Errorf("line %d of the journal, %q: %w", number+i, line, err)
		}
		e.Line = number + i
		if e.Word != "ran" {
			all = append(all, e)
			continue
		}
		e.Word = "begin"
		all = append(all, e, Entry{Line: e.Line, Word: "end", Who: e.Who, Args: []string{"0"}})
	}
	return all, nil
}

func parseLine(words []string) (Entry, error) {
	e := Entry{Word: words[0]}
	if e.Word == "settled" && len(words) == 1 {
		return e, nil
	}
	bounds, ok := arity[e.Word]
	if !ok {
		return e, fmt.Errorf("unknown word %q", e.Word)
	}
	if len(words) < 2 {
		return e, errors.New("no unit or service")
	}
	e.Who, e.Args = words[1], words[2:]
	if e.Word == "begin" || e.Word == "ran" {
		e.Values = map[string]string{}
		for _, word := range words[min(3, len(words)):] {
			key, value, ok := strings.Cut(word, "=")
			if !ok || !slices.Contains(keys, key) {
				return e, fmt.Errorf("unknown key %q", key)
			}
			e.Values[key] = value
		}
		e.Args = words[2:min(3, len(words))]
	}
	if n := len(e.Args); n < bounds[0] || n > bounds[1] {
		return e, fmt.Errorf("unexpected number of arguments: %d", n)
	}
	return e, nil
}

// A hook is a run of a hook.
type hook struct {
	Entry
	kind     string // an element of charm.OriginalHooks or charm.LaterHooks
	later    bool   // kind is a later hook
	known    bool   // kind is set
	relation string
	remote   string
	storage  string

	ended       bool
	code        string
	killed      bool                 // its agent was killed after it started
	mayBeKilled bool                 // its agent may have been killed before the hook wrote begin
	task        string               // a task that started before such a hook ended
	sets        map[string]string    // relation number → value
	saw         map[[2]string]string // {relation, remote} → value
}

func newHook(e Entry) *hook {
	h := &hook{Entry: e, relation: e.Values["relation"], remote: e.Values["remote"], storage: e.Values["storage"],
		sets: map[string]string{}, saw: map[[2]string]string{}}
	names := slices.Clone(charm.OriginalHooks)
	for _, l := range charm.LaterHooks {
		names = append(names, l.Name)
	}
	for i, name := range names {
		if e.Args[0] == name || name[0] == '-' && strings.HasSuffix(e.Args[0], name) {
			h.kind, h.later, h.known = name, i >= len(charm.OriginalHooks), true
		}
	}
	return h
}

func (h *hook) String() string {
	return strings.Join(slices.DeleteFunc([]string{h.Args[0], h.relation, h.remote, h.storage},
		func(s string) bool { return s == "" }), " ")
}

// same reports whether h and o are runs of one hook, about the same relation, unit and storage.
func (h *hook) same(o *hook) bool {
	return h.Args[0] == o.Args[0] && h.relation == o.relation && h.remote == o.remote && h.storage == o.storage
}

// failed reports whether a hook that no longer runs certainly failed. A hook that exited with 0 may
// still have failed, if its agent was killed before it recorded the success.
func (h *hook) failed() bool { return !h.ended || h.code != "0" }
