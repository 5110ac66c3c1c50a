package entity

import (
	"regexp"
	"strings"
	"unicode"
)

// A Placement says where a new unit or machine goes. The zero Placement leaves it to the model. Machine and Container can be
// set together; so can Model and Directive.
type Placement struct {
	Machine   string // the id of an existing machine: the unit's own, or the one that hosts the new container
	Container string // the type of a new container, on Machine, or else on a new machine
	New       bool   // a new machine anywhere, even if one has no units yet
	Directive string // what the cloud interprets, for a new machine: "zone=eu-1"
	Model     string // the name or UUID of the model for whose cloud the directive is; "" for the unit's or machine's own
	Manual    string // USER@HOST[:PORT] of a host that a user adds as a machine
}

// Scopes of placements, as texts and in the wire format.
const (
	machineScope = "#"
	manualScope  = "ssh"
	newMachine   = "new"
)

var directive = regexp.MustCompile(`^[a-z]+$|^[a-z-]+=[^\s,]+$`)

// ParsePlacement parses a placement as users write it: "3", "lxd", "lxd:3", "new", "zone=eu-1", "MODEL:zone=eu-1",
// "ssh:USER@HOST". what names it in the error, which is Invalid.
func ParsePlacement(what, text string) (Placement, error) {
	scope, rest, scoped := strings.Cut(text, ":")
	switch {
	case IsValidMachine(text):
		return Placement{Machine: text}, nil
	case text == newMachine:
		return Placement{New: true}, nil
	case scope == machineScope && IsValidMachine(rest):
		return Placement{Machine: rest}, nil
	case scope == manualScope && rest != "":
		return Placement{Manual: rest}, nil
	case scope == manualScope && scoped:
		return Placement{}, Errorf(Invalid, "invalid %s %q: expected %s:[USER@]HOST[:PORT]", what, text, manualScope)
	case IsContainerType(scope) && scoped && !IsValidMachine(rest):
		return Placement{}, Errorf(Invalid, "invalid value %q for %q scope: expected machine-id", rest, scope)
	case IsContainerType(scope):
		return Placement{Container: scope, Machine: rest}, nil
	case directive.MatchString(text):
		return Placement{Directive: text}, nil
	case (IsValidModel(scope) || IsValidUUID(scope)) && !IsValidMachine(scope) && rest != "" &&
		!strings.ContainsFunc(rest, unicode.IsSpace):
		return Placement{Model: scope, Directive: rest}, nil
	}
	return Placement{}, WithHint(Errorf(Invalid, "invalid %s %q", what, text),
		"Specify a machine, a new container, or a placement of the cloud: 3, lxd, lxd:3, zone=eu-1")
}

// String returns the placement as users write it, and "" for the zero Placement.
func (p Placement) String() string {
	scope, rest := p.Scoped()
	switch {
	case scope == machineScope, scope == "":
		return rest
	case rest == "":
		return scope
	}
	return scope + ":" + rest
}

// Scoped returns the two parts of a placement in Juju's wire format: what kind it is, and which one.
func (p Placement) Scoped() (scope, directive string) {
	switch {
	case p.Container != "":
		return p.Container, p.Machine
	case p.Machine != "":
		return machineScope, p.Machine
	case p.New:
		return newMachine, ""
	case p.Manual != "":
		return manualScope, p.Manual
	}
	return p.Model, p.Directive
}

// MarshalText returns what String returns.
func (p Placement) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// ForCloud returns what the cloud that starts the instance must know: not which machine hosts a container.
func (p Placement) ForCloud() Placement {
	return Placement{Container: p.Container, Directive: p.Directive}
}
