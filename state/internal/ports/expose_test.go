package ports_test

import (
	"fmt"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/modeltest"
	"juju/state/internal/modeltxn"
	"juju/state/internal/ports"
	"juju/state/mongo"
)

// newService returns a model with the service mysql, whose charm has the endpoints server and admin, and with the space dmz.
func newService(t *testing.T, service modeldb.Service) *modeltest.Model {
	t.Helper()
	service.Name, service.CharmURL = "mysql", "local:jammy/mysql-1"
	m := modeltest.New(t, service, modeldb.Networks{ID: modeldb.NetworksC, Spaces: []modeldb.Space{{ID: "1", Name: "dmz"}}, Version: 3})
	m.PutCharm(service.CharmURL, `{name: mysql, summary: s, description: d,
  provides: {server: {interface: mysql}, admin: {interface: mysql-root}}}`)
	return m
}

func expose(m *modeltest.Model, endpoints entity.ExposedEndpoints) func(*modeltxn.Ops) error {
	return func(o *modeltxn.Ops) error {
		service, err := m.Service(m.Ctx, "mysql")
		m.OK(err)
		return ports.Expose(m.Ctx, m.DB, o, service, endpoints)
	}
}

func unexpose(m *modeltest.Model, endpoints ...string) func(*modeltxn.Ops) error {
	return func(o *modeltxn.Ops) error {
		service, err := m.Service(m.Ctx, "mysql")
		m.OK(err)
		return ports.Unexpose(o, service, endpoints)
	}
}

func exposed(m *modeltest.Model) string {
	return modeltest.Get[modeldb.Service](m, "mysql").ExposedEndpoints().String()
}

var (
	anyone = entity.ExposedTo{}
	office = entity.ExposedTo{CIDRs: []string{"10.0.0.0/8"}}
	dmz    = entity.ExposedTo{Spaces: []string{"dmz"}}
)

// What is exposed is kept with what was, unless the same endpoint is exposed anew.
func TestExpose(t *testing.T) {
	t.Parallel()
	m := newService(t, modeldb.Service{})
	for _, step := range []struct {
		expose entity.ExposedEndpoints
		want   string
	}{
		{nil, "all endpoints to CIDRs 0.0.0.0/0 and ::/0"},
		{entity.ExposedEndpoints{"server": office}, "all endpoints to CIDRs 0.0.0.0/0 and ::/0, server to CIDR 10.0.0.0/8"},
		{entity.ExposedEndpoints{"server": dmz, "admin": office},
			"all endpoints to CIDRs 0.0.0.0/0 and ::/0, admin to CIDR 10.0.0.0/8, server to space dmz"},
		{entity.ExposedEndpoints{"": {Spaces: []string{"dmz", "alpha", "dmz"}}},
			"all endpoints to spaces alpha and dmz, admin to CIDR 10.0.0.0/8, server to space dmz"},
	} {
		m.Do(expose(m, step.expose))
		modeltest.Same(t, "exposed are", exposed(m), step.want)
		m.Nothing(expose(m, step.expose))
	}
	m.Do(unexpose(m, "server", ""))
	modeltest.Same(t, "exposed are", exposed(m), "admin to CIDR 10.0.0.0/8")
	err := m.Change(m.Ctx, unexpose(m, "admin", "server"))
	m.Refused(err, entity.Invalid, `cannot unexpose mysql: endpoint "server" is not exposed`)
	m.Refused(err, entity.Invalid, "Exposed are: admin to CIDR 10.0.0.0/8")
	m.Set(modeldb.ServicesC, "mysql", bson.DocElem{Name: "charm", Value: "local:gone-1"}) // which Unexpose does not read
	m.Do(unexpose(m))
	modeltest.Same(t, "exposed are", exposed(m), "no endpoints")
	m.Nothing(unexpose(m))
}

