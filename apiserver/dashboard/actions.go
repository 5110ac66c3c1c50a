package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/apiserver/client"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// An Action is an action of a charm, with the fields of a form for its parameters.
type Action struct {
	Name, Description string
	Fields            []Field
}

// A Field is a parameter of an action.
type Field struct {
	Name, Type, Description string
	Default                 string
	Choices                 []string // none if any value of the type will do
	Required                bool
}

// actionsOf returns the actions of a service's charm.
func actionsOf(ctx context.Context, api *client.Conn, service string) ([]Action, error) {
	infos, err := api.ServiceActions(ctx, service)
	if err != nil {
		return nil, err
	}
	var all []Action
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		all = append(all, Action{name, infos[name].Description, fieldsOf(infos[name].Schema)})
	}
	return all, nil
}

// fieldsOf returns the fields of a JSON schema, those that must be given first. What it does not understand is a field for
// YAML.
func fieldsOf(schema map[string]any) []Field {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var fields []Field
	for name, p := range properties {
		property, _ := p.(map[string]any)
		f := Field{Name: name, Required: slices.Contains(required, any(name))}
		f.Type, _ = property["type"].(string)
		f.Description, _ = property["description"].(string)
		if d, ok := property["default"]; ok {
			f.Default = textOf(d)
		}
		choices, _ := property["enum"].([]any)
		for _, c := range choices {
			f.Choices = append(f.Choices, textOf(c))
		}
		if f.Type == "boolean" {
			f.Choices = []string{"true", "false"}
		}
		fields = append(fields, f)
	}
	slices.SortFunc(fields, func(a, b Field) int {
		if a.Required != b.Required {
			return map[bool]int{true: -1, false: 1}[a.Required]
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return fields
}

// textOf returns a value as a user types it.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case map[string]any, []any:
		text, _ := safeyaml.Marshal(v, 2)
		return strings.TrimSpace(string(text))
	}
	return fmt.Sprint(v)
}

// settingsOf returns settings by name.
func settingsOf(all map[string]entity.ConfigSetting) []Setting {
	var rows []Setting
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		value := textOf(s.Value)
		rows = append(rows, Setting{Name: name, Type: s.Type, Description: s.Description, Value: value, Source: s.Source,
			Long: strings.Contains(value, "\n")})
	}
	return rows
}

// Operations is the page of actions: what has been run, the newest first.
type Operations struct {
	Rows []Operation
	More bool
}

// An Operation is one of them.
type Operation struct {
	entity.Operation
	Tasks []Task
}

// A Task is what a unit or machine does for an operation.
type Task struct {
	entity.Task
	Health Health
	Output string // in YAML
}

// operationsShown is how many operations a page shows.
const operationsShown = 50

func operationsPage(ctx context.Context, v Visit) (any, error) {
	page := &Operations{}
	return page, v.call(ctx, func(api *client.Conn) error {
		all, more, err := api.Operations(ctx, client.OperationQuery{Limit: operationsShown})
		page.More = more
		for _, o := range slices.Backward(all) {
			page.Rows = append(page.Rows, operationRow(o))
		}
		return err
	})
}

func operationPage(ctx context.Context, v Visit) (any, error) {
	row := &Operation{}
	return row, v.call(ctx, func(api *client.Conn) error {
		o, err := api.Operation(ctx, v.Name)
		*row = operationRow(o)
		return err
	})
}

func operationRow(o entity.Operation) Operation {
	row := Operation{Operation: o}
	for _, t := range o.Tasks {
		task := Task{Task: t, Health: healthOf(entity.StatusWord(t.Status))}
		var results map[string]any
		if json.Unmarshal(t.Results, &results) == nil && len(results) > 0 {
			task.Output = textOf(results)
		}
		row.Tasks = append(row.Tasks, task)
	}
	return row
}
