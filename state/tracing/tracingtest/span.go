package tracingtest

import (
	"fmt"
	"slices"
	"strings"
)

// A Span is a span that was exported. The ids are in hex.
type Span struct {
	Service           string
	Name              string
	Trace, ID, Parent string   // Parent is "" for the first span of a trace
	Links             []string // ids of spans
	Events            []string // names
	Attributes        map[string]string
	Failed            bool
}

// Find returns the first span with a name that begins so and whose attributes have these values, key=value.
func Find(spans []Span, name string, attributes ...string) (Span, bool) {
	i := slices.IndexFunc(spans, func(s Span) bool {
		return strings.HasPrefix(s.Name, name) && !slices.ContainsFunc(attributes, func(a string) bool {
			key, value, _ := strings.Cut(a, "=")
			return s.Attributes[key] != value
		})
	})
	if i < 0 {
		return Span{}, false
	}
	return spans[i], true
}

// Above returns the names of the spans above one, the nearest first.
func Above(spans []Span, s Span) (names []string) {
	for s.Parent != "" {
		i := slices.IndexFunc(spans, func(p Span) bool { return p.ID == s.Parent && p.Trace == s.Trace })
		if i < 0 {
			return append(names, "?")
		}
		s = spans[i]
		names = append(names, s.Name)
	}
	return names
}

// Tree draws a trace: a line for each span, with its program and attributes, indented below its parent.
func Tree(spans []Span, trace string) string {
	var b strings.Builder
	var draw func(parent, indent string)
	draw = func(parent, indent string) {
		for _, s := range spans {
			if s.Trace != trace || s.Parent != parent {
				continue
			}
			var about []string
			for key, value := range s.Attributes {
				about = append(about, key+"="+value)
			}
			slices.Sort(about)
			fmt.Fprintf(&b, "%s%s: %s %s", indent, s.Service, s.Name, strings.Join(about, " "))
			for _, event := range s.Events {
				fmt.Fprintf(&b, " (%s)", event)
			}
			b.WriteByte('\n')
			draw(s.ID, indent+"  ")
		}
	}
	draw("", "")
	return b.String()
}
