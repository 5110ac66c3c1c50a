package statusfmt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"juju/apiserver/display"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// A mapping is a map that preserves the order of its keys in YAML and JSON. Go's maps would put unit 10 before unit 2.
type mapping []entry

type entry struct {
	key   string
	value any
}

// with adds an entry, unless its value is empty.
func (m mapping) with(key string, value any) mapping {
	switch v := value.(type) {
	case string:
		if v == "" {
			return m
		}
	case int:
		if v == 0 {
			return m
		}
	case []string:
		if len(v) == 0 {
			return m
		}
	case mapping:
		if len(v) == 0 {
			return m
		}
	}
	return m.always(key, value)
}

// always adds an entry, even an empty one.
func (m mapping) always(key string, value any) mapping { return append(m, entry{key, value}) }

func (m mapping) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(e.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (m mapping) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	if len(m) == 0 {
		node.Style = yaml.FlowStyle // {}
	}
	for _, e := range m {
		for _, v := range []any{e.key, e.value} {
			n, err := safeyaml.Node(v)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, n)
		}
	}
	return node, nil
}

// document returns the content of the YAML and JSON formats.
func document(m *entity.ModelStatus, o Options) mapping {
	d := writer{location: o.Location, relations: m.Relations, version: m.Model.JujuVersion}
	model := mapping{}.
		always("name", m.Model.Name).
		always("type", "iaas").
		always("controller", o.Controller).
		always("cloud", m.Model.ShownCloud()).
		with("region", m.Model.Region).
		always("version", m.Model.JujuVersion).
		with("release", m.Model.Version).
		with("commit", m.Model.Commit).
		with("uuid", m.Model.UUID).
		always("model-status", d.status(m.Model.Status))
	model = d.life(model, m.Model.Life)
	applications := mapping{}
	for _, s := range m.Services {
		applications = applications.always(s.Name, d.service(s))
	}
	remotes := mapping{}
	for _, r := range m.Remotes {
		one := d.life(mapping{}.always("url", r.URL).always("endpoints", endpoints(r.Endpoints)), r.Life).always("application-status", d.status(r.Status))
		remotes = remotes.always(r.Name, one.with("relations", d.relatedTo(r.Name)))
	}
	offers := mapping{}
	for _, o := range m.Offers {
		one := d.life(mapping{}.always("application", o.Service).always("charm", o.CharmURL), o.Life)
		offers = offers.always(o.Name, one.always("active-connected-count",
			o.Active).always("total-connected-count", o.Total).
			always("endpoints", endpoints(o.Endpoints)))
	}
	relations := mapping{}
	for _, r := range m.Relations {
		relations = relations.always(strconv.Itoa(r.ID), d.relation(r))
	}
	return mapping{}.
		always("model", model).
		always("machines", d.machines(m.Machines)).
		always("applications", applications).
		with("application-endpoints", remotes).
		with("offers", offers).
		with("relations", relations).
		always("storage", Storage(o.Storage, o.Location)).
		always("controller", mapping{{"timestamp", display.TimeIn(m.At.In(o.Location), clockFormat)}})
}

func endpoints(list []entity.RemoteEndpoint) mapping {
	all := mapping{}
	for _, e := range list {
		all = all.always(e.Name, mapping{{"interface", e.Interface}, {"role", e.Role}})
	}
	return all
}

// machinesDocument returns the content of the YAML and JSON formats of machines.
func machinesDocument(m *entity.ModelStatus, o Options) mapping {
	return mapping{}.always("model", m.Model.Name).always("machines", writer{location: o.Location, version: m.Model.JujuVersion}.machines(m.Machines))
}

// The layouts of times.
const (
	clockFormat = "15:04:05Z07:00"
	sinceFormat = "02 Jan 2006 15:04:05Z07:00"
)

type writer struct {
	location  *time.Location
	relations []entity.RelationStatus
	version   string // of the Juju whose API the controller has
}

func (d writer) status(s entity.Status) mapping {
	m := mapping{}.always("current", string(s.Status)).with("message", s.Message).with("reason", s.Cause())
	if !s.Since.IsZero() {
		m = m.always("since", display.TimeIn(s.Since.In(d.location), sinceFormat))
	}
	return m
}

// life adds the life of an entity that is not Alive.
func (d writer) life(m mapping, life entity.Life) mapping {
	if life == entity.Alive {
		return m
	}
	return m.always("life", life.String())
}

// agent returns an agent's status with what it has said that it runs, if it has, and with the life of its unit or machine,
// which Juju has here.
func (d writer) agent(s entity.Status, release, commit string, life entity.Life) mapping {
	m := d.status(s)
	if release != "" {
		m = m.with("version", d.version)
	}
	return d.life(m.with("release", release).with("commit", commit), life)
}

func (d writer) machines(machines []entity.MachineStatus) mapping {
	all := mapping{}
	for _, m := range machines {
		one := mapping{}.always("juju-status", d.agent(m.Status, m.AgentVersion, m.AgentCommit, m.Life))
		if len(m.Addresses) > 0 {
			one = one.always("dns-name", m.Addresses[0])
		}
		one = one.
			with("ip-addresses", m.Addresses).
			with("instance-id", m.InstanceID).
			always("machine-status", d.status(m.InstanceStatus)).
			always("modification-status", d.modification(m.Modification)).
			with("base", base(m.Series)).
			with("containers", d.machines(m.Containers)).
			with("constraints", m.Constraints).
			with("hardware", m.Hardware).
			with("ssh", m.SSH)
		if m.Upgrade != nil {
			one = one.always("upgrade", m.Upgrade.String())
		}
		if m.Manager {
			one = one.always("controller-member-status", "has-vote")
		}
		all = all.always(m.ID, one)
	}
	return all
}

