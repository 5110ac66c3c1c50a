package statusfmt

import (
	"io"
	"slices"
	"strings"
	"time"

	"juju/apiserver/display"
	"juju/state/entity"
)

// Options are the options besides the format.
type Options struct {
	Controller string                 // the user's name for it
	Location   *time.Location         // time zone
	Relations  bool                   // tabular: with the table of relations
	Storage    []entity.StorageStatus // tabular, yaml and json
	Color      bool                   // tabular and oneline
	Width      int                    // tabular: of the terminal, 0 for any
	Changes    *Changes               // tabular: with marks at what has changed; nil for none
}

// A Formatter writes a model's status.
type Formatter func(w io.Writer, m *entity.ModelStatus, o Options) error

// Formats are the names of the formats, starting with the default.
var Formats = []string{"tabular", "yaml", "json", "oneline", "short", "line", "summary"}

// Find returns the formatter with that name. If there is none, the error is Invalid.
func Find(name string) (Formatter, error) {
	switch name {
	case "tabular":
		return Tabular, nil
	case "yaml":
		return YAML, nil
	case "json":
		return JSON, nil
	case "oneline", "short", "line":
		return Oneline, nil
	case "summary":
		return Summary, nil
	}
	return nil, entity.WithHint(entity.Errorf(entity.Invalid, "unknown format %q", name),
		"Valid formats: %s", strings.Join(Formats, ", "))
}

// Machines returns the formatter for tabular, yaml or json that writes only the machines.
func Machines(name string) Formatter {
	switch name {
	case "yaml":
		return func(w io.Writer, m *entity.ModelStatus, o Options) error { return writeYAML(w, machinesDocument(m, o)) }
	case "json":
		return func(w io.Writer, m *entity.ModelStatus, o Options) error { return writeJSON(w, machinesDocument(m, o)) }
	}
	return func(w io.Writer, m *entity.ModelStatus, o Options) error {
		return machineTable(m).write(w, o.Color, o.Width)
	}
}

// YAML writes everything as YAML.
func YAML(w io.Writer, m *entity.ModelStatus, o Options) error { return writeYAML(w, document(m, o)) }

// JSON writes everything as one line of JSON, with the same structure as YAML.
func JSON(w io.Writer, m *entity.ModelStatus, o Options) error { return writeJSON(w, document(m, o)) }

func writeYAML(w io.Writer, document mapping) error {
	text, err := display.YAML(document, 2)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func writeJSON(w io.Writer, document mapping) error {
	text, err := display.JSON(document)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// visit calls f with every unit, subordinates after their principals. depth is 0 for principals.
func visit(units []entity.UnitStatus, depth int, f func(u entity.UnitStatus, depth int)) {
	for _, u := range units {
		f(u, depth)
		visit(u.Subordinates, depth+1, f)
	}
}

// allUnits returns every unit once. Subordinates come after their principals.
func allUnits(m *entity.ModelStatus) (all []entity.UnitStatus) {
	for _, s := range m.Services {
		visit(s.Units, 0, func(u entity.UnitStatus, _ int) { all = append(all, u) })
	}
	return all
}

// portTexts returns the ports of a unit in the form "80/tcp", for programs.
func portTexts(u entity.UnitStatus) []string {
	texts := make([]string, len(u.OpenedPorts))
	for i, p := range u.OpenedPorts {
		texts[i] = p.String()
	}
	return texts
}

// portGroups returns ports for people: those of a protocol together, adjacent ones as a range, as in
// "80,443,8000-8010/tcp 53/udp".
func portGroups(ports []entity.PortRange) string {
	ports = slices.Clone(ports)
	slices.SortFunc(ports, entity.ComparePorts)
	var merged []entity.PortRange
	for _, p := range ports {
		last := len(merged) - 1
		if last >= 0 && merged[last].Protocol == p.Protocol && p.From <= merged[last].To+1 {
			merged[last].To = max(merged[last].To, p.To)
		} else {
			merged = append(merged, p)
		}
	}
	text := ""
	for i, p := range merged {
		ports, protocol, _ := strings.Cut(p.String(), "/")
		switch {
		case i == 0:
		case merged[i-1].Protocol == p.Protocol:
			text += ","
		default:
			text += " "
		}
		text += ports
		if last := i == len(merged)-1 || merged[i+1].Protocol != p.Protocol; last && protocol != "" {
			text += "/" + protocol
		}
	}
	return text
}

// charmName splits a charm's URL: "local:jammy/web-3" is web, 3.
func charmName(url string) (name, revision string) {
	name = url[strings.LastIndexAny(url, ":/")+1:]
	if i := strings.LastIndexByte(name, '-'); i >= 0 && isNumber(name[i+1:]) {
		return name[:i], name[i+1:]
	}
	return name, ""
}

func isNumber(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || '9' < r })
}
