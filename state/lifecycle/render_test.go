package lifecycle

import (
	"fmt"
	"strings"
)

// renderTables renders the tables as Markdown for doc/lifecycles.md.
func renderTables() string {
	var b strings.Builder
	b.WriteString("## Moves\n\n| kind | from | to | moved by | when |\n|---|---|---|---|---|\n")
	for _, m := range Moves {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", m.Kind, m.From, m.To, m.By, m.When)
	}
	b.WriteString("\n## References\n\n" +
		"| source | target | keeps the target from being | when the target is destroyed, the source | by |\n" +
		"|---|---|---|---|---|\n")
	for _, r := range Refs {
		var by []string
		for _, a := range r.By {
			by = append(by, string(a))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.From, r.To, r.Bars, verbs[r.Then], strings.Join(by, ", "))
	}
	b.WriteString("\n## Kinds\n\n" +
		"| kind | collection | owns the document with id | in collection | present |\n|---|---|---|---|---|\n")
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

// verbs has the texts for the verbs in the table.
var verbs = map[Verb]string{
	Refuse:  "bars it; by force, is destroyed too",
	Await:   "is awaited",
	Destroy: "is destroyed too",
	Leave:   "leaves the scope",
}
