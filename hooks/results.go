package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"juju/hooks/hooktools"
)

// maxResults is the maximum size of an action's results in bytes of JSON.
const maxResults = 512 << 10

func (c toolContext) ActionParams() (params map[string]any, ok bool) {
	if !c.isTask() {
		return nil, false
	}
	return c.params.Task.Params, true
}

// SetResults sets all of the action results or none.
func (c toolContext) SetResults(values []hooktools.Result) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	results := c.results
	for _, v := range values {
		results = withResult(results, v.Path, v.Value)
	}
	text, err := json.Marshal(results)
	if err != nil {
		return err
	}
	if len(text) > maxResults {
		return fmt.Errorf("cannot set results of more than %d bytes", maxResults)
	}
	c.results = results
	return nil
}

// withResult returns a copy of m with the value at a path, where it replaces what is not a map.
func withResult(m map[string]any, path []string, value string) map[string]any {
	out := maps.Clone(m)
	if out == nil {
		out = map[string]any{}
	}
	if len(path) == 1 {
		out[path[0]] = value
		return out
	}
	inner, _ := out[path[0]].(map[string]any)
	out[path[0]] = withResult(inner, path[1:], value)
	return out
}

func (c toolContext) LogProgress(ctx context.Context, message string) error {
	return c.backend.LogTask(ctx, c.unit, c.params.Task.ID, message)
}
