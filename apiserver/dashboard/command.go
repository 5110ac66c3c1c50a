package dashboard

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"juju/charm/safeyaml"
	"juju/state/entity"
	"juju/state/entity/shell"
)

// A Command is a command line of juju, on the page that plans and runs it.
type Command struct {
	Line   string // without "juju"
	Output []Line // of the plan, or of the run
	Ran    bool
	Failed bool
	Writes bool // its user may change the model
}

// A Line is a line of a command's output.
type Line struct {
	Text  string
	Error bool
}

// noPlan is what a command prints that has no plan.
const noPlan = "unknown flag: --dry-run"

// printed records what a command has printed.
func (c *Command) printed(text string) {
	wrong := strings.HasPrefix(text, "ERROR ")
	if wrong && !c.Ran && strings.Contains(text, noPlan) {
		text, wrong = "This command has no plan.", false
	}
	c.Failed = c.Failed || wrong
	c.Output = append(c.Output, Line{text, wrong})
}

// CommandLine returns the command line that a form of a page stands for, or the one in it.
func CommandLine(form url.Values, m *Mirror) (string, error) {
	make, ok := map[string]func(url.Values, *Mirror) ([]string, error){
		"": nil, "scale": scaleLine, "config": configLine, "action": actionLine, "relate": relateLine, "access": accessLine,
	}[form.Get("form")]
	switch {
	case !ok:
		return "", entity.Errorf(entity.Invalid, "there is no form %s", entity.Named(form.Get("form")))
	case make != nil:
		words, err := make(form, m)
		return shell.Line(words...), err
	}
	line := strings.TrimSpace(form.Get("line"))
	if rest, ok := strings.CutPrefix(line, "juju "); ok {
		line = strings.TrimSpace(rest)
	}
	return line, nil
}

// scaleLine adds units to a service, or destroys the newest.
func scaleLine(form url.Values, m *Mirror) ([]string, error) {
	service := form.Get("service")
	want, err := strconv.ParseUint(form.Get("units"), 10, 16)
	if err != nil {
		return nil, entity.Errorf(entity.Invalid, "the number of units must be a number")
	}
	names := m.unitsOf(service)
	switch n := int(want) - len(names); {
	case n > 0:
		return []string{"add-unit", service, "-n", strconv.Itoa(n)}, nil
	case n < 0:
		return append([]string{"destroy-unit"}, names[int(want):]...), nil
	}
	return nil, entity.Errorf(entity.Invalid, "service %s has %d units", entity.Named(service), want)
}

// unitsOf returns the names of a service's units that are not being removed, by number.
func (m *Mirror) unitsOf(service string) []string {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var names []string
	for name := range m.units[service] {
		if !m.parts[entity.PartUnit][name].isDying() {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, entity.CompareNatural)
	return names
}

// changed returns the fields "set-NAME" of a form whose values differ from those of "was-NAME".
func changed(form url.Values) (keys []string, values map[string]string) {
	values = map[string]string{}
	for field := range form {
		key, ok := strings.CutPrefix(field, "set-")
		if value := ofLines(form.Get(field)); ok && value != ofLines(form.Get("was-"+key)) {
			values[key] = value
		}
	}
	return slices.Sorted(maps.Keys(values)), values
}

// ofLines returns a text with the line breaks that browsers change.
func ofLines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// configLine changes a service's settings.
func configLine(form url.Values, _ *Mirror) ([]string, error) {
	words := []string{"config", form.Get("service")}
	keys, values := changed(form)
	for _, key := range keys {
		words = append(words, key+"="+values[key])
	}
	if len(keys) == 0 {
		return nil, entity.Errorf(entity.Invalid, "no setting differs from what it was")
	}
	return words, nil
}

// actionLine runs an action on units.
func actionLine(form url.Values, _ *Mirror) ([]string, error) {
	if len(form["unit"]) == 0 {
		return nil, entity.Errorf(entity.Invalid, "no unit is chosen")
	}
	words := append(append([]string{"run-action"}, form["unit"]...), form.Get("action"))
	keys, values := changed(form)
	for _, key := range keys {
		value := values[key]
		if form.Get("type-"+key) == "string" {
			value = yamlString(value)
		}
		words = append(words, key+"="+value)
	}
	return words, nil
}

// yamlString returns text in the form in which YAML reads it as a string.
func yamlString(text string) string {
	var read any
	if err := safeyaml.Unmarshal([]byte(text), &read, safeyaml.Default); err == nil && read == any(text) {
		return text
	}
	return strconv.Quote(text)
}

func relateLine(form url.Values, _ *Mirror) ([]string, error) {
	return []string{"add-relation", form.Get("service"), form.Get("with")}, nil
}

// accessLine gives a user access to a model.
func accessLine(form url.Values, _ *Mirror) ([]string, error) {
	return []string{"grant", form.Get("user"), form.Get("access")}, nil
}

// A Runner plans or runs a command line for the user of a page, and passes it each line of its output.
type Runner func(ctx context.Context, line string, print func(string) error) error

// Do plans a command, or runs it.
func (c *Command) Do(ctx context.Context, run Runner) error {
	err := run(ctx, c.Line, func(text string) error {
		c.printed(text)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot run juju %s: %w", entity.Named(c.Line), err)
	}
	return nil
}