// A service is exposed to what there is.
func TestExposeIsRefused(t *testing.T) {
	m := newService(t, modeldb.Service{Exposures: []modeldb.Exposed{{Endpoint: "admin", ExposedTo: entity.ExposedTo{
		CIDRs: []string{"192.0.2.0/24"}, Spaces: []string{"dmz"}}}}})
	some := func(n int) (to entity.ExposedTo) {
		for i := range n {
			to.CIDRs = append(to.CIDRs, fmt.Sprintf("10.0.%d.0/24", i))
		}
		return to
	}
	for _, c := range []struct {
		endpoints entity.ExposedEndpoints
		kind      entity.Kind
		want      string
	}{
		{entity.ExposedEndpoints{"other": anyone}, entity.NotFound, `cannot expose mysql: endpoint "other" not found`},
		{entity.ExposedEndpoints{"other": anyone}, entity.NotFound, "The charm's endpoints: admin, server"},
		{entity.ExposedEndpoints{"server": {Spaces: []string{"moon"}}}, entity.NotFound, `cannot expose mysql: space "moon" not found`},
		{entity.ExposedEndpoints{"server": {CIDRs: []string{"10.0.0.1/8"}}}, entity.Invalid, `invalid CIDR "10.0.0.1/8"`},
		{entity.ExposedEndpoints{"server": some(99)}, entity.Invalid, "cannot expose mysql: CIDRs and spaces of a service's exposed endpoints: 101 entries"},
	} {
		m.Refused(m.Change(m.Ctx, expose(m, c.endpoints)), c.kind, c.want)
	}
	m.Do(expose(m, entity.ExposedEndpoints{"server": some(98)}))
	m.Set(modeldb.ServicesC, "mysql", bson.DocElem{Name: "charm", Value: "local:gone-1"})
	m.Refused(m.Change(m.Ctx, expose(m, nil)), entity.NotFound, `cannot expose mysql: charm "local:gone-1" not found`)
}

// The service, its charm, what was exposed of it, and the spaces to which it is exposed are what they were when they were
// read.
func TestExposeIsOfWhatWasRead(t *testing.T) {
	other := modeldb.Service{Exposures: []modeldb.Exposed{{Endpoint: "admin", ExposedTo: office}}}
	set := func(field string, value any) func(*modeltest.Model) {
		return func(m *modeltest.Model) { m.Set(modeldb.ServicesC, "mysql", bson.DocElem{Name: field, Value: value}) }
	}
	space := func(m *modeltest.Model) {
		m.Set(modeldb.NetworksC, modeldb.NetworksC, bson.DocElem{Name: "version", Value: 4})
	}
	for _, c := range []struct {
		name    string
		service modeldb.Service
		to      entity.ExposedTo
		between func(*modeltest.Model)
		ignored bool
		want    string // if it is not refused
	}{
		{name: "the service is destroyed", to: office, between: set("life", entity.Dying)},
		{name: "all is exposed", to: office, between: set("exposed", true),
			want: "all endpoints to CIDRs 0.0.0.0/0 and ::/0, server to CIDR 10.0.0.0/8"},
		{name: "another is exposed", to: office, between: set("exposures", other.Exposures),
			want: "admin to CIDR 10.0.0.0/8, server to CIDR 10.0.0.0/8"},
		{name: "another is exposed beside one", service: other, to: office,
			between: set("exposures", []modeldb.Exposed{{Endpoint: "", ExposedTo: office}}),
			want:    "all endpoints to CIDR 10.0.0.0/8, server to CIDR 10.0.0.0/8"},
		{name: "it gets another charm", to: office, between: func(m *modeltest.Model) {
			m.PutCharm("local:mysql-2", `{name: mysql, summary: s, description: d, provides: {server: {interface: mysql}}}`)
			set("charm", "local:mysql-2")(m)
		}, want: "server to CIDR 10.0.0.0/8"},
		{name: "the space may be gone", to: dmz, between: space, want: "server to space dmz"},
		{name: "another space may be gone", to: office, between: space, ignored: true, want: "server to CIDR 10.0.0.0/8"},
		{name: "alpha is never gone", to: entity.ExposedTo{Spaces: []string{"alpha"}}, between: space, ignored: true, want: "server to space alpha"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newService(t, c.service)
			call := func() error {
				return m.Change(m.Ctx, func(o *modeltxn.Ops) error {
					if modeltest.Get[modeldb.Service](m, "mysql").Life != entity.Alive {
						return mongo.ErrNothing // as the callers do
					}
					return expose(m, entity.ExposedEndpoints{"server": c.to})(o)
				})
			}
			if c.ignored {
				m.Ignores(func() { c.between(m) }, call)
			} else {
				m.OK(m.Race(func() { c.between(m) }, call))
			}
			if c.want == "" {
				c.want = "no endpoints"
			}
			modeltest.Same(t, "exposed are", exposed(m), c.want)
		})
	}
}
