package modeldb

import (
	"slices"
	"strings"
	"time"

	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/modelconfig"
)

type Relation struct {
	Living    `bson:",inline"`
	Key       string     `bson:"_id"`
	ID        int        `bson:"id"`
	Endpoints []Endpoint `bson:"endpoints"`
	// Suspended means that no unit may be in a relation across models; Message says why.
	Suspended bool   `bson:"suspended,omitempty"`
	Message   string `bson:"message,omitempty"`
	// Told is when it was last suspended or resumed; zero if it never was.
	Told time.Time `bson:"told,omitempty"`
	// Offer is the offer, if a service of another model uses it in this relation, and Consumer is that model's relation.
	Offer    string    `bson:"offer,omitempty"`
	Consumer *Consumer `bson:"consumer,omitempty"`
	// Via are the subnets that connections to the remote service come from, if the user has said so; Ingress are those that
	// connections to the offered service come from, as the consumer's model has told.
	Via     []string `bson:"via,omitempty"`
	Ingress []string `bson:"ingress,omitempty"`
	// EgressChanges counts the changes of what the model says in place of Via, so that a unit which enters with what it
	// said before is noticed.
	EgressChanges int64 `bson:"egresschanges,omitempty"`
	// Joined says that the model of the remote service has the relation too.
	Joined bool `bson:"joined,omitempty"`
	// Mirrors counts the calls that began to change the units and settings of the other model: only the last goes on.
	Mirrors int `bson:"mirrors,omitempty"`
	// Shares counts the secrets that were granted to the other model, of which the workers hear by it.
	Shares int `bson:"shares,omitempty"`
}

// StatusSince returns when the relation began to be what it is: alive, not, or suspended.
func (d Relation) StatusSince() time.Time {
	if d.Told.After(d.Since) {
		return d.Told
	}
	return d.Since
}

func (d Relation) IsContainer() bool {
	return d.Endpoints[0].Scope == string(charm.ScopeContainer)
}

// Container returns the principal whose container scope a unit is in, "" in a global relation.
func (d Relation) Container(u Unit) string {
	switch {
	case !d.IsContainer():
		return ""
	case u.Principal != "":
		return u.Principal
	}
	return u.Name
}

// Endpoint returns the service's endpoint of the relation.
func (d Relation) Endpoint(service string) (Endpoint, error) {
	for _, e := range d.Endpoints {
		if e.Service == service {
			return e, nil
		}
	}
	return Endpoint{}, entity.Errorf(entity.NotFound, "service %q is not a member of relation %q", service, d.Key)
}

// Egress returns the subnets that connections to the other end come from, as the user or the model says; none if from the
// units' own addresses.
func (d Relation) Egress(model Model) []string {
	if text := model.Settings()[modelconfig.EgressSubnets].Value; len(d.Via) == 0 && text != "" {
		return strings.Split(text, ",")
	}
	return d.Via
}

// Enterable asserts that units can enter the relation's scope, and that Egress is what it was when the relation was read.
func (d Relation) Enterable() bson.D {
	is := bson.D{{"life", entity.Alive}, {"suspended", bson.D{{"$ne", true}}}}
	if d.EgressChanges == 0 {
		return append(is, bson.DocElem{Name: "egresschanges", Value: bson.D{{"$exists", false}}})
	}
	return append(is, bson.DocElem{Name: "egresschanges", Value: d.EgressChanges})
}

// Counterpart returns the endpoint whose units the service's units see: the other one, or
// the service's own in a peer relation.
func (d Relation) Counterpart(service string) Endpoint {
	for _, e := range d.Endpoints {
		if e.Service != service {
			return e
		}
	}
	return d.Endpoints[0]
}

// roleOrder is the order of the endpoints in a key.
var roleOrder = map[string]int{"requirer": 0, "provider": 1, "peer": 2}

// NewRelation returns the document of a relation between endpoints. The relation has container scope if
// either endpoint does.
func NewRelation(id int, ends ...Endpoint) Relation {
	slices.SortFunc(ends, func(a, b Endpoint) int { return roleOrder[a.Role] - roleOrder[b.Role] })
	container := slices.ContainsFunc(ends, func(e Endpoint) bool { return e.Scope == string(charm.ScopeContainer) })
	var names []string
	for i := range ends {
		if container {
			ends[i].Scope = string(charm.ScopeContainer)
		}
		names = append(names, ends[i].String())
	}
	return Relation{Key: strings.Join(names, " "), ID: id, Endpoints: ends}
}

// A RelationEnd is one end of a relation. It allows finding and watching a service's relations without
// reading those of other services. Its life and strength are the relation's.
type RelationEnd struct {
	Service  string          `bson:"service"`
	Relation string          `bson:"relation"`
	Life     entity.Life     `bson:"life"`
	Strength entity.Strength `bson:"strength,omitempty"`
}

// An Endpoint is one end of a relation: a service, and a relation that its charm
// declares.
type Endpoint struct {
	Service   string `bson:"service"`
	Name      string `bson:"name"`
	Role      string `bson:"role"`
	Interface string `bson:"interface"`
	Scope     string `bson:"scope"`
	Implicit  bool   `bson:"implicit,omitempty"`
	Remote    bool   `bson:"remote,omitempty"` // the service is in another model
}

// String returns the users' notation, such as "mysql:server".
func (e Endpoint) String() string { return e.Service + ":" + e.Name }

// ImplementedBy reports whether an endpoint of a charm implements the endpoint of a relation: they are equal except for
// their scope, which a relation may take from the other end. A relation of global scope is not one of container scope.
func (e Endpoint) ImplementedBy(o Endpoint) bool {
	if e.Scope != o.Scope && o.Scope == string(charm.ScopeContainer) {
		return false
	}
	o.Scope = e.Scope
	return e == o
}

func (e Endpoint) CanRelateTo(o Endpoint) bool {
	peer := string(charm.RolePeer)
	return e.Service != o.Service && e.Interface == o.Interface && e.Role != peer && o.Role != peer && e.Role != o.Role
}

// EndpointsOf returns the endpoints of a service with this charm, including implicit ones.
func EndpointsOf(service string, meta *charm.Meta) []Endpoint {
	var ends []Endpoint
	for name, r := range meta.Relations() {
		ends = append(ends, Endpoint{service, name, string(r.Role), r.Interface, string(r.Scope), false, false})
	}
	if r := charm.ImplicitRelation(); !slices.ContainsFunc(ends, func(e Endpoint) bool { return e.Name == r.Name }) {
		ends = append(ends, Endpoint{service, r.Name, string(r.Role), r.Interface, string(r.Scope), true, false})
	}
	slices.SortFunc(ends, func(a, b Endpoint) int { return entity.CompareNatural(a.String(), b.String()) })
	return ends
}
