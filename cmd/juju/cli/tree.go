package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"juju/apiserver/display"
)

// An Awaited is one of the things that a command waits for.
type Awaited struct {
	Name string // stays whole, however narrow the terminal is
	Text string // what it does now
	Done bool
	Late bool // shown only if it was shown before
}

// A tree grows while a command waits: below each thing that is awaited are the steps that it has taken, as far as they
// were seen. Or it has one root, with a title.
type tree struct {
	title string
	nodes []*node
}

type node struct {
	name  string
	steps []step // the last is the current one, unless done
	done  bool
	began time.Time
	ended time.Time
}

type step struct {
	text         string
	began, ended time.Time
}

// begin begins the next step of a tree with a title.
func (t *tree) begin(text string, now time.Time) {
	t.finish(now)
	t.nodes = append(t.nodes, &node{steps: []step{{text: text, began: now}}, began: now})
}

// finish ends all steps.
func (t *tree) finish(now time.Time) {
	for _, n := range t.nodes {
		n.finish(now)
	}
}

func (n *node) finish(now time.Time) {
	if !n.done {
		n.done, n.ended = true, now
	}
}

// update adds what the awaited things do now. Those that are no longer there are removed.
func (t *tree) update(all []Awaited, now time.Time) {
	for _, a := range all {
		name, text := display.Line(a.Name), display.Line(a.Text)
		i := slices.IndexFunc(t.nodes, func(n *node) bool { return n.name == name })
		if i < 0 {
			if a.Late {
				continue
			}
			i = len(t.nodes)
			t.nodes = append(t.nodes, &node{name: name, began: now})
		}
		n := t.nodes[i]
		if n.done && !a.Done {
			n.done, n.steps = false, n.steps[:len(n.steps)-1] // it goes on
		}
		n.do(text, now)
		if a.Done {
			n.finish(now)
		}
	}
	for _, n := range t.nodes {
		if !n.done && !slices.ContainsFunc(all, func(a Awaited) bool { return display.Line(a.Name) == n.name }) {
			n.do("removed", now)
			n.finish(now)
		}
	}
}

// do adds what a node does now. If that is what it did before its last step, that step was an interruption.
func (n *node) do(text string, now time.Time) {
	last := len(n.steps) - 1
	switch {
	case last >= 0 && n.steps[last].text == text:
		return
	case last >= 1 && n.steps[last-1].text == text:
		n.steps = n.steps[:last]
		return
	case last >= 0:
		n.steps[last].ended = now
	}
	n.steps = append(n.steps, step{text: text, began: now})
}

// pastSteps is how many past steps are shown of what is not done yet.
const pastSteps = 3

// head returns the first line.
func (t *tree) head() string {
	if t.title != "" {
		return t.title
	}
	left := 0
	for _, n := range t.nodes {
		if !n.done {
			left++
		}
	}
	if len(t.nodes) == 1 {
		return "Waiting"
	}
	return fmt.Sprintf("Waiting for %d of %d", left, len(t.nodes))
}

// maxLines is how many lines of a tree are shown where there is room.
const maxLines = 16

// lines returns the lines below the head. Where there are too many, past steps go first, then what is done.
func (t *tree) lines(v view) []string {
	room := max(min(v.height-4, maxLines), 1)
	lines := t.all(v, t.nodes, pastSteps)
	if len(lines) <= room {
		return lines
	}
	if lines = t.all(v, t.nodes, 0); len(lines) <= room {
		return lines
	}
	var left []*node
	for _, n := range t.nodes {
		if !n.done {
			left = append(left, n)
		}
	}
	lines = nil
	for i, n := range left {
		if more := n.lines(v, 0, false); len(lines)+len(more)+1 <= room {
			lines = append(lines, more...)
			continue
		}
		return append(lines, "└─ … "+others(len(left)-i, "waiting")+comma(len(t.nodes)-len(left)))
	}
	return append(lines, "└─ "+v.paint(mark, display.Green)+others(len(t.nodes)-len(left), "done"))
}

func others(n int, what string) string { return fmt.Sprintf("%d more %s", n, what) }

