package params

import "juju/state/entity"

// AtVersion returns the result of a method in the shape that it has at a version of its facade. Only this function knows
// the older shapes.
func AtVersion(facade string, version int, result any) any {
	switch r := result.(type) {
	case ModelInfo:
		if facade == "ModelManager" && version < 10 {
			return r.at9()
		}
	case ModelInfoResults:
		if facade == "ModelManager" && version < 10 {
			old := make([]modelInfoResult9, len(r.Results))
			for i, one := range r.Results {
				old[i].Error = one.Error
				if one.Result != nil {
					info := one.Result.at9()
					old[i].Result = &info
				}
			}
			return map[string]any{"results": old}
		}
	case Event:
		if facade == "StringsWatcher" {
			return map[string]any{"changes": r.Names}
		}
		if facade == "AllWatcher" && version < 3 {
			r.Deltas = withSeries(r.Deltas)
			return r
		}
	}
	return result
}

// A modelInfo9 is a ModelInfo of ModelManager 9.
type modelInfo9 struct {
	ModelInfo
	DefaultSeries string `json:"default-series"`
	DefaultBase   string `json:"default-base"`
}

type modelInfoResult9 struct {
	Result *modelInfo9 `json:"result,omitempty"`
	Error  *Error      `json:"error,omitempty"`
}

func (m ModelInfo) at9() modelInfo9 {
	return modelInfo9{m, m.Series, entity.BaseOf(m.Series).String()}
}
