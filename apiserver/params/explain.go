package params

import "juju/state/entity"

// An Explain names what to explain, as users name it: units, machines, services, or the two sides of a relation.
// Without names, everything that has not started or is being destroyed is explained.
type Explain struct {
	Words []string `json:"words,omitempty"`
}

// An ExplainResults has the explanations.
type ExplainResults struct {
	Explanations []entity.Explanation `json:"explanations"`
	More         int                  `json:"more,omitempty"` // entities beyond the limit
}
