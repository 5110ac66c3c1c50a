package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// The methods about offers need a connection to the controller itself, or to any model.

func (c *Conn) offers(ctx context.Context, method string, args, result any) error {
	return c.call(ctx, "ApplicationOffers", 5, method, args, result)
}

// AddOffer offers endpoints of a service of a model.
func (c *Conn) AddOffer(ctx context.Context, model string, o entity.NewOffer) error {
	offer := params.AddApplicationOffer{ModelTag: params.TagOf(entity.ModelTag(model)), OfferName: o.Name, ApplicationName: o.Service,
		Description: o.Description, Endpoints: map[string]string{}}
	for _, name := range o.Endpoints {
		offer.Endpoints[name] = name
	}
	var result params.ErrorResults
	if err := c.offers(ctx, "Offer", params.AddApplicationOffers{Offers: []params.AddApplicationOffer{offer}}, &result); err != nil {
		return err
	}
	return only(result.Results)
}

// FindOffers returns the offers that the user may see and a filter selects.
func (c *Conn) FindOffers(ctx context.Context, f entity.OfferFilter) ([]entity.Offer, error) {
	filter := params.OfferFilter{OwnerName: f.Owner, ModelName: f.Model, OfferName: f.Name, ApplicationName: f.Service}
	if f.Endpoint+f.Interface+f.Role != "" {
		filter.Endpoints = []params.EndpointFilterAttributes{{Role: f.Role, Interface: f.Interface, Name: f.Endpoint}}
	}
	if f.ConnectedUser != "" {
		filter.ConnectedUsers = []string{entity.UserTag(f.ConnectedUser).String()}
	}
	if f.AllowedUser != "" {
		filter.AllowedUsers = []string{entity.UserTag(f.AllowedUser).String()}
	}
	var result params.QueryApplicationOffersResults
	if err := c.offers(ctx, "FindApplicationOffers", params.OfferFilters{Filters: []params.OfferFilter{filter}}, &result); err != nil {
		return nil, err
	}
	var all []entity.Offer
	for _, r := range result.Results {
		all = append(all, r.Read())
	}
	return all, nil
}

// Offer returns the offer with a URL.
func (c *Conn) Offer(ctx context.Context, url string) (entity.Offer, error) {
	var result params.ApplicationOffersResults
	if err := c.offers(ctx, "ApplicationOffers", params.OfferURLs{OfferURLs: []string{url}}, &result); err != nil {
		return entity.Offer{}, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return entity.Offer{}, err
	}
	return offerOf(result.Results[0].Result, result.Results[0].Error)
}

// offerOf returns the offer that one result has, or its error.
func offerOf(offer *params.ApplicationOfferAdminDetails, refusal *params.Error) (entity.Offer, error) {
	if err := params.FromError(refusal); err != nil {
		return entity.Offer{}, err
	}
	if offer == nil {
		return entity.Offer{}, entity.Errorf(entity.Unavailable, "the controller gave no offer")
	}
	return offer.Read(), nil
}

// RemoveOffers removes offers by URL. It returns an error or nil for each, in order.
func (c *Conn) RemoveOffers(ctx context.Context, how entity.Destruction, urls ...string) ([]error, error) {
	var result params.ErrorResults
	err := c.offers(ctx, "DestroyOffers", params.DestroyApplicationOffers{OfferURLs: urls, Destruction: params.FromDestruction(how)}, &result)
	return each(len(urls), result.Results, err)
}

// ModifyOfferAccess grants or revokes a level of access to offers. It returns an error or nil for each, in order.
func (c *Conn) ModifyOfferAccess(ctx context.Context, action, user, level string, urls ...string) ([]error, error) {
	var args params.ModifyOfferAccessRequest
	for _, url := range urls {
		args.Changes = append(args.Changes, params.ModifyOfferAccess{UserTag: params.TagOf(entity.UserTag(user)), Action: action, Access: level, OfferURL: url})
	}
	var result params.ErrorResults
	err := c.offers(ctx, "ModifyOfferAccess", args, &result)
	return each(len(urls), result.Results, err)
}

