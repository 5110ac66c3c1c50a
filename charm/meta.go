package charm

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state/entity"
)

// Meta is the content of metadata.yaml.
type Meta struct {
	entity.Platforms // by metadata.yaml only series; ReadManifest adds bases

	Name           string
	Summary        string
	Description    string
	Subordinate    bool
	Provides       map[string]Relation // by endpoint name, as are the next two
	Requires       map[string]Relation
	Peers          map[string]Relation
	ExtraBindings  []string // sorted
	Categories     []string
	Tags           []string
	Storage        map[string]Storage
	Resources      map[string]Resource
	Payloads       map[string]string // type by class
	Terms          []string
	MinJujuVersion Version
	Assumes        []Assumption
	Containers     []string // of Kubernetes charms, sorted
	OldRevision    int      // the obsolete field "revision"; a revision file goes before it
	Warnings       []string // about content without effect
	Deployment     bool     // it says how Kubernetes deploys it
}

// Relations returns every endpoint that the charm declares, by name. Names are
// unique across the roles.
func (m *Meta) Relations() map[string]Relation {
	all := map[string]Relation{}
	maps.Copy(all, m.Provides)
	maps.Copy(all, m.Requires)
	maps.Copy(all, m.Peers)
	return all
}

// Endpoints returns the names of all endpoints that the charm declares, extra bindings included, sorted.
func (m *Meta) Endpoints() []string {
	return slices.Sorted(slices.Values(slices.AppendSeq(slices.Clone(m.ExtraBindings), maps.Keys(m.Relations()))))
}

// ParseMeta parses and checks metadata.yaml. Unknown keys are ignored and listed in Warnings.
func ParseMeta(data []byte) (*Meta, error) {
	root, err := parseYAML(metaFile, data)
	if err != nil {
		return nil, err
	}
	if root.empty() {
		return nil, root.errorf("empty metadata")
	}
	fs, err := root.fields()
	if err != nil {
		return nil, err
	}
	fs.only(metaKeys, ignoredKeys)
	m := &Meta{}
	name := fs.get("name")
	if m.Name, err = name.text(); err != nil {
		return nil, err
	}
	if !IsValidName(m.Name) {
		return nil, name.refuse(nameRule, "invalid charm name %q", m.Name)
	}
	if m.Summary, err = fs.get("summary").text(); err != nil {
		return nil, err
	}
	if m.Description, err = fs.get("description").text(); err != nil {
		return nil, err
	}
	if m.Subordinate, err = fs.get("subordinate").boolean(); err != nil {
		return nil, err
	}
	if err := m.parseLists(fs); err != nil {
		return nil, err
	}
	if err := m.parseEndpoints(fs); err != nil {
		return nil, err
	}
	if m.Storage, err = parseStorage(m.Name, fs.get("storage")); err != nil {
		return nil, err
	}
	if m.Resources, err = parseResources(fs.get("resources")); err != nil {
		return nil, err
	}
	if m.Payloads, err = parsePayloads(fs.get("payloads")); err != nil {
		return nil, err
	}
	if f := fs.get("min-juju-version"); !f.empty() {
		// 2.0 unquoted is a number to YAML, so this is the scalar as written.
		if m.MinJujuVersion, err = ParseVersion(f.node.Value); err != nil {
			return nil, f.errorf("%w", err)
		}
	}
	// It is the user of a Kubernetes charm: on machines, hooks run as root all the same.
	users := []string{"", "root", "sudoer", "non-root"}
	if user, err := fs.get("charm-user").optionalText(); err != nil {
		return nil, err
	} else if !slices.Contains(users, user) {
		return nil, fs.get("charm-user").errorf("invalid charm-user %q expected one of root, sudoer or non-root", user)
	}
	if m.Assumes, err = parseAssumes(fs.get("assumes")); err != nil {
		return nil, err
	}
	containers, err := fs.get("containers").fields()
	if err != nil {
		return nil, err
	}
	m.Containers = slices.Sorted(maps.Keys(containers.keys))
	m.Deployment = !fs.get("deployment").empty()
	if f := fs.get("revision"); !f.empty() {
		if m.OldRevision, err = f.integer(); err != nil {
			return nil, err
		}
		if m.OldRevision < 0 {
			return nil, f.errorf("revision may not be negative, got %d", m.OldRevision)
		}
	}
	m.Warnings = root.log.texts()
	return m, nil
}

