package facades

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

// Every user may call the methods of ApplicationOffers. They check the caller's access to each model and offer, and a
// caller without any does not learn whether an offer exists.

// A foundOffer is an offer that the caller may see.
type foundOffer struct {
	entity.Offer
	access string // the caller's
}

// modelAt opens a model to read its offers. A plan has a copy of its own model only, and reads others as they are.
func (c *Caller) modelAt(ctx context.Context, uuid string) (*state.State, error) {
	if c.others != nil && uuid != c.Model.UUID() {
		return c.others.Model(ctx, uuid)
	}
	return c.Controller.Model(ctx, uuid)
}

// toChange opens a model to change its offers. A plan can't change other models.
func (c *Caller) toChange(ctx context.Context, uuid string) (*state.State, error) {
	if c.others != nil && uuid != c.Model.UUID() {
		return nil, entity.Errorf(entity.NotSupported, "cannot plan a change of another model")
	}
	return c.Controller.Model(ctx, uuid)
}

// offersIn returns the offers of a model, or those with names, that the caller may see. Only their administrators see who else
// uses them.
func (c *Caller) offersIn(ctx context.Context, row controller.ModelRow,
	names ...string) (found []foundOffer, err error) {
	st, err := c.modelAt(ctx, row.UUID)
	if entity.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	all, err := st.CrossModel().Offers(ctx, names...)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		access, err := c.Controller.OfferAccess(ctx, c.Tag.ID, row.UUID, o.UUID)
		if err != nil {
			return nil, err
		}
		if access == "" {
			continue
		}
		o.Model, o.URL = row.UUID, entity.OfferURL{User: row.Owner, Model: row.Name, Offer: o.Name}.String()
		users, err := c.Controller.OfferUsers(ctx, row.UUID, o.UUID)
		if err != nil {
			return nil, err
		}
		for _, u := range users {
			if access == controller.AccessAdmin || strings.EqualFold(u.Name, c.Tag.ID) {
				o.Users = append(o.Users, entity.OfferUser{User: u.Name, DisplayName: u.DisplayName, Access: u.Access})
			}
		}
		if access != controller.AccessAdmin {
			o.Service, o.CharmURL, o.Connections = "", "", nil
		}
		found = append(found, foundOffer{o, access})
	}
	return found, nil
}

// offerAt returns the offer with a URL.
func (c *Caller) offerAt(ctx context.Context, url string) (foundOffer, error) {
	u, err := entity.ParseOfferURL(url, c.Controller.Name())
	if err != nil {
		return foundOffer{}, err
	}
	if u.User == "" {
		u.User = c.Tag.ID
	}
	row, err := c.Controller.ModelNamed(ctx, u.User, u.Model)
	if entity.IsNotFound(err) { // the owner was added in another case, which does not matter
		if owner, uerr := c.Controller.User(ctx, u.User); uerr == nil && owner.Name != u.User {
			row, err = c.Controller.ModelNamed(ctx, owner.Name, u.Model)
		}
	}
	var found []foundOffer
	if err == nil {
		found, err = c.offersIn(ctx, row, u.Offer)
	}
	switch {
	case len(found) > 0:
		return found[0], nil
	case err != nil && !entity.IsNotFound(err):
		return foundOffer{}, err
	}
	return foundOffer{}, entity.WithHint(entity.Errorf(entity.NotFound, "offer %q not found", u), "To list the offers that you may use: juju find-offers")
}

// needs returns the error unless the caller has a level of access to the offer.
func (o foundOffer) needs(c *Caller, level string, has bool) error {
	if has {
		return nil
	}
	return entity.WithHint(Denied(), "This needs %q access to offer %s; %s has %q. An administrator can grant it: juju grant %[3]s %[1]s %[2]s",
		level, o.URL, c.Tag.ID, o.access)
}

