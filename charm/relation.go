package charm

import "strings"

// Role is the side of a relation that an endpoint plays.
type Role string

// The roles. A provider relates to requirers, a peer to other units of its own service.
const (
	RoleProvider Role = "provider"
	RoleRequirer Role = "requirer"
	RolePeer     Role = "peer"
)

// Counterpart returns the role that r relates to.
func (r Role) Counterpart() Role {
	switch r {
	case RoleProvider:
		return RoleRequirer
	case RoleRequirer:
		return RoleProvider
	}
	return r
}

// Scope says which units of a relation see each other.
type Scope string

// The scopes: every unit of both services, or only those deployed side by side.
const (
	ScopeGlobal    Scope = "global"
	ScopeContainer Scope = "container"
)

// Relation is an endpoint that a charm declares.
type Relation struct {
	Name      string
	Role      Role
	Interface string
	Scope     Scope
	Optional  bool // declared only; nothing enforces it
	Limit     int  // of the relations of a service; 0 is none
}

// ImplicitRelation returns the endpoint that every charm provides without
// declaring it.
func ImplicitRelation() Relation {
	return Relation{Name: "juju-info", Role: RoleProvider, Interface: "juju-info", Scope: ScopeGlobal}
}

// parseRelations reads one of provides, requires and peers. An endpoint is a
// map, or the name of an interface alone.
func parseRelations(f field, role Role) (map[string]Relation, []entry, error) {
	entries, err := f.entries()
	if err != nil || len(entries) == 0 {
		return nil, nil, err
	}
	relations := make(map[string]Relation, len(entries))
	for _, e := range entries {
		r, err := parseRelation(e, role)
		if err != nil {
			return nil, nil, err
		}
		relations[e.key] = r
	}
	return relations, entries, nil
}

var relationKeys = []string{"interface", "scope", "optional", "limit", "description"}

func parseRelation(e entry, role Role) (Relation, error) {
	r := Relation{Name: e.key, Role: role, Scope: ScopeGlobal}
	if !relationPattern.MatchString(e.key) {
		return r, e.value.refuse(relationRule, "invalid relation name %q", e.key)
	}
	if s, err := e.value.text(); err == nil {
		r.Interface = s
		return r, checkInterface(e.value, s)
	}
	fs, err := e.value.fields()
	if err != nil {
		return r, err
	}
	fs.only(relationKeys, nil)
	iface := fs.get("interface")
	if r.Interface, err = iface.text(); err != nil {
		return r, err
	}
	if err := checkInterface(iface, r.Interface); err != nil {
		return r, err
	}
	if r.Optional, err = fs.get("optional").boolean(); err != nil {
		return r, err
	}
	if r.Limit, err = fs.get("limit").integer(); err != nil {
		return r, err
	}
	if r.Limit < 0 {
		return r, fs.get("limit").errorf("limit may not be negative, got %d", r.Limit)
	}
	if scope := fs.get("scope"); !scope.empty() {
		s, err := scope.text()
		if err != nil {
			return r, err
		}
		r.Scope = Scope(s)
		if r.Scope != ScopeGlobal && r.Scope != ScopeContainer {
			return r, scope.errorf(`expected "global" or "container", got %q`, s)
		}
	}
	return r, nil
}

func checkInterface(f field, name string) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return f.refuse(interfaceRule, "invalid interface name %q", name)
	}
	return nil
}
