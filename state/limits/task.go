package limits

import (
	"encoding/json"
	"slices"

	"juju/state/entity"
)

// CheckTaskOutcome returns an Invalid error for an outcome that can't be stored.
func CheckTaskOutcome(o entity.TaskOutcome) error {
	if !slices.Contains(entity.TaskStatuses, o.Status) || !o.Status.IsOver() {
		return entity.Errorf(entity.Invalid, "%q is not the status of a finished task", o.Status)
	}
	if err := StatusMessage.CheckText(o.Message); err != nil {
		return err
	}
	return CheckTaskJSON(TaskResults, o.Results)
}

// CheckTaskJSON returns an Invalid error unless text is "" or a JSON map within a limit.
func CheckTaskJSON(limit Limit, text string) error {
	if err := limit.CheckText(text); err != nil || text == "" {
		return err
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil || m == nil {
		return entity.Errorf(entity.Invalid, "%s: expected a map", limit.Of)
	}
	return nil
}
