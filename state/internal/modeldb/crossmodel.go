package modeldb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"juju/charm"
	"juju/state/entity"
)

// An Offer lets services of other models relate to some endpoints of a service.
type Offer struct {
	Living      `bson:",inline"`
	Name        string   `bson:"_id"`
	UUID        string   `bson:"uuid"`
	Service     string   `bson:"service"`
	Endpoints   []string `bson:"endpoints"` // the names of relations of the service's charm, sorted
	Description string   `bson:"description,omitempty"`
	Connects    int      `bson:"connects,omitempty"` // the relations that have ever used it
}

// A Remote is a service of another model, used through an offer there. Its name is the user's choice.
type Remote struct {
	Living    `bson:",inline"`
	Name      string     `bson:"_id"`
	Model     string     `bson:"model"`
	Offer     string     `bson:"offer"` // the offer's UUID
	URL       string     `bson:"url"`
	User      string     `bson:"user"` // who consumed it
	Endpoints []Endpoint `bson:"endpoints"`
	// External is the controller that has the offer if that is another. Then Token is what it accepts, a secret.
	External *External `bson:"external,omitempty"`
	Token    string    `bson:"password,omitempty"`
}

// An External is another controller that has an offer.
type External struct {
	Controller string   `bson:"controller"` // its UUID
	Name       string   `bson:"name"`
	Addresses  []string `bson:"addresses"`
	CACert     string   `bson:"cacert"`
	TokenID    string   `bson:"tokenid"`
}

// Consumed returns what the worker that mirrors relations needs to know of the remote service.
func (d Remote) Consumed() entity.Consumed {
	c := entity.Consumed{Name: d.Name, Model: d.Model, Offer: d.Offer, URL: d.URL, User: d.User}
	if e := d.External; e != nil {
		c.External = &entity.External{Controller: e.Controller, Name: e.Name, Addresses: e.Addresses, CACert: e.CACert, ID: e.TokenID, Token: d.Token}
	}
	return c
}

// A Consumer is the relation of another model that a relation with an offered service mirrors.
type Consumer struct {
	Model    string `bson:"model"`
	Relation int    `bson:"relation"`
	Service  string `bson:"service"`
	User     string `bson:"user"`
	Token    string `bson:"token,omitempty"` // the id of its token, if the model is of another controller
}

// Far returns the name that the consuming service has for the offered one: that of Juju's form, which charms know.
func (c Consumer) Far() string {
	// The token's id keeps a model of another controller from taking the name that another model has.
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d%s", c.Model, c.Relation, c.Token))
	name := hex.EncodeToString(sum[:16])
	if !strings.ContainsAny(name, "abcdef") {
		name = "a" + name[1:] // a service's name needs a letter
	}
	return "remote-" + name
}

// RemoteEnd returns the endpoint of a relation whose service is in another model.
func (d Relation) RemoteEnd() (Endpoint, bool) {
	i := slices.IndexFunc(d.Endpoints, func(e Endpoint) bool { return e.Remote })
	if i < 0 {
		return Endpoint{}, false
	}
	return d.Endpoints[i], true
}

// Consumes reports whether the relation is with a remote service.
func (d Relation) Consumes() bool {
	_, remote := d.RemoteEnd()
	return remote && d.Offer == ""
}

// Described returns an endpoint as users of other models see it.
func (e Endpoint) Described() entity.RemoteEndpoint {
	return entity.RemoteEndpoint{Name: e.Name, Role: e.Role, Interface: e.Interface}
}

// Offered returns the offer's endpoints, as the service's charm has them.
func (d Offer) Offered(meta *charm.Meta) (all []entity.RemoteEndpoint) {
	for _, e := range EndpointsOf(d.Service, meta) {
		if slices.Contains(d.Endpoints, e.Name) {
			all = append(all, e.Described())
		}
	}
	return all
}

func OfferKey(name string) string { return "o#" + name }

func RemoteKey(name string) string { return "rs#" + name }
