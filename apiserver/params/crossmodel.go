package params

import (
	"encoding/json"

	"juju/state/entity"
)

// An AddApplicationOffers is the parameter of ApplicationOffers Offer.
type AddApplicationOffers struct {
	Offers []AddApplicationOffer `json:"Offers"`
}

// An AddApplicationOffer describes a new offer. Endpoints has the names of endpoints, each under itself.
type AddApplicationOffer struct {
	ModelTag        Tag               `json:"model-tag"`
	OwnerTag        Tag               `json:"owner-tag,omitempty"`
	OfferName       string            `json:"offer-name"`
	ApplicationName string            `json:"application-name"`
	Description     string            `json:"application-description"`
	Endpoints       map[string]string `json:"endpoints"`
}

// An OfferFilters is the parameter of ListApplicationOffers and FindApplicationOffers: offers that match one of them.
type OfferFilters struct {
	Filters []OfferFilter `json:"Filters"`
}

// An OfferFilter selects offers; an empty field selects all.
type OfferFilter struct {
	OwnerName       string                     `json:"owner-name"`
	ModelName       string                     `json:"model-name"`
	OfferName       string                     `json:"offer-name"`
	ApplicationName string                     `json:"application-name"`
	Description     string                     `json:"application-description"`
	ApplicationUser string                     `json:"application-user"`
	Endpoints       []EndpointFilterAttributes `json:"endpoints"`
	ConnectedUsers  []string                   `json:"connected-users"`
	AllowedUsers    []string                   `json:"allowed-users"`
}

// An EndpointFilterAttributes selects endpoints.
type EndpointFilterAttributes struct {
	Role      string `json:"role"`
	Interface string `json:"interface"`
	Name      string `json:"name"`
}

// An OfferURLs names offers.
type OfferURLs struct {
	OfferURLs []string `json:"offer-urls,omitempty"`
}

// A DestroyApplicationOffers is the parameter of DestroyOffers.
type DestroyApplicationOffers struct {
	OfferURLs []string `json:"offer-urls"`
	Destruction
}

// A RemoteEndpoint is an endpoint of an offered service.
type RemoteEndpoint struct {
	entity.RemoteEndpoint
	Limit int `json:"limit"`
}

// An ApplicationOfferDetails describes an offer to those who may use it.
type ApplicationOfferDetails struct {
	SourceModelTag Tag                `json:"source-model-tag"`
	OfferUUID      string             `json:"offer-uuid"`
	OfferURL       string             `json:"offer-url"`
	OfferName      string             `json:"offer-name"`
	Description    string             `json:"application-description"`
	Endpoints      []RemoteEndpoint   `json:"endpoints,omitempty"`
	Users          []OfferUserDetails `json:"users,omitempty"`
}

// An OfferUserDetails is a user's access to an offer.
type OfferUserDetails struct {
	UserName    string `json:"user"`
	DisplayName string `json:"display-name"`
	Access      string `json:"access"`
}

// An ApplicationOfferAdminDetails also has what only its administrators see.
type ApplicationOfferAdminDetails struct {
	ApplicationOfferDetails
	ApplicationName string            `json:"application-name"`
	CharmURL        string            `json:"charm-url"`
	Connections     []OfferConnection `json:"connections,omitempty"`
}

// An OfferConnection is a relation that uses an offer.
type OfferConnection struct {
	SourceModelTag Tag          `json:"source-model-tag"`
	RelationID     int          `json:"relation-id"`
	Username       string       `json:"username"`
	Endpoint       string       `json:"endpoint"`
	Status         EntityStatus `json:"status"`
	IngressSubnets []string     `json:"ingress-subnets"`
}

// A QueryApplicationOffersResults is the result of ListApplicationOffers and FindApplicationOffers.
type QueryApplicationOffersResults struct {
	Results []ApplicationOfferAdminDetails `json:"results"`
}

// An ApplicationOffersResults is the result of ApplicationOffers.
type ApplicationOffersResults struct {
	Results []ApplicationOfferResult `json:"results,omitempty"`
}

// An ApplicationOfferResult is one offer, or an error.
type ApplicationOfferResult struct {
	Result *ApplicationOfferAdminDetails `json:"result,omitempty"`
	Error  *Error                        `json:"error,omitempty"`
}

// A ConsumeOfferDetailsArg is the parameter of GetConsumeDetails.
type ConsumeOfferDetailsArg struct {
	OfferURLs OfferURLs `json:"offer-urls"`
	UserTag   Tag       `json:"user-tag,omitempty"`
}

// A ConsumeOfferDetails is what Consume needs to know of an offer.
type ConsumeOfferDetails struct {
	Offer *ApplicationOfferDetails `json:"offer,omitempty"`
	ExternalAccess
}

