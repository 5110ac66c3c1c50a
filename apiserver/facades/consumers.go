package facades

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
func (c *Caller) connectConsumer(ctx context.Context, model string, relation int, near entity.NearEnd, endpoint string) error {
	role := charm.Role(near.Role)
	switch {
	case !entity.IsValidUUID(model), relation < 0, !entity.IsValidService(near.Service), near.Name == "", near.Interface == "",
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
func (c *Caller) sharedSecret(ctx context.Context, model string, relation int, id string, revision int) (entity.SecretValue, error) {
	return c.Model.CrossModel().SharedSecret(ctx, model, relation, c.Consumer.ID, id, revision)
}

// An Offering is a model of another controller, as one that consumes an offer of it sees it.
type Offering interface {
	Secret(ctx context.Context, model string, relation int, id string, revision int) (entity.SecretValue, error)
	Close() error
}

// unitSecret returns the secret that a unit asks for, and others that it is likely to read next. Content of another model's secret
// comes from there.
func (c *Caller) unitSecret(ctx context.Context, unit entity.Tag, query entity.SecretQuery) (entity.SecretRead, error) {
	u, err := c.Model.Unit(ctx, unit.ID)
	if err != nil {
		return entity.SecretRead{}, err
	}
	read, err := u.Secret(ctx, query)
	if err != nil {
		return read, err
	}
	if uri := entity.SecretOfKey(read.Secret.ID); uri.Model != "" {
		there, err := c.secretElsewhere(ctx, entity.UnitService(unit.ID), uri, read.Secret.Revision)
		if err != nil {
			return entity.SecretRead{}, err
		}
		read.Secret.Content, read.Secret.Revision, read.Secret.Latest = there.Content, there.Revision, there.Latest
	}
	return read, nil
}

// secretElsewhere reads a secret of another model by the relations that a service has with an offer there.
func (c *Caller) secretElsewhere(ctx context.Context, service string, uri entity.SecretURI, revision int) (entity.SecretValue, error) {
	none := entity.WithHint(entity.Errorf(entity.NotFound, "secret %q not found", uri),
		"It is in another model, and %s has no relation with an application there.", service)
	connections, err := c.Model.CrossModel().Connections(ctx)
	if err != nil {
		return entity.SecretValue{}, err
	}
	for _, with := range connections {
		if !with.Consumes || with.Model != uri.Model || with.Near.Service != service || !with.Joined || with.Suspended {
			continue
		}
		v, err := c.secretBy(ctx, with, uri.ID, revision)
		if kind := entity.KindOf(err); kind != entity.NotFound && kind != entity.Unauthorized {
			return v, err
		}
		none = err
	}
	return entity.SecretValue{}, none
}

// elsewhereTime is how long a unit's request waits for the controller that has a secret.
const elsewhereTime = 30 * time.Second

// secretBy reads a secret of the model that a relation is with.
func (c *Caller) secretBy(ctx context.Context, with entity.Connection, id string, revision int) (v entity.SecretValue, err error) {
	remotes, err := c.Model.CrossModel().Consumed(ctx)
	if err != nil {
		return v, err
	}
	i := slices.IndexFunc(remotes, func(r entity.Consumed) bool { return r.Name == with.Remote })
	if i < 0 {
		return v, entity.Errorf(entity.NotFound, "remote service %q not found", with.Remote)
	}
	offer := remotes[i]
	if offer.External == nil {
		other, err := c.Controller.Model(ctx, with.Model)
		if err != nil {
			return v, err
		}
		return other.CrossModel().SharedSecret(ctx, c.Model.UUID(), with.Relation, "", id, revision)
	}
	if c.Reach == nil {
		return v, entity.Errorf(entity.NotSupported, "this controller does not reach others")
	}
	ctx, cancel := context.WithTimeout(ctx, elsewhereTime)
	defer cancel()
	there, err := c.Reach(ctx, offer)
	if err != nil {
		return v, fmt.Errorf("cannot reach controller %q, which has secret %q: %w", offer.External.Name, id, err)
	}
	defer there.Close()
	v, err = there.Secret(ctx, c.Model.UUID(), with.Relation, id, revision)
	if err == nil {
		err = v.Content.Check() // it is another controller's
	}
	return v, err
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
	if !entity.IsValidModel(source) || !entity.IsValidUUID(o.Model) || !entity.IsValidUUID(o.UUID) || len(o.Endpoints) == 0 {
		return o, bad
	}
	for _, e := range o.Endpoints {
		if role := charm.Role(e.Role); e.Name == "" || e.Interface == "" || role != charm.RoleProvider && role != charm.RoleRequirer {
			return o, bad
		}
	}
	return o, nil
}