func comma(done int) string {
	if done == 0 {
		return ""
	}
	return fmt.Sprintf(", %d done", done)
}

func (t *tree) all(v view, nodes []*node, past int) (lines []string) {
	for i, n := range nodes {
		lines = append(lines, n.lines(v, past, i == len(nodes)-1)...)
	}
	return lines
}

// result returns what stays on the terminal when the wait is over: what was awaited, and how long that took.
func (t *tree) result(v view) []string {
	for _, n := range t.nodes { // only the last of the steps stays
		n.steps = n.steps[max(len(n.steps)-1, 0):]
	}
	if t.title == "" && !slices.ContainsFunc(t.nodes, func(n *node) bool { return !n.done }) {
		v.flat = true
		return t.lines(v)
	}
	return append(broken(v.title, v.width), t.lines(v)...)
}

const (
	mark   = "✓ " // of what is done
	unmark = "· "
)

// lines returns the lines of a node: what it does now, and up to a number of past steps below. Its name stays whole.
func (n *node) lines(v view, past int, last bool) (lines []string) {
	branch, stem := "├─ ", "│  "
	switch {
	case v.flat:
		branch, stem = "", ""
	case last:
		branch, stem = "└─ ", "   "
	}
	sign, end := unmark, v.now
	if n.done {
		sign, end, past = mark, n.ended, 0
	}
	text, began := "", n.began
	if k := len(n.steps) - 1; k >= 0 {
		text = n.steps[k].text
		if !n.done {
			began = n.steps[k].began
		}
		if !n.done && n.name == "" {
			text += v.count
		}
	}
	lines = entry{branch + sign, stem + "  ", n.name, text, timed(end.Sub(began))}.fitted(v.width, n.done)
	if n.done {
		lines[0] = branch + v.paint(mark, display.Green) + strings.TrimPrefix(lines[0], branch+sign)
	}
	before := n.steps[:max(len(n.steps)-1, 0)]
	before = before[max(len(before)-past, 0):]
	for i, s := range before {
		branch := "├─ "
		if i == len(before)-1 {
			branch = "└─ "
		}
		more := entry{first: stem + branch + mark, text: strings.TrimPrefix(s.text, "running "), took: timed(s.ended.Sub(s.began))}.fitted(v.width, true)
		lines = append(lines, v.paint(more[0], display.Dim))
	}
	return lines
}

// timed is lasted, or nothing for what took less than a second.
func timed(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return lasted(d)
}

// cut returns the words of a text that fit into a number of columns, so that no name loses its end.
func cut(text string, columns int) string {
	short := display.Cut(text, max(columns-1, 1))
	if i := strings.LastIndexByte(short, ' '); i > 0 && len(short) < len(text) && text[len(short)] != ' ' {
		short = short[:i]
	}
	return strings.TrimRight(short, " ") + "…"
}

// minText is the fewest columns that are worth a text on the line of its name.
const minText = 12

// An entry is a name, a text and a time, after what stands before its first line and the next ones.
type entry struct{ first, next, name, text, took string }

// fitted returns the entry in lines of a width. The name is never cut; a text is cut on one line if it is short, or else broken
// between words.
func (e entry) fitted(width int, short bool) []string {
	first, next, name, text, took := e.first, e.next, e.name, e.text, e.took
	head := first + name
	if name != "" && text != "" {
		head += " "
	}
	room := width - display.Width(head)
	if display.Width(text+took) <= room {
		return []string{head + text + took}
	}
	if short {
		room -= display.Width(took)
		if name != "" && room < minText {
			return []string{first + name + took}
		}
		return []string{head + cut(text, room) + took}
	}
	var lines []string
	if name != "" && room < minText {
		lines, room = []string{first + name}, width-display.Width(next)
		head = next
	}
	// The first line has less room: the head stands for as many columns, which no word may fill.
	words := broken(text+took, max(min(room, width-display.Width(next)), minText))
	for i, line := range words {
		if i == 0 {
			lines = append(lines, head+line)
		} else {
			lines = append(lines, next+line)
		}
	}
	return lines
}
