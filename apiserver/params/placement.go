package params

import "strings"

// A Placement is where to put a unit or machine. Scope "#" stands for an existing machine, whose id is the directive.
type Placement struct {
	Scope     string `json:"scope"`
	Directive string `json:"directive"`
}

// MachineScope is the scope for an existing machine.
const MachineScope = "#"

// PlacementOf parses a placement as users write it with --to: "3", "lxd:3", "lxd", "zone=a".
func PlacementOf(text string) *Placement {
	if text == "" {
		return nil
	}
	if scope, directive, ok := strings.Cut(text, ":"); ok {
		return &Placement{scope, directive}
	}
	if '0' <= text[0] && text[0] <= '9' {
		return &Placement{MachineScope, text}
	}
	return &Placement{Scope: text}
}

// String returns the placement as users write it; "" for nil.
func (p *Placement) String() string {
	switch {
	case p == nil:
		return ""
	case p.Scope == MachineScope || p.Scope == "":
		return p.Directive
	case p.Directive == "":
		return p.Scope
	}
	return p.Scope + ":" + p.Directive
}
