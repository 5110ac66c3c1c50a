package params

import "juju/state/entity"

// An Explain names what is to be explained as users call it: a unit, machine or
// service, or what a relation relates. No words mean everything that has not
// started or is on its way out.
type Explain struct {
	Words []string `json:"words,omitempty"`
}

// An ExplainResults has what was asked for.
type ExplainResults struct {
	Explanations []entity.Explanation `json:"explanations"`
	More         int                  `json:"more,omitempty"` // things that are not explained, because they are too many
}
