package main

import (
	"context"

	"juju/state/entity"
)

// anOffer is an offer that a user has.
func anOffer() entity.Offer {
	return entity.Offer{Name: "store", UUID: "u", Service: "store", CharmURL: "local:jammy/store-1", Description: "for all",
		Endpoints:   []entity.RemoteEndpoint{{Name: "db", Role: "provider", Interface: "kv"}},
		Connections: []entity.Connection{{Relation: 4, Model: "m", User: "bob", Endpoint: "db", Suspended: true, Message: "noon"}},
		URL:         "admin/default.store", Model: "m", Users: []entity.OfferUser{{User: "bob", DisplayName: "Bob", Access: "consume"}}}
}

func (f *fakeController) FindOffers(_ context.Context, filter entity.OfferFilter) ([]entity.Offer, error) {
	return []entity.Offer{anOffer()}, f.asked("FindOffers", filter.Owner, filter.Model, filter.Interface)
}

func (f *fakeController) Offer(_ context.Context, url string) (entity.Offer, error) {
	return anOffer(), f.asked("Offer", url)
}

func (f *fakeController) RemoveOffers(_ context.Context, how entity.Destruction, urls ...string) ([]error, error) {
	return make([]error, len(urls)), f.asked("RemoveOffers"+with(how), urls)
}

func (f *fakeController) ModifyOfferAccess(_ context.Context, action, user, level string, urls ...string) ([]error, error) {
	return make([]error, len(urls)), f.asked(action, user, level, urls)
}

func (f *fakeModel) Model() string { return "default-uuid" }

func (f *fakeModel) AddOffer(_ context.Context, model string, o entity.NewOffer) error {
	return f.note("AddOffer", model, " ", o.Name, " ", o.Service, " ", o.Endpoints)
}

func (f *fakeModel) FindOffers(_ context.Context, filter entity.OfferFilter) ([]entity.Offer, error) {
	return f.offers, f.note("FindOffers", filter.Model)
}

func (f *fakeModel) ConsumeDetails(_ context.Context, url string) (entity.Offer, *entity.External, error) {
	o := anOffer()
	o.URL = url
	return o, nil, f.note("ConsumeDetails", url)
}

func (f *fakeModel) CheckUsers(_ context.Context, names ...string) ([]error, error) {
	return f.outcomes(len(names)), f.note("CheckUsers", names)
}

func (f *fakeModel) RemoveOffers(_ context.Context, how entity.Destruction, urls ...string) ([]error, error) {
	return make([]error, len(urls)), f.note("RemoveOffers"+with(how), urls)
}

func (f *fakeModel) ModifyOfferAccess(_ context.Context, action, user, level string, urls ...string) ([]error, error) {
	return make([]error, len(urls)), f.note(action, user, " ", level, urls)
}

func (f *fakeModel) Consume(ctx context.Context, url, name string) error {
	return f.note("Consume", url, " ", name)
}

func (f *fakeModel) ConsumeExternal(_ context.Context, o entity.Offer, e entity.External, name string) error {
	return f.note("ConsumeExternal", o.URL, e.Name, " ", name)
}

func (f *fakeModel) RemoveRemotes(ctx context.Context, how entity.Destruction, names ...string) ([]error, error) {
	return make([]error, len(names)), f.note("RemoveRemotes"+with(how), names)
}

func (f *fakeModel) SuspendRelations(ctx context.Context, suspended bool, message string, ids ...int) ([]error, error) {
	return make([]error, len(ids)), f.note("SuspendRelations", suspended, " ", ids)
}