func applicationOffersOffer(ctx context.Context, c *Caller,
	p params.AddApplicationOffers) (params.ErrorResults, error) {
	return outcomes(c, "Offer", p.Offers, func(o params.AddApplicationOffer) error {
		if err := isKind(o.ModelTag, entity.KindModel); err != nil {
			return err
		}
		id, err := c.at(ctx, o.ModelTag.ID)
		if err != nil {
			return err
		}
		if id.Roles&Admin == 0 {
			return c.lacksModelAdmin(ctx, o.ModelTag.ID, id.ModelAccess)
		}
		st, err := c.toChange(ctx, o.ModelTag.ID)
		if err != nil {
			return err
		}
		if err := Changes.AllowedAt(ctx, st); err != nil {
			return err
		}
		for as, name := range o.Endpoints {
			if as != name {
				return entity.Errorf(entity.NotSupported, "endpoint %q can't be offered as %q: endpoints keep their names", name,
					as)
			}
		}
		offer := entity.NewOffer{Name: o.OfferName, Service: o.ApplicationName, Description: o.Description,
			Endpoints: slices.Collect(maps.Values(o.Endpoints))}
		if offer.Name == "" {
			offer.Name = offer.Service
		}
		return st.CrossModel().AddOffer(ctx, offer)
	}), nil
}

func applicationOffersFind(ctx context.Context, c *Caller,
	p params.OfferFilters) (params.QueryApplicationOffersResults, error) {
	results := params.QueryApplicationOffersResults{Results: []params.ApplicationOfferAdminDetails{}}
	if len(p.Filters) == 0 {
		return results, entity.Errorf(entity.Invalid, "at least one offer filter is required")
	}
	for _, f := range p.Filters {
		for _, text := range slices.Concat(f.ConnectedUsers, f.AllowedUsers) {
			if tag, err := params.ParseTag(text); err != nil || tag.Kind != entity.KindUser {
				return results, entity.Errorf(entity.Invalid, "invalid user tag %q in an offer filter", text)
			}
		}
	}
	rows, err := c.Controller.Models(ctx)
	if err != nil {
		return results, err
	}
	for _, row := range rows {
		filters := slices.DeleteFunc(slices.Clone(p.Filters), func(f params.OfferFilter) bool {
			return !fits(f.OwnerName, row.Owner) || !fits(f.ModelName, row.Name)
		})
		if len(filters) == 0 {
			continue
		}
		all, err := c.offersIn(ctx, row)
		if err != nil {
			return results, err
		}
		for _, o := range all {
			if slices.ContainsFunc(filters, func(f params.OfferFilter) bool { return selects(f, o.Offer) }) {
				results.Results = append(results.Results, params.OfferOf(o.Offer))
			}
		}
	}
	return results, c.keep(ctx, results)
}

// fits reports whether a field of a filter fits a value; an empty one fits all.
func fits(want, has string) bool { return want == "" || strings.EqualFold(want, has) }

// selects reports whether a filter for an offer's model selects the offer.
func selects(f params.OfferFilter, o entity.Offer) bool {
	if !fits(f.OfferName, o.Name) || !fits(f.ApplicationName, o.Service) ||
		!strings.Contains(o.Description, f.Description) {
		return false
	}
	user := func(tag string) string {
		t, _ := params.ParseTag(tag)
		return t.ID
	}
	for _, tag := range f.ConnectedUsers {
		if !slices.ContainsFunc(o.Connections, func(x entity.Connection) bool {
			return fits(user(tag), entity.UserOf(x.User))
		}) {
			return false
		}
	}
	for _, tag := range f.AllowedUsers {
		if !slices.ContainsFunc(o.Users, func(u entity.OfferUser) bool {
			return fits(user(tag), u.User) && controller.MayConsume(u.Access)
		}) {
			return false
		}
	}
	return len(f.Endpoints) == 0 || slices.ContainsFunc(f.Endpoints, func(want params.EndpointFilterAttributes) bool {
		return slices.ContainsFunc(o.Endpoints, func(e entity.RemoteEndpoint) bool {
			return fits(want.Name, e.Name) && fits(want.Interface, e.Interface) && fits(want.Role, e.Role)
		})
	})
}

func applicationOffersGet(ctx context.Context, c *Caller, p params.OfferURLs) (params.ApplicationOffersResults, error) {
	return params.ApplicationOffersResults{Results: each(c, "ApplicationOffers", p.OfferURLs,
		func(e *params.Error) params.ApplicationOfferResult { return params.ApplicationOfferResult{Error: e} },
		func(url string) (params.ApplicationOfferResult, error) {
			o, err := c.offerAt(ctx, url)
			wire := params.OfferOf(o.Offer)
			return params.ApplicationOfferResult{Result: &wire}, err
		})}, nil
}

