package params

import (
	"slices"

	"juju/state/entity"
)

// A Placement says where a unit or machine goes. The scope says what the directive is: "#" an existing machine, "lxd" the host
// of a new container, a model's name or UUID what its cloud interprets. Without a scope, the directive is as users write it.
type Placement struct {
	Scope     string `json:"scope"`
	Directive string `json:"directive"`
}

// PlacementOf returns a placement in the wire format, nil for the zero Placement.
func PlacementOf(p entity.Placement) *Placement {
	if p == (entity.Placement{}) {
		return nil
	}
	scope, directive := p.Scoped()
	return &Placement{scope, directive}
}

// Read returns a placement in a model, which is given by its names, or an Invalid error.
func (p *Placement) Read(model ...string) (entity.Placement, error) {
	switch {
	case p == nil:
		return entity.Placement{}, nil
	case slices.Contains(model, p.Scope):
		return entity.Placement{Directive: p.Directive}, nil
	}
	text := p.Scope + ":" + p.Directive
	if p.Scope == "" || p.Directive == "" {
		text = p.Scope + p.Directive
	}
	at, err := entity.ParsePlacement("placement", text)
	if err == nil && at.Model != "" {
		err = entity.Errorf(entity.Invalid, "invalid placement %q: %q is neither this model nor a type of container", text,
			at.Model)
	}
	return at, err
}