// modification is the status of the changes of an instance, idle if there are none.
func (d writer) modification(s entity.Status) mapping {
	s.Status = cmp.Or(s.Status, entity.StatusIdle)
	return d.status(s)
}

func base(series string) mapping {
	if series == "" {
		return nil
	}
	b := entity.BaseOf(series)
	return mapping{}.always("name", b.Name).always("channel", release(b))
}

// release returns a base's channel without the risk: "22.04".
func release(b entity.Base) string {
	release, _, _ := strings.Cut(b.Channel, "/")
	return release
}

func (d writer) service(s entity.ServiceStatus) mapping {
	name, revision := charmName(s.CharmURL)
	n, _ := strconv.Atoi(revision) // 0, as in Juju, if it is none
	shown, origin := s.CharmURL, "local"
	if strings.HasPrefix(s.CharmURL, "ch:") {
		shown, origin = name, "charmhub"
	}
	one := mapping{}.always("charm", shown).always("charm-name", name).always("charm-rev", n).always("charm-origin", origin).
		with("charm-channel", s.Channel).with("charm-version", s.CharmVersion).
		with("can-upgrade-to", s.CanUpgradeTo).with("base", base(s.Series)).always("exposed", s.Exposed)
	if !s.Endpoints.IsPlain() {
		one = one.always("exposed-endpoints", s.Endpoints)
	}
	one = d.life(one, s.Life).always("application-status", d.status(s.Status))
	return one.
		with("relations", d.relationsOf(s.Name)).
		with("subordinate-to", s.SubordinateTo).
		with("min-units", s.MinUnits).
		with("rollout", d.rollout(s.Rollout)).
		with("units", d.units(s.Units)).
		with("version", s.WorkloadVersion).
		with("endpoint-bindings", bindings(s.Bindings))
}

// bindings returns the spaces to which a service is bound, by endpoint; the default first.
func bindings(spaces map[string]string) (all mapping) {
	for _, endpoint := range slices.Sorted(maps.Keys(spaces)) {
		all = all.always(endpoint, spaces[endpoint])
	}
	return all
}

// rollout returns an upgrade in batches; nothing for nil.
func (d writer) rollout(r *entity.Rollout) mapping {
	if r == nil {
		return nil
	}
	state, former := "running", "former-charm"
	if r.Stopped != "" {
		state = "stopped"
	}
	if r.Reverts {
		former = "reverts"
	}
	return mapping{}.always("current", state).always(former, r.Former).with("message", r.Stopped).always("batch", r.Batch).
		always("health-timeout", r.Timeout.String()).always("since", display.TimeIn(r.Since.In(d.location), sinceFormat))
}

// relationsOf returns a service's relations by endpoint, in Juju's form.
func (d writer) relationsOf(service string) mapping {
	return d.byEndpoint(service, func(r entity.RelationStatus, other string) any {
		return mapping{{"related-application", other}, {"interface", r.Interface}, {"scope", r.Scope}}
	})
}

// relatedTo returns the names of the services that a remote one is related to, by its endpoint. Juju has only names here.
func (d writer) relatedTo(remote string) mapping {
	return d.byEndpoint(remote, func(_ entity.RelationStatus, other string) any { return other })
}

// byEndpoint returns what show returns for each relation of a service, by the service's endpoint.
func (d writer) byEndpoint(service string, show func(r entity.RelationStatus, other string) any) mapping {
	by := map[string][]any{}
	for _, r := range d.relations {
		for i, own := range r.Endpoints {
			if own.Service == service {
				other := r.Endpoints[len(r.Endpoints)-1-i] // itself among peers
				by[own.Name] = append(by[own.Name], show(r, other.Service))
			}
		}
	}
	all := mapping{}
	for _, endpoint := range entity.NaturalKeys(by) {
		all = all.always(endpoint, by[endpoint])
	}
	return all
}

func (d writer) units(units []entity.UnitStatus) mapping {
	all := mapping{}
	for _, u := range units {
		one := mapping{}.always("workload-status", d.status(u.Workload)).
			always("juju-status", d.agent(u.Agent, u.AgentVersion, u.AgentCommit, u.Life))
		if u.Leader {
			one = one.always("leader", true)
		}
		all = all.always(u.Name, one.
			with("upgrading-from", u.CharmURL).
			with("machine", u.Machine).
			with("open-ports", portTexts(u)).
			with("public-address", u.PublicAddress).
			with("version", u.WorkloadVersion).
			with("subordinates", d.units(u.Subordinates)))
	}
	return all
}

func (d writer) relation(r entity.RelationStatus) mapping {
	one := mapping{}.always("key", r.Key).always("interface", r.Interface).always("type", relationType(r))
	one = d.life(one, r.Life).always("status", d.status(r.Status))
	ends := mapping{}
	for _, e := range r.Endpoints {
		ends = ends.always(e.Service, mapping{{"endpoint", e.Name}, {"role", e.Role}})
	}
	return one.always("applications", ends)
}

// relationType returns the type of a relation, as the tables show it.
func relationType(r entity.RelationStatus) string {
	switch {
	case len(r.Endpoints) == 1:
		return "peer"
	case r.Scope == "container":
		return "subordinate"
	}
	return "regular"
}

// words counts each word, and returns the words in order.
func words(all []string) (order []string, count map[string]int) {
	count = map[string]int{}
	for _, w := range all {
		count[w]++
	}
	return slices.Sorted(maps.Keys(count)), count
}