func applicationOffersDestroy(ctx context.Context, c *Caller,
	p params.DestroyApplicationOffers) (params.ErrorResults, error) {
	how, err := p.Destruction.Read()
	if err != nil {
		return params.ErrorResults{}, err
	}
	return outcomes(c, "DestroyOffers", p.OfferURLs, func(url string) error {
		o, err := c.offerAt(ctx, url)
		if err != nil {
			return err
		}
		if err := o.needs(c, controller.AccessAdmin, o.access == controller.AccessAdmin); err != nil {
			return err
		}
		st, err := c.toChange(ctx, o.Model)
		if err != nil {
			return err
		}
		if err := Removes.AllowedAt(ctx, st); err != nil {
			return err
		}
		offer, err := st.CrossModel().Offer(ctx, o.Name)
		if err == nil {
			err = offer.Destroy(ctx, how)
		}
		if err == nil {
			err = c.Controller.DropOffer(ctx, o.UUID)
		}
		return err
	}), nil
}

func applicationOffersModifyAccess(ctx context.Context, c *Caller,
	p params.ModifyOfferAccessRequest) (params.ErrorResults, error) {
	return outcomes(c, "ModifyOfferAccess", p.Changes, func(change params.ModifyOfferAccess) error {
		if err := isKind(change.UserTag, entity.KindUser); err != nil {
			return err
		}
		o, err := c.offerAt(ctx, change.OfferURL)
		if err != nil {
			return err
		}
		if err := o.needs(c, controller.AccessAdmin, o.access == controller.AccessAdmin); err != nil {
			return err
		}
		st, err := c.toChange(ctx, o.Model)
		if err != nil {
			return err
		}
		if err := Changes.AllowedAt(ctx, st); err != nil {
			return err
		}
		switch change.Action {
		case params.Grant:
			return c.Controller.GrantOffer(ctx, o.Model, o.UUID, change.UserTag.ID, change.Access, c.Tag.ID)
		case params.Revoke:
			return c.Controller.RevokeOffer(ctx, o.Model, o.UUID, change.UserTag.ID, change.Access)
		}
		return unknownAction(change.Action)
	}), nil
}

func applicationOffersConsumeDetails(ctx context.Context, c *Caller,
	p params.ConsumeOfferDetailsArg) (params.ConsumeOfferDetailsResults, error) {
	return params.ConsumeOfferDetailsResults{Results: each(c, "GetConsumeDetails", p.OfferURLs.OfferURLs,
		func(e *params.Error) params.ConsumeOfferDetailsResult {
			return params.ConsumeOfferDetailsResult{Error: e}
		},
		func(url string) (params.ConsumeOfferDetailsResult, error) {
			o, err := c.consumable(ctx, url)
			if err != nil {
				return params.ConsumeOfferDetailsResult{}, err
			}
			wire := params.OfferOf(o).ApplicationOfferDetails
			details := params.ConsumeOfferDetails{Offer: &wire}
			if c.API != nil {
				e := entity.External{Controller: c.Controller.UUID(), Name: c.Controller.Name()}
				e.Addresses, e.CACert = c.API()
				if e.Token, err = c.Controller.NewConsumer(ctx, c.Tag.ID, o.Model, o.UUID); err != nil {
					return params.ConsumeOfferDetailsResult{}, err
				}
				details.ExternalAccess = params.ExternalOf(e)
			}
			return params.ConsumeOfferDetailsResult{ConsumeOfferDetails: details}, nil
		})}, nil
}

// consumable returns the offer with a URL if the caller may consume it, in the model of the connection if that is to one.
func (c *Caller) consumable(ctx context.Context, url string) (entity.Offer, error) {
	o, err := c.offerAt(ctx, url)
	if err == nil {
		err = o.needs(c, controller.AccessConsume, controller.MayConsume(o.access))
	}
	if err == nil && c.Model != nil && o.Model == c.Model.UUID() {
		err = entity.WithHint(entity.Errorf(entity.NotSupported, "cannot consume %s: it is an offer of this model", o.URL),
			"Relate to the service itself: juju add-relation")
	}
	return o.Offer, err
}

// applicationOffersCheckUsers checks that there are the users to whom the caller wants to grant access to offers. Only
// administrators of the model may ask: they could try.
func applicationOffersCheckUsers(ctx context.Context, c *Caller, p params.Entities) (params.ErrorResults, error) {
	return outcomes(c, "CheckUsers", p.Entities, func(e params.Entity) error {
		if err := isKind(e.Tag, entity.KindUser); err != nil {
			return err
		}
		_, err := c.Controller.User(ctx, e.Tag.ID)
		return err
	}), nil
}

