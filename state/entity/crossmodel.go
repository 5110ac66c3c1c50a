package entity

import (
	"crypto/x509"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A RemoteEndpoint is an endpoint of an offered service.
type RemoteEndpoint struct {
	Name      string `json:"name"`
	Role      string `json:"role"`
	Interface string `json:"interface"`
}

// A NewOffer describes an offer to add.
type NewOffer struct {
	Name        string
	Service     string
	Endpoints   []string
	Description string
}

// An Offer lets services of other models relate to some endpoints of a service.
type Offer struct {
	Name        string           `json:"name"`
	UUID        string           `json:"uuid"`
	Service     string           `json:"service"`
	CharmURL    string           `json:"charm-url"`
	Description string           `json:"description,omitempty"`
	Life        Life             `json:"life"`
	Endpoints   []RemoteEndpoint `json:"endpoints"`
	Connections []Connection     `json:"connections,omitempty"`

	// How users find it, and who may use it.
	URL   string      `json:"url"`
	Model string      `json:"model"` // its UUID
	Users []OfferUser `json:"users,omitempty"`
}

// OfferLevels are the levels of access to an offer. Each includes those before it.
var OfferLevels = []string{"read", "consume", "admin"}

// An OfferUser is a user's access to an offer.
type OfferUser struct {
	User, DisplayName, Access string
}

// An OfferFilter selects offers; an empty field selects all.
type OfferFilter struct {
	Owner, Model, Name, Service string
	Endpoint, Interface, Role   string
	ConnectedUser, AllowedUser  string
}

// A Connection is a relation with a service of another model, on either side.
type Connection struct {
	Relation  int    // its number
	Life      Life   // its life
	Endpoint  string // the name of its own service's endpoint
	Suspended bool
	Message   string    // why it is suspended
	Since     time.Time `json:",omitzero"` // when it began to live so, or was last suspended or resumed

	Model string // the other
	User  string // a principal: who consumed the offer
	Offer string // its UUID
	// Token is the id of the token if a model of another controller consumes; "" on the consuming side.
	Token string

	// Consumes means that the other model has the offer. Then Remote is the remote service and Joined says that the
	// other model has the relation too.
	Consumes bool
	Remote   string
	Far      string // the name of the remote service's endpoint
	Joined   bool
	Near     NearEnd

	// If the other model consumes, OfferName is the offer that it uses, and Counterpart is the number of the relation there.
	OfferName   string
	Counterpart int
	// Ingress are the subnets that its connections come from, which the offered service's ports are open to.
	Ingress []string
}

// Status returns the status of a connection, as users see it.
func (c Connection) Status() Status {
	switch {
	case c.Life != Alive:
		return Status{Status: "broken", Since: c.Since}
	case c.Suspended:
		return Status{Status: "suspended", Message: c.Message, Since: c.Since}
	}
	return Status{Status: "joined", Since: c.Since}
}

// A NearEnd is the end of a relation with a remote service that the other model gets to know.
type NearEnd struct {
	Service string `json:"service"`
	RemoteEndpoint
}

// Members are the units of a model's own service in a relation, by number, with their settings, and the settings that
// their leader has set. Egress are the subnets that their connections come from, if the model consumes.
//
// Secrets are those of the model that has the offer, by ID. From there come those that the relation shares: the latest revision
// of each, and then those that it takes for tracked in the other model. From there come those that the units of its service
// really track.
//
// They can be a part of all: those whose numbers are at least First and, unless End is 0, less than End. Application and
// Secrets are nil in parts that don't have them.
type Members struct {
	Units       map[int]map[string]string
	Application map[string]string
	Secrets     map[string][]int `json:",omitzero"`
	Egress      []string         `json:",omitempty"`
	First       int              `json:",omitempty"`
	End         int              `json:",omitempty"`
}

// Has reports whether a number is of this part of all members.
func (m Members) Has(n int) bool { return n >= m.First && (m.End == 0 || n < m.End) }

// Split returns parts that together say the same; none if there is at most one unit, and nothing else.
func (m Members) Split() []Members {
	numbers := slices.Sorted(maps.Keys(m.Units))
	part := func(first, end int, numbers []int, whole Members) Members {
		p := Members{Units: map[int]map[string]string{}, Application: whole.Application, Secrets: whole.Secrets, Egress: m.Egress, First: first, End: end}
		for _, n := range numbers {
			p.Units[n] = m.Units[n]
		}
		return p
	}
	switch half := len(numbers) / 2; {
	case half > 0:
		cut := numbers[half]
		return []Members{part(m.First, cut, numbers[:half], m), part(cut, m.End, numbers[half:], Members{})}
	case len(numbers) == 0, m.Application == nil && m.Secrets == nil && m.First == numbers[0] && m.End == numbers[0]+1:
		return nil
	}
	n := numbers[0]
	parts := []Members{part(n, n+1, numbers, Members{}), part(n+1, m.End, nil, m)}
	if n > m.First {
		parts = append(parts, part(m.First, n, nil, Members{}))
	}
	return parts
}

// A Consumed describes a service of another model that is to be used.
type Consumed struct {
	Name      string // in the model that uses it
	Model     string // that has it
	Offer     string // a UUID
	URL       string
	User      string // the principal of who consumes it
	Endpoints []RemoteEndpoint
	External  *External // nil if the model is of the same controller
}

// An External says how to reach the controller that has an offer, and what it accepts as proof that the user may consume
// the offer.
type External struct {
	Controller string   // its UUID
	Name       string   // the consuming user's name for it
	Addresses  []string // "host:port"
	CACert     string   // PEM
	ID         string   // the token's
	Token      string   // a macaroon in JSON, version 1
}

// maxAddresses limits the number of addresses of another controller.
const maxAddresses = 64

// Check returns the error Invalid unless the other controller can be reached with what is given.
func (e External) Check() error {
	bad := func(what string) error {
		return WithHint(Errorf(Invalid, "the other controller's %s not valid", what),
			"Pass on what GetConsumeDetails has returned there.")
	}
	switch {
	case !IsValidUUID(e.Controller):
		return bad("tag is")
	case len(e.Addresses) == 0 || len(e.Addresses) > maxAddresses:
		return bad("list of addresses is")
	case !x509.NewCertPool().AppendCertsFromPEM([]byte(e.CACert)):
		return bad("CA certificate is")
	}
	for _, a := range e.Addresses {
		if host, port, err := net.SplitHostPort(a); err != nil || host == "" || port == "" {
			return bad("address " + strconv.Quote(Cut(a, 100)) + " is")
		}
	}
	return nil
}

// An OfferURL names an offer: "bob/shop.mysql".
type OfferURL struct {
	User, Model, Offer string
}

// String returns the notation of users.
func (u OfferURL) String() string { return u.User + "/" + u.Model + "." + u.Offer }

// IsOfferURL reports whether a text can be an offer's URL, rather than the name of a model or service: it has a dot after
// the user's name.
func IsOfferURL(text string) bool {
	return strings.Contains(text[strings.LastIndex(text, "/")+1:], ".")
}

// ParseOfferURL parses an offer's URL. The user may be missing, and before it there may be a controller's name, which
// must be the given one. The errors are Invalid.
func ParseOfferURL(text, controller string) (OfferURL, error) {
	bad := WithHint(Errorf(Invalid, "offer URL %q is not valid", text),
		"An offer's URL is a model and an offer, with the model's owner if that is another user: shop.mysql, bob/shop.mysql")
	rest := text
	if of, after, named := strings.Cut(text, ":"); named {
		if of != controller {
			return OfferURL{}, WithHint(Errorf(NotSupported, "offers of another controller, %q, can't be used", of),
				"To use it in the model: juju consume %s", text)
		}
		rest = after
	}
	var u OfferURL
	user, rest, owned := strings.Cut(rest, "/")
	if owned {
		if u.User = user; !IsValidUser(user) {
			return OfferURL{}, bad
		}
	} else {
		rest = user
	}
	var dotted bool
	if u.Model, u.Offer, dotted = strings.Cut(rest, "."); !dotted || !IsValidModel(u.Model) || !IsValidService(u.Offer) {
		return OfferURL{}, bad
	}
	return u, nil
}

// RemoteStatus describes a remote service to users.
type RemoteStatus struct {
	Name      string              `json:"name"`
	Life      Life                `json:"life"`
	URL       string              `json:"url"`
	Endpoints []RemoteEndpoint    `json:"endpoints"`
	Status    Status              `json:"status"`              // of the service that is offered
	Relations map[string][]string `json:"relations,omitempty"` // endpoint → the services at the other ends, sorted
}

// An OfferStatus describes an offer to users of its own model.
type OfferStatus struct {
	Name      string           `json:"name"`
	Life      Life             `json:"life"`
	Service   string           `json:"service"`
	CharmURL  string           `json:"charm-url"`
	Endpoints []RemoteEndpoint `json:"endpoints"`
	Active    int              `json:"active"` // the relations that use it and are not suspended
	Total     int              `json:"total"`
}

// Counted returns a number of things in words: "1 offer", "2 offers".
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
