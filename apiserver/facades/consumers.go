package facades

import (
	"cmp"
	"context"
	"strings"

	"juju/apiserver/params"
	"juju/charm"
	"juju/state/controller"
	"juju/state/entity"
)

// Models of other controllers call these methods, with the token that their user got from GetConsumeDetails, while that user
// may consume the offer. They see their offer, and the relations that were made with their token.

func (c *Caller) consumerWatch(ctx context.Context) (<-chan struct{}, error) {
	return c.Model.CrossModel().WatchShared(ctx)
}

func (c *Caller) offerStatus(ctx context.Context) (entity.Status, error) {
	return c.Model.CrossModel().Shown(ctx, c.Consumer.Offer)
}

func (c *Caller) consumerRelations(ctx context.Context) ([]entity.Connection, error) {
	return c.Model.CrossModel().OfConsumer(ctx, c.Consumer.ID)
}

// connectConsumer adds the relation that mirrors one of the consumer.
func (c *Caller) connectConsumer(ctx context.Context, model string, relation int, near entity.NearEnd,
	endpoint string) error {
	role := charm.Role(near.Role)
	switch {
	case !entity.IsValidUUID(model), relation < 0, !entity.IsValidService(near.Service),
		near.Name == "", near.Interface == "",
		role != charm.RoleProvider && role != charm.RoleRequirer:
		return entity.Errorf(entity.Invalid, "the relation with the offer is not valid")
	}
	return c.Model.CrossModel().Connect(ctx, model, entity.Connection{Relation: relation, Near: near, Far: endpoint,
		User: c.Consumer.User, Offer: c.Consumer.Offer, Token: c.Consumer.ID})
}

// consumed returns one of the consumer's relations.
func (c *Caller) consumed(ctx context.Context, relation int) (entity.Connection, error) {
	found, err := c.Model.CrossModel().OfConsumer(ctx, c.Consumer.ID, relation)
	if err != nil {
		return entity.Connection{}, err
	}
	if len(found) == 0 {
		return entity.Connection{}, entity.Errorf(entity.NotFound, "the offer has no relation %d with this consumer", relation)
	}
	return found[0], nil
}

func (c *Caller) endConsumed(ctx context.Context, relation int) error {
	if _, err := c.consumed(ctx, relation); err != nil {
		return err
	}
	return c.Model.CrossModel().End(ctx, relation)
}

// offeredMembers returns the units of the offered service that are in a relation, from a number on; none while it is
// suspended.
func (c *Caller) offeredMembers(ctx context.Context, relation, first int) (entity.Members, error) {
	one, err := c.consumed(ctx, relation)
	if err != nil || one.Suspended {
		return entity.Members{}, err
	}
	return c.Model.CrossModel().Members(ctx, relation, first)
}

func (c *Caller) mirrorConsumer(ctx context.Context, relation int, members entity.Members) error {
	if _, err := c.consumed(ctx, relation); err != nil {
		return err
	}
	return c.Model.CrossModel().Mirror(ctx, relation, members)
}

// sharedSecret returns a revision of a secret that one of the consumer's relations may read, named by the number that it has there;
// the latest if it is 0.
func (c *Caller) sharedSecret(ctx context.Context, model string, relation int, id string,
	revision int) (entity.SecretValue, error) {
	return c.Model.CrossModel().SharedSecret(ctx, model, relation, c.Consumer.ID, id, revision)
}

// external returns how the controller of an offer is reached, from what a client passes on from it; nil if it is this one.
func (c *Caller) external(e *entity.External) (*entity.External, error) {
	if e == nil || e.Controller == c.Controller.UUID() {
		return nil, nil
	}
	id, err := controller.TokenID(e.Token)
	if err != nil {
		return nil, err
	}
	with := *e
	with.ID = id
	return &with, with.Check()
}

// externalOffer returns an offer of another controller as that one described it to the client. Its URL names the controller.
func externalOffer(d params.ApplicationOfferDetails, controller string) (entity.Offer, error) {
	bad := entity.Errorf(entity.Invalid, "the other controller's offer is not valid")
	o := params.ApplicationOfferAdminDetails{ApplicationOfferDetails: d}.Read()
	source, _, named := strings.Cut(o.URL, ":")
	if !named {
		source = controller
		o.URL = source + ":" + o.URL
	}
	u, err := entity.ParseOfferURL(o.URL, source)
	if err != nil {
		return o, err
	}
	o.URL, o.Name = source+":"+u.String(), cmp.Or(o.Name, u.Offer)
	if !entity.IsValidModel(source) || !entity.IsValidUUID(o.Model) || !entity.IsValidUUID(o.UUID) ||
		len(o.Endpoints) == 0 {
		return o, bad
	}
	for _, e := range o.Endpoints {
		if role := charm.Role(e.Role); e.Name == "" || e.Interface == "" || role != charm.RoleProvider &&
			role != charm.RoleRequirer {
			return o, bad
		}
	}
	return o, nil
}