// applicationConsume takes nothing from the request but which offer is meant, unless another controller has the offer.
func applicationConsume(ctx context.Context, c *Caller, p params.ConsumeApplicationArgs) (params.ErrorResults, error) {
	return outcomes(c, "Consume", p.Args, func(arg params.ConsumeApplicationArg) error {
		external, err := c.external(arg.External())
		if err != nil {
			return err
		}
		var o entity.Offer
		if external != nil {
			o, err = externalOffer(arg.ApplicationOfferDetails, external.Name)
		} else {
			o, err = c.consumable(ctx, arg.OfferURL)
		}
		if err != nil {
			return err
		}
		principal, err := c.Controller.Principal(ctx, c.Tag.ID)
		if err != nil {
			return err
		}
		consumed := entity.Consumed{Name: arg.ApplicationAlias, Model: o.Model, Offer: o.UUID, URL: o.URL, User: principal, Endpoints: o.Endpoints,
			External: external}
		if consumed.Name == "" {
			consumed.Name = o.Name
		}
		return c.Model.CrossModel().Consume(ctx, consumed)
	}), nil
}

func applicationDestroyConsumed(ctx context.Context, c *Caller,
	p params.DestroyConsumedApplicationsParams) (params.ErrorResults, error) {
	return outcomes(c, "DestroyConsumedApplications", p.Applications,
		func(a params.DestroyConsumedApplicationParams) error {
			if err := isKind(a.ApplicationTag, entity.KindService); err != nil {
				return err
			}
			how, err := a.Destruction.Read()
			if err != nil {
				return err
			}
			r, err := c.Model.CrossModel().Remote(ctx, a.ApplicationTag.ID)
			if err != nil {
				return err
			}
			return r.Destroy(ctx, how)
		}), nil
}

func applicationSetRelationsSuspended(ctx context.Context, c *Caller,
	p params.RelationSuspendedArgs) (params.ErrorResults, error) {
	return outcomes(c, "SetRelationsSuspended", p.Args, func(r params.RelationSuspendedArg) error {
		if !r.Suspended {
			if err := c.mayResume(ctx, r.RelationID); err != nil {
				return err
			}
		}
		return c.Model.CrossModel().SuspendRelation(ctx, r.RelationID, r.Suspended, r.Message)
	}), nil
}

// mayResume rejects that a relation that uses an offer is resumed whose user may no longer consume that: it would be
// suspended again.
func (c *Caller) mayResume(ctx context.Context, relation int) error {
	all, err := c.Model.CrossModel().Connections(ctx)
	i := slices.IndexFunc(all, func(one entity.Connection) bool { return one.Relation == relation && !one.Consumes })
	if err != nil || i < 0 {
		return err
	}
	may, err := c.Controller.MayConsume(ctx, all[i].User, c.Model.UUID(), all[i].Offer)
	if err != nil || may {
		return err
	}
	return entity.WithHint(entity.Errorf(entity.NotSupported,
		"cannot resume relation %d where user %q does not have consume permission",
		relation, entity.UserOf(all[i].User)), "To give it back: juju grant %s consume %s.%s", entity.UserOf(all[i].User),
		c.Model.Name(), all[i].OfferName)
}

// mayRelate rejects relations with remote services whose offers the user who consumed them may no longer use.
func (c *Caller) mayRelate(ctx context.Context, endpoints []string) error {
	remotes, err := c.Model.CrossModel().Consumed(ctx)
	if err != nil {
		return err
	}
	for _, r := range remotes {
		if r.External != nil || !slices.ContainsFunc(endpoints, func(e string) bool {
			return e == r.Name || strings.HasPrefix(e, r.Name+":")
		}) {
			continue // the other controller decides for its offers
		}
		may, err := c.Controller.MayConsume(ctx, r.User, r.Model, r.Offer)
		if err != nil {
			return err
		}
		if !may {
			return entity.WithHint(fmt.Errorf("cannot relate to %q: %w", r.Name, Denied()),
				"Whoever consumed it, %s, has no %q access to offer %s any more.", entity.UserOf(r.User),
				controller.AccessConsume, r.URL)
		}
	}
	return nil
}
