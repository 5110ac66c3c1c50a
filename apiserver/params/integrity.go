package params

import "juju/state/entity"

// A Finding is a problem found in the store.
type Finding struct {
	Model  string `json:"model,omitempty"` // "" for the controller's own records
	Where  string `json:"where"`
	What   string `json:"what"`
	Repair string `json:"repair,omitempty"` // what a repair does; "" if there is none
	Done   bool   `json:"done,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// Findings is the result of Check and Repair.
type Findings struct {
	Findings []Finding `json:"findings"`
}

// FindingsOf returns findings in the wire format.
func FindingsOf(all []entity.Finding) Findings {
	f := Findings{Findings: make([]Finding, len(all))}
	for i, one := range all {
		f.Findings[i] = Finding(one)
	}
	return f
}

// Entities returns the findings.
func (f Findings) Entities() []entity.Finding {
	all := make([]entity.Finding, len(f.Findings))
	for i, one := range f.Findings {
		all[i] = entity.Finding(one)
	}
	return all
}
