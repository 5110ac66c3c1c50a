package clitest

import (
	"context"
	"fmt"
	"strings"

	"juju/state/entity"
)

// anOffer is an offer that a user has.
func anOffer() entity.Offer {
	return entity.Offer{Name: "store", UUID: "u", Service: "store", CharmURL: "local:jammy/store-1", Description: "for all",
		Endpoints:   []entity.RemoteEndpoint{{Name: "db", Role: "provider", Interface: "kv"}},
		Connections: []entity.Connection{{Relation: 4, Model: "m", User: "bob", Endpoint: "db", Suspended: true, Message: "noon", Since: SomeTime}},
		URL:         "admin/default.store", Model: "m", Users: []entity.OfferUser{{User: "bob", DisplayName: "Bob", Access: "consume"}}}
}

func (f *FakeController) FindOffers(_ context.Context, filter entity.OfferFilter) ([]entity.Offer, error) {
	all := []entity.Offer{anOffer()}
	if filter.Name == "unused" {
		all[0].Name, all[0].Connections = "unused", nil
	} else if filter.Name == "none" {
		all = nil
	}
	return all, f.asked("FindOffers", strings.Fields(fmt.Sprint(filter.Owner, " ", filter.Model, " ", filter.Name, " ", filter.Service, " ",
		filter.Endpoint, " ", filter.Interface, " ", filter.ConnectedUser, " ", filter.AllowedUser)))
}

func (f *FakeController) Offer(_ context.Context, url string) (entity.Offer, error) {
	return anOffer(), f.asked("Offer", url)
}

func (f *FakeController) RemoveOffers(_ context.Context, how entity.Destruction, urls ...string) ([]error, error) {
	return make([]error, len(urls)), f.asked("RemoveOffers"+with(how), urls)
}

func (f *FakeController) ModifyOfferAccess(_ context.Context, action, user, level string, urls ...string) ([]error, error) {
	return make([]error, len(urls)), f.asked(action, user, level, urls)
}

func (f *FakeModel) Model() string { return "default-uuid" }

func (f *FakeModel) AddOffer(_ context.Context, model string, o entity.NewOffer) error {
	return f.Note("AddOffer", model, " ", o.Name, " ", o.Service, " ", o.Endpoints)
}

func (f *FakeModel) FindOffers(_ context.Context, filter entity.OfferFilter) ([]entity.Offer, error) {
	return f.Returns.Offers, f.Note("FindOffers", filter.Model)
}

func (f *FakeModel) ConsumeDetails(_ context.Context, url string) (entity.Offer, *entity.External, error) {
	o := anOffer()
	o.URL = url
	return o, nil, f.Note("ConsumeDetails", url)
}

func (f *FakeModel) CheckUsers(_ context.Context, names ...string) ([]error, error) {
	return f.outcomes(len(names)), f.Note("CheckUsers", names)
}

func (f *FakeModel) RemoveOffers(_ context.Context, how entity.Destruction, urls ...string) ([]error, error) {
	return make([]error, len(urls)), f.Note("RemoveOffers"+with(how), urls)
}

func (f *FakeModel) ModifyOfferAccess(_ context.Context, action, user, level string, urls ...string) ([]error, error) {
	return make([]error, len(urls)), f.Note(action, user, " ", level, urls)
}

func (f *FakeModel) Consume(ctx context.Context, url, name string) error {
	return f.Note("Consume", url, " ", name)
}

func (f *FakeModel) ConsumeExternal(_ context.Context, o entity.Offer, e entity.External, name string) error {
	return f.Note("ConsumeExternal", o.URL, e.Name, " ", name)
}

func (f *FakeModel) RemoveRemotes(ctx context.Context, how entity.Destruction, names ...string) ([]error, error) {
	return make([]error, len(names)), f.Note("RemoveRemotes"+with(how), names)
}

func (f *FakeModel) SuspendRelations(ctx context.Context, suspended bool, message string, ids ...int) ([]error, error) {
	return make([]error, len(ids)), f.Note("SuspendRelations", suspended, " ", ids)
}
