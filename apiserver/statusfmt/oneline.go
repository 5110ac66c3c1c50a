package statusfmt

import (
	"fmt"
	"io"
	"strings"

	"juju/apiserver/display"
	"juju/state/entity"
)

// Oneline writes a line for each unit: "- web/0: 127.0.0.2 (agent:idle, workload:active) 80/tcp". Subordinates are
// indented below their principals.
func Oneline(w io.Writer, m *entity.ModelStatus, o Options) (err error) {
	paint := func(s entity.Status) string {
		word := display.Line(string(s.Status))
		if color := colors[s.Status]; o.Color && color != "" {
			return "\x1b[" + color + "m" + word + "\x1b[0m"
		}
		return word
	}
	for _, s := range m.Services {
		visit(s.Units, 0, func(u entity.UnitStatus, depth int) {
			if err != nil {
				return
			}
			line := fmt.Sprintf("%s- %s: %s (agent:%s, workload:%s) %s", strings.Repeat("  ", depth), display.Line(u.Name),
				display.Line(u.PublicAddress),
				paint(u.Agent), paint(u.Workload), display.Line(portGroups(u.OpenedPorts)))
			_, err = fmt.Fprintln(w, strings.TrimRight(line, " "))
		})
	}
	return err
}