// The other methods need a connection to the model.

// ConsumeDetails returns the offer with a URL if the user may consume it, in the model or, with what is returned of the
// controller, in one of another controller.
func (c *Conn) ConsumeDetails(ctx context.Context, url string) (entity.Offer, *entity.External, error) {
	args := params.ConsumeOfferDetailsArg{OfferURLs: params.OfferURLs{OfferURLs: []string{url}}}
	var result params.ConsumeOfferDetailsResults
	if err := c.offers(ctx, "GetConsumeDetails", args, &result); err != nil {
		return entity.Offer{}, nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return entity.Offer{}, nil, err
	}
	one := result.Results[0]
	var details *params.ApplicationOfferAdminDetails
	if one.Offer != nil {
		details = &params.ApplicationOfferAdminDetails{ApplicationOfferDetails: *one.Offer}
	}
	offer, err := offerOf(details, one.Error)
	return offer, one.External(), err
}

// CheckUsers checks that the user may grant access to offers of the model, and returns an error or nil for each of the users
// to whom: it is NotFound if there is none.
func (c *Conn) CheckUsers(ctx context.Context, names ...string) ([]error, error) {
	args := params.Entities{Entities: []params.Entity{}}
	for _, name := range names {
		args.Entities = append(args.Entities, params.Entity{Tag: params.TagOf(entity.UserTag(name))})
	}
	var result params.ErrorResults
	err := c.offers(ctx, "CheckUsers", args, &result)
	return each(len(names), result.Results, err)
}

// Consume makes an offer available in the model under a name.
func (c *Conn) Consume(ctx context.Context, url, name string) error {
	return c.consume(ctx, params.ConsumeApplicationArg{ApplicationOfferDetails: params.ApplicationOfferDetails{OfferURL: url}, ApplicationAlias: name})
}

// ConsumeExternal makes an offer of another controller available in the model under a name. It takes what ConsumeDetails
// has returned there.
func (c *Conn) ConsumeExternal(ctx context.Context, o entity.Offer, e entity.External, name string) error {
	return c.consume(ctx, params.ConsumeApplicationArg{ApplicationOfferDetails: params.OfferOf(o).ApplicationOfferDetails,
		ExternalAccess: params.ExternalOf(e), ApplicationAlias: name})
}

func (c *Conn) consume(ctx context.Context, arg params.ConsumeApplicationArg) error {
	args := params.ConsumeApplicationArgs{Args: []params.ConsumeApplicationArg{arg}}
	var result params.ErrorResults
	if err := c.application(ctx, "Consume", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}

// RemoveRemotes removes remote services. It returns an error or nil for each, in order.
func (c *Conn) RemoveRemotes(ctx context.Context, how entity.Destruction, names ...string) ([]error, error) {
	var args params.DestroyConsumedApplicationsParams
	for _, name := range names {
		args.Applications = append(args.Applications, params.DestroyConsumedApplicationParams{
			ApplicationTag: params.TagOf(entity.ServiceTag(name)), Destruction: params.FromDestruction(how)})
	}
	var result params.ErrorResults
	err := c.application(ctx, "DestroyConsumedApplications", args, &result)
	return each(len(names), result.Results, err)
}

// SuspendRelations suspends or resumes relations. It returns an error or nil for each, in order.
func (c *Conn) SuspendRelations(ctx context.Context, suspended bool, message string, ids ...int) ([]error, error) {
	var args params.RelationSuspendedArgs
	for _, id := range ids {
		args.Args = append(args.Args, params.RelationSuspendedArg{RelationID: id, Message: message, Suspended: suspended})
	}
	var result params.ErrorResults
	err := c.application(ctx, "SetRelationsSuspended", args, &result)
	return each(len(ids), result.Results, err)
}
