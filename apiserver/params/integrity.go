package params

import "juju/state/entity"

// A Finding is something that is wrong with what the store holds.
type Finding struct {
	Model  string `json:"model,omitempty"` // none for the controller's own records
	Where  string `json:"where"`
	What   string `json:"what"`
	Repair string `json:"repair,omitempty"` // what a repair does; none when it can do nothing
	Done   bool   `json:"done,omitempty"`
	Failed string `json:"failed,omitempty"`
}

// Findings is the answer to Check and Repair.
type Findings struct {
	Findings []Finding `json:"findings"`
}

// FindingsOf writes them for the wire.
func FindingsOf(all []entity.Finding) Findings {
	f := Findings{Findings: make([]Finding, len(all))}
	for i, one := range all {
		f.Findings[i] = Finding(one)
	}
	return f
}

// Entities returns them as they were found.
func (f Findings) Entities() []entity.Finding {
	all := make([]entity.Finding, len(f.Findings))
	for i, one := range f.Findings {
		all[i] = entity.Finding(one)
	}
	return all
}
