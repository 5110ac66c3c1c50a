package cli

import (
	"context"
	"strings"

	"juju/state/entity"
)

// An OfferTarget is an offer that a command names.
type OfferTarget struct {
	entity.OfferURL

	Target Target // the controller that has it
	Other  bool   // that is not the one of the command's model
}

// String returns the URL as the user of the command's model writes it.
func (o OfferTarget) String() string {
	if o.Other {
		return o.Target.Name + ":" + o.OfferURL.String()
	}
	return o.OfferURL.String()
}

// Offer returns the offer with a URL, of the target's controller or of another that the user knows. Without a user, it is
// the controller's own.
func (s *Session) Offer(t Target, text string) (o OfferTarget, err error) {
	o = OfferTarget{Target: Target{Name: t.Name, Controller: t.Controller}}
	if name, _, named := strings.Cut(text, ":"); named && name != t.Name {
		st, err := s.Store()
		if err != nil {
			return o, err
		}
		contents, err := st.Read()
		if err != nil {
			return o, err
		}
		if o.Target.Name, o.Target.Controller, err = contents.Controller(name); err != nil {
			return o, err
		}
		if o.Target.Controller.User == "" {
			return o, NotLoggedIn(o.Target)
		}
		o.Other = o.Target.Controller.UUID != t.Controller.UUID
	}
	o.OfferURL, err = o.Target.OfferURL(text)
	return o, err
}

// Offers returns the offers with some URLs, all of one controller.
func (s *Session) Offers(t Target, texts []string) (all []OfferTarget, err error) {
	for _, text := range texts {
		o, err := s.Offer(t, text)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
		if first := all[0].Target; o.Target.Controller.UUID != first.Controller.UUID {
			return nil, Usagef("the offers are of controllers %q and %q: name those of one at a time", first.Name, o.Target.Name)
		}
	}
	return all, nil
}

// A ConsumeAPI consumes offers in a model.
type ConsumeAPI interface {
	Consume(ctx context.Context, url, name string) error
	ConsumeExternal(ctx context.Context, o entity.Offer, e entity.External, name string) error
}

// Consume makes an offer available in a model under a name, "" for the offer's own.
func (s *Session) Consume(ctx context.Context, api ConsumeAPI, o OfferTarget, name string) error {
	if !o.Other {
		return api.Consume(ctx, o.OfferURL.String(), name)
	}
	return atController(ctx, s, o.Target, func(t Target, other interface {
		ConsumeDetails(ctx context.Context, url string) (entity.Offer, *entity.External, error)
	}) error {
		offer, external, err := other.ConsumeDetails(ctx, o.OfferURL.String())
		if err != nil {
			return err
		}
		if external == nil {
			return entity.WithHint(entity.Errorf(entity.NotSupported,
				"controller %q does not offer services to other controllers", t.Name),
				"Upgrade it first: juju upgrade-controller -c %s", t.Name)
		}
		offer.URL, external.Name = o.String(), t.Name
		return api.ConsumeExternal(ctx, offer, *external, name)
	})
}

// AtOffer calls do with a connection to the controller that has an offer.
func AtOffer[API any](ctx context.Context, s *Session, o OfferTarget, do func(Target, API) error) error {
	return atController(ctx, s, o.Target, do)
}