func (m *Meta) parseLists(fs fields) (err error) {
	for _, list := range []struct {
		key string
		to  *[]string
	}{
		{"categories", &m.Categories},
		{"tags", &m.Tags},
		{"series", &m.Series},
		{"terms", &m.Terms},
	} {
		if *list.to, err = fs.get(list.key).texts(); err != nil {
			return err
		}
	}
	for _, s := range m.Series {
		if !IsValidSeries(s) {
			return fs.get("series").refuse(seriesRule, "charm %q declares invalid series: %q", m.Name, s)
		}
	}
	return nil
}

// parseEndpoints parses the relations and extra bindings, which share a namespace.
func (m *Meta) parseEndpoints(fs fields) error {
	taken := map[string]bool{}
	hasContainerRequirer := false
	for _, role := range []struct {
		key  string
		role Role
		to   *map[string]Relation
	}{
		{"provides", RoleProvider, &m.Provides},
		{"requires", RoleRequirer, &m.Requires},
		{"peers", RolePeer, &m.Peers},
	} {
		relations, entries, err := parseRelations(fs.get(role.key), role.role)
		if err != nil {
			return err
		}
		*role.to = relations
		for _, e := range entries {
			r := relations[e.key]
			containerRequirer := r.Role == RoleRequirer && r.Scope == ScopeContainer
			// A subordinate asks its principal for juju-info by that very name.
			if isReserved(m.Name, r.Name) && !(m.Subordinate && containerRequirer) {
				return e.value.errorf("charm %q using a reserved relation name: %q", m.Name, r.Name)
			}
			if isReserved(m.Name, r.Interface) && r.Role != RoleRequirer {
				return e.value.errorf("charm %q relation %q using a reserved interface: %q", m.Name, r.Name, r.Interface)
			}
			if taken[r.Name] {
				return e.value.errorf("charm %q using a duplicated relation name: %q", m.Name, r.Name)
			}
			taken[r.Name] = true
			hasContainerRequirer = hasContainerRequirer || containerRequirer
		}
	}
	if m.Subordinate && !hasContainerRequirer {
		return fs.get("requires").errorf(`subordinate charm %q lacks "requires" relation with container scope`, m.Name)
	}
	return m.parseExtraBindings(fs, taken)
}

func (m *Meta) parseExtraBindings(fs fields, relations map[string]bool) error {
	f, ok := fs.keys["extra-bindings"]
	if !ok {
		return nil
	}
	entries, err := f.entries()
	if err != nil {
		return err
	}
	if len(entries) == 0 {
		return f.errorf("extra bindings cannot be empty when specified")
	}
	for _, e := range entries {
		switch {
		case !relationPattern.MatchString(e.key):
			return e.value.refuse(relationRule, "invalid extra binding name %q", e.key)
		case !e.value.empty():
			return e.value.expected("no value")
		case relations[e.key]:
			return e.value.errorf("charm %q using relation name %q as an extra binding", m.Name, e.key)
		}
		m.ExtraBindings = append(m.ExtraBindings, e.key)
	}
	slices.Sort(m.ExtraBindings)
	return nil
}

// Unfit returns why a service can't be upgraded to the charm because of the service's immutable
// properties, and what the user can do; "" if it can.
func (m *Meta) Unfit(series string, subordinate, forceSeries bool) (why, hint string) {
	switch {
	case m.Subordinate != subordinate:
		return "cannot change a service's subordinacy", "Deploy the charm as another service."
	case !m.Supports(series) && !forceSeries:
		const hint = "To upgrade to it anyway: --force-series"
		if len(m.Bases) > 0 {
			return fmt.Sprintf("cannot upgrade from single base %q charm to a charm supporting %q. Use --force-series to override.",
				entity.BaseOf(series).Short(), m.BaseNames()), hint
		}
		return "cannot upgrade charm, only these series are supported: " + strings.Join(m.Series, ", "), hint
	}
	return "", ""
}
