package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// opensTo waits until the offering model opens the port of its unit to these subnets, and the units publish them.
func (w *acrossWorld) opensTo(when string, subnets ...string) {
	w.Helper()
	var got, said string
	w.until(when, func() bool {
		x, err := w.offering.Provisioning().Exposure(w.ctx)
		w.ok(err)
		var from []string
		for _, f := range x.From["i-0"] {
			from = append(from, f.CIDR)
		}
		slices.Sort(from)
		got, said = strings.Join(from, ","), w.publishes("wordpress/0")
		return got == strings.Join(subnets, ",") && said == got
	}, w.offering, w.using)
}

// publishes returns where the connections of a unit that uses the offer come from, as it says in the relation.
func (w *acrossWorld) publishes(unit string) string {
	u, err := w.using.Unit(w.ctx, unit)
	w.ok(err)
	settings, err := u.RelationSettings(w.ctx, w.relationIn(w.using).ID(), unit)
	w.ok(err)
	return settings["egress-subnets"]
}

// The ports of an offered service are open to where the connections of the model that uses it come from: its units'
// addresses, or the subnets of the model's gateway, or those of the relation's.
func TestOfferedPortsAreOpenToTheConsumer(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		t.Run(fmt.Sprintf("elsewhere %v", elsewhere), func(t *testing.T) {
			w := emptyAcrossWorld(t)
			w.elsewhere.Store(elsewhere)
			w.share()
			r, err := w.using.AddRelation(w.ctx, "wordpress", "db")
			w.ok(err)
			w.opensTo("the unit's address", "192.0.2.7/32")
			m, err := w.using.Machine(w.ctx, "0")
			w.ok(err)
			w.ok(m.SetAddresses(w.ctx, []string{"192.0.2.8"}))
			w.opensTo("another address", "192.0.2.8/32")
			egress := func(value string) {
				w.ok(w.using.Settings().SetConfig(w.ctx, map[string]string{"egress-subnets": value}, nil))
			}
			egress("198.51.100.0/24,203.0.113.0/24")
			w.opensTo("the model's gateway", "198.51.100.0/24", "203.0.113.0/24")
			egress("")
			w.opensTo("the address again", "192.0.2.8/32")
			suspend := func(on bool) {
				w.ok(w.offering.CrossModel().SuspendRelation(w.ctx, w.relationIn(w.offering).ID(), on, ""))
			}
			suspend(true)
			if x, err := w.offering.Provisioning().Exposure(w.ctx); err != nil || len(x.From) > 0 {
				t.Errorf("while it is suspended: %v, %v", x.From, err)
			}
			suspend(false)
			w.opensTo("it is resumed", "192.0.2.8/32")

			w.ok(r.Destroy(w.ctx, entity.Destruction{}))
			w.until("it ends", func() bool {
				_, err := w.using.RelationByID(w.ctx, r.ID())
				x, failed := w.offering.Provisioning().Exposure(w.ctx)
				w.ok(failed)
				return entity.IsNotFound(err) && len(x.From) == 0
			}, w.offering, w.using)
			_, err = w.using.CrossModel().AddRelationVia(w.ctx, []string{"198.51.100.7/32"}, "wordpress", "db")
			w.ok(err)
			w.opensTo("the relation's gateway", "198.51.100.7/32")
			egress("203.0.113.0/24")
			w.ok(m.SetAddresses(w.ctx, []string{"192.0.2.9"}))
			w.opensTo("the relation's comes first", "198.51.100.7/32")
			offers, err := w.offering.CrossModel().Offers(w.ctx)
			w.ok(err)
			if got := offers[0].Connections[0].Ingress; !slices.Equal(got, []string{"198.51.100.7/32"}) {
				t.Errorf("the offer shows %v", got)
			}
			u, err := w.using.Unit(w.ctx, "wordpress/0")
			w.ok(err)
			infos, err := u.Relations(w.ctx)
			w.ok(err)
			if len(infos) != 1 || !slices.Equal(infos[0].Via, []string{"198.51.100.7/32"}) {
				t.Errorf("the unit's agent is told %+v", infos)
			}
		})
	}
}

// share adds both models: a unit of mysql has opened a port, and nothing is exposed; wordpress's model consumes the offer.
func (w *acrossWorld) share() {
	w.offering, w.using = w.model("shop", "mysql", statetest.MySQL), w.model("blog", "wordpress", statetest.Wordpress)
	w.Cleanup(w.cancel) // before the workers are awaited
	for address, st := range map[string]*state.State{"10.0.0.1": w.offering, "192.0.2.7": w.using} {
		m, err := st.Machine(w.ctx, "0")
		w.ok(err)
		w.ok(m.SetProvisioned(w.ctx, entity.Instance{ID: "i-0", Nonce: "n"}))
		w.ok(m.SetAddresses(w.ctx, []string{address}))
	}
	u, err := w.offering.Unit(w.ctx, "mysql/0")
	w.ok(err)
	port := func(n int, endpoint string) entity.EndpointPorts {
		return entity.EndpointPorts{PortRange: entity.PortRange{From: n, To: n, Protocol: "tcp"}, Endpoints: []string{endpoint}}
	}
	w.ok(u.CommitHook(w.ctx, entity.HookChanges{EndpointPorts: []entity.EndpointPorts{port(3306, "server"), port(3307, "admin")}}))
	w.ok(w.offering.CrossModel().AddOffer(w.ctx, entity.NewOffer{Name: "hosted", Service: "mysql", Endpoints: []string{"server"}}))
	offers, err := w.offering.CrossModel().Offers(w.ctx)
	w.ok(err)
	c := entity.Consumed{Name: "db", Model: w.offering.UUID(), Offer: offers[0].UUID, User: statetest.Admin, URL: "admin/shop.hosted",
		Endpoints: offers[0].Endpoints}
	if w.elsewhere.Load() {
		c.External = &entity.External{Name: "elsewhere", ID: "token"}
	}
	w.ok(w.using.CrossModel().Consume(w.ctx, c))
}