// An ExternalAccess is what a model of another controller needs to use an offer: a macaroon that allows it, and how the
// offer's controller is reached.
type ExternalAccess struct {
	Macaroon           json.RawMessage         `json:"macaroon,omitempty"`
	ExternalController *ExternalControllerInfo `json:"external-controller,omitempty"`
}

// An ExternalControllerInfo says how a controller is reached from another.
type ExternalControllerInfo struct {
	ControllerTag Tag      `json:"controller-tag"`
	Alias         string   `json:"controller-alias"`
	Addrs         []string `json:"addrs"`
	CACert        string   `json:"ca-cert" limit:"file"`
}

// ExternalOf returns an External in the wire format.
func ExternalOf(e entity.External) ExternalAccess {
	controller := TagOf(entity.Tag{Kind: entity.KindController, ID: e.Controller})
	return ExternalAccess{json.RawMessage(e.Token), &ExternalControllerInfo{controller, e.Name, e.Addresses, e.CACert}}
}

// External is the inverse of ExternalOf; nil if there is nothing.
func (a ExternalAccess) External() *entity.External {
	c := a.ExternalController
	if c == nil {
		return nil
	}
	return &entity.External{Controller: c.ControllerTag.ID, Name: c.Alias, Addresses: c.Addrs, CACert: c.CACert, Token: string(a.Macaroon)}
}

// A ConsumeOfferDetailsResults is the result of GetConsumeDetails.
type ConsumeOfferDetailsResults struct {
	Results []ConsumeOfferDetailsResult `json:"results,omitempty"`
}

// A ConsumeOfferDetailsResult is one offer, or an error.
type ConsumeOfferDetailsResult struct {
	ConsumeOfferDetails
	Error *Error `json:"error,omitempty"`
}

// A ConsumeApplicationArgs is the parameter of Application Consume.
type ConsumeApplicationArgs struct {
	Args []ConsumeApplicationArg `json:"args,omitempty"`
}

// A ConsumeApplicationArg names an offer, and the remote service to make of it.
type ConsumeApplicationArg struct {
	ApplicationOfferDetails
	ExternalAccess
	ApplicationAlias string `json:"application-alias,omitempty"`
}

// A DestroyConsumedApplicationsParams is the parameter of Application DestroyConsumedApplications.
type DestroyConsumedApplicationsParams struct {
	Applications []DestroyConsumedApplicationParams `json:"applications"`
}

// A DestroyConsumedApplicationParams names a remote service to remove.
type DestroyConsumedApplicationParams struct {
	ApplicationTag Tag `json:"application-tag"`
	Destruction
}

// A RelationSuspendedArgs is the parameter of Application SetRelationsSuspended.
type RelationSuspendedArgs struct {
	Args []RelationSuspendedArg `json:"args"`
}

// A RelationSuspendedArg suspends or resumes a relation.
type RelationSuspendedArg struct {
	RelationID int    `json:"relation-id"`
	Message    string `json:"message" limit:"file"`
	Suspended  bool   `json:"suspended"`
}

// A ModifyOfferAccessRequest is the parameter of ModifyOfferAccess.
type ModifyOfferAccessRequest struct {
	Changes []ModifyOfferAccess `json:"changes"`
}

// A ModifyOfferAccess grants or revokes a level of access to an offer.
type ModifyOfferAccess struct {
	UserTag  Tag    `json:"user-tag"`
	Action   string `json:"action"`
	Access   string `json:"access"`
	OfferURL string `json:"offer-url"`
}

// A RemoteApplicationStatus is the status of a remote service.
type RemoteApplicationStatus struct {
	OfferURL  string              `json:"offer-url"`
	OfferName string              `json:"offer-name"`
	Endpoints []RemoteEndpoint    `json:"endpoints"`
	Life      string              `json:"life"`
	Relations map[string][]string `json:"relations"`
	Status    DetailedStatus      `json:"status"`
}

// An ApplicationOfferStatus is the status of an offer.
type ApplicationOfferStatus struct {
	OfferName            string                    `json:"offer-name"`
	ApplicationName      string                    `json:"application-name"`
	CharmURL             string                    `json:"charm"`
	Endpoints            map[string]RemoteEndpoint `json:"endpoints"`
	Life                 string                    `json:"life,omitempty"` // not in Juju
	ActiveConnectedCount int                       `json:"active-connected-count"`
	TotalConnectedCount  int                       `json:"total-connected-count"`
}

func remoteEndpoints(list []entity.RemoteEndpoint) []RemoteEndpoint {
	out := make([]RemoteEndpoint, 0, len(list))
	for _, e := range list {
		out = append(out, RemoteEndpoint{RemoteEndpoint: e})
	}
	return out
}

