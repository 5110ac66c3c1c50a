package lifecycle

import (
	"fmt"
	"strings"
)

// Render writes the tables as Markdown, for doc/lifecycles.md.
func Render() string {
	var b strings.Builder
	b.WriteString("## Moves\n\n| a | goes from | to | by the hand of | when |\n|---|---|---|---|---|\n")
	for _, m := range Moves {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", m.Kind, m.From, m.To, m.By, m.When)
	}
	b.WriteString("\n## References\n\n| while a | refers to a | that can't be | and when that is destroyed, it | by the hand of |\n|---|---|---|---|---|\n")
	for _, r := range Refs {
		var by []string
		for _, a := range r.By {
			by = append(by, string(a))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.From, r.To, r.Bars, verbs[r.Then], strings.Join(by, ", "))
	}
	b.WriteString("\n## Documents\n\n| a | is stored in | and owns, by the form of the id | in | which it has |\n|---|---|---|---|---|\n")
	for _, r := range Kinds {
		if len(r.Owns) == 0 {
			fmt.Fprintf(&b, "| %s | %s | | | |\n", r.Kind, r.In)
		}
		for _, d := range r.Owns {
			fmt.Fprintf(&b, "| %s | %s | %s%s | %s | %s |\n", r.Kind, r.In, d.ID, d.Suffix, d.In, d.Held)
		}
	}
	return b.String()
}

// verbs says what a verb does, in a table.
var verbs = map[Verb]string{
	Refuse:  "refuses that; by force, is destroyed too",
	Await:   "is waited for",
	Destroy: "is destroyed too",
	Leave:   "leaves",
}
