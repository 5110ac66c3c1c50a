package controller

import (
	"context"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/state/entity"
	"juju/state/limits"
	"juju/worker/remoterelations"
)

// An offeredElsewhere is the model of another controller that has an offer, as its API shows it to whoever has the token.
type offeredElsewhere struct {
	client.CrossModelRelationsFacade
	conn *client.Conn
}

// reachOffer connects to the controller that has the offer of a remote service.
func reachOffer(ctx context.Context, r entity.Consumed) (remoterelations.External, error) {
	return dialOffer(ctx, r)
}

func dialOffer(ctx context.Context, r entity.Consumed) (offeredElsewhere, error) {
	conn, err := client.Dial(ctx, client.Info{Addresses: r.External.Addresses, CACert: r.External.CACert, Model: r.Model,
		Tag: entity.ConsumerTag(r.External.ID), Password: r.External.Token})
	if err != nil {
		return offeredElsewhere{}, err
	}
	return offeredElsewhere{client.CrossModelRelationsFacade{Caller: conn}, conn}, nil
}

// reachSecrets is reachOffer for units' requests.
func reachSecrets(ctx context.Context, r entity.Consumed) (facades.Offering, error) {
	return dialOffer(ctx, r)
}

// WatchShared implements remoterelations.Offering.
func (o offeredElsewhere) WatchShared(ctx context.Context) (<-chan struct{}, error) {
	return o.WatchOffer(ctx)
}

// Shown implements remoterelations.Offering. The offer is the token's.
func (o offeredElsewhere) Shown(ctx context.Context, _ string) (entity.Status, error) {
	s, err := o.OfferStatus(ctx)
	return limits.FitStatus(s), err
}

// Members implements remoterelations.Offering. What can't be stored of a unit keeps out only that unit.
func (o offeredElsewhere) Members(ctx context.Context, relation, first int) (entity.Members, error) {
	m, err := o.CrossModelRelationsFacade.Members(ctx, relation, first)
	for n, settings := range m.Units {
		if err := limits.CheckRelationSettings(settings); err != nil || n < 0 {
			logger.Warningf("unit %d of another controller in its relation %d is left out: %v", n, relation, err)
			delete(m.Units, n)
		}
	}
	if err := limits.CheckShared(m.Secrets); err != nil {
		logger.Warningf("the secrets of another controller in its relation %d are left out: %v", relation, err)
		m.Secrets = nil
	}
	if err := limits.CheckRelationSettings(m.Application); err != nil {
		logger.Warningf("the settings of the service of another controller in its relation %d are left out: %v", relation,
			err)
		m.Application = nil
	}
	return m, err
}

// Connect implements remoterelations.Offering.
func (o offeredElsewhere) Connect(ctx context.Context, model string, c entity.Connection) error {
	return o.CrossModelRelationsFacade.Connect(ctx, model, c.Relation, c.Near, c.Far)
}

// Close implements remoterelations.External.
func (o offeredElsewhere) Close() error { return o.conn.Close() }