func endpointsFrom(list []RemoteEndpoint) (out []entity.RemoteEndpoint) {
	for _, e := range list {
		out = append(out, e.RemoteEndpoint)
	}
	return out
}

// OfferOf returns an offer in the wire format.
func OfferOf(o entity.Offer) ApplicationOfferAdminDetails {
	d := ApplicationOfferAdminDetails{ApplicationOfferDetails: ApplicationOfferDetails{SourceModelTag: TagOf(entity.ModelTag(o.Model)),
		OfferUUID: o.UUID, OfferURL: o.URL, OfferName: o.Name, Description: o.Description, Endpoints: remoteEndpoints(o.Endpoints)},
		ApplicationName: o.Service, CharmURL: o.CharmURL}
	for _, u := range o.Users {
		d.Users = append(d.Users, OfferUserDetails{u.User, u.DisplayName, u.Access})
	}
	for _, c := range o.Connections {
		status := c.Status()
		d.Connections = append(d.Connections, OfferConnection{SourceModelTag: TagOf(entity.ModelTag(c.Model)), RelationID: c.Relation,
			Username: entity.UserOf(c.User), Endpoint: c.Endpoint, Status: *StatusOf(status), IngressSubnets: append([]string{}, c.Ingress...)})
	}
	return d
}

// Read is the inverse of OfferOf.
func (d ApplicationOfferAdminDetails) Read() entity.Offer {
	o := entity.Offer{Name: d.OfferName, UUID: d.OfferUUID, Service: d.ApplicationName, CharmURL: d.CharmURL, Description: d.Description,
		URL: d.OfferURL, Model: d.SourceModelTag.ID, Endpoints: endpointsFrom(d.Endpoints)}
	for _, u := range d.Users {
		o.Users = append(o.Users, entity.OfferUser{User: u.UserName, DisplayName: u.DisplayName, Access: u.Access})
	}
	for _, w := range d.Connections {
		c := entity.Connection{Relation: w.RelationID, Model: w.SourceModelTag.ID, User: w.Username, Endpoint: w.Endpoint,
			Ingress: w.IngressSubnets, Since: w.Status.Read().Since}
		switch w.Status.Status {
		case "broken":
			c.Life = entity.Dying
		case "suspended":
			c.Suspended, c.Message = true, w.Status.Info
		}
		o.Connections = append(o.Connections, c)
	}
	return o
}

func offersOf(list []entity.OfferStatus) map[string]ApplicationOfferStatus {
	out := make(map[string]ApplicationOfferStatus, len(list))
	for _, o := range list {
		w := ApplicationOfferStatus{OfferName: o.Name, ApplicationName: o.Service, CharmURL: o.CharmURL, Life: lifeOf(o.Life),
			Endpoints: map[string]RemoteEndpoint{}, ActiveConnectedCount: o.Active, TotalConnectedCount: o.Total}
		for _, e := range o.Endpoints {
			w.Endpoints[e.Name] = RemoteEndpoint{RemoteEndpoint: e}
		}
		out[o.Name] = w
	}
	return out
}

func offersFrom(offers map[string]ApplicationOfferStatus) (out []entity.OfferStatus) {
	for _, name := range entity.NaturalKeys(offers) {
		w := offers[name]
		o := entity.OfferStatus{Name: name, Life: lifeFrom(w.Life), Service: w.ApplicationName, CharmURL: w.CharmURL,
			Active: w.ActiveConnectedCount, Total: w.TotalConnectedCount}
		for _, end := range entity.NaturalKeys(w.Endpoints) {
			o.Endpoints = append(o.Endpoints, w.Endpoints[end].RemoteEndpoint)
		}
		out = append(out, o)
	}
	return out
}

func remotesOf(list []entity.RemoteStatus) map[string]RemoteApplicationStatus {
	out := make(map[string]RemoteApplicationStatus, len(list))
	for _, r := range list {
		out[r.Name] = RemoteApplicationStatus{OfferURL: r.URL, OfferName: r.Name, Endpoints: remoteEndpoints(r.Endpoints),
			Life: lifeOf(r.Life), Relations: orEmpty(r.Relations), Status: detailed(r.Status, r.Life)}
	}
	return out
}

func remotesFrom(remotes map[string]RemoteApplicationStatus) (out []entity.RemoteStatus) {
	for _, name := range entity.NaturalKeys(remotes) {
		w := remotes[name]
		r := entity.RemoteStatus{Name: name, URL: w.OfferURL, Endpoints: endpointsFrom(w.Endpoints)}
		if len(w.Relations) > 0 {
			r.Relations = w.Relations
		}
		r.Status, r.Life = w.Status.read()
		out = append(out, r)
	}
	return out
}
