package bundlechanges

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/charm/bundle"
	"juju/state/entity"
)

// A ConsumeOffer makes an offer of another model available under a name.
type ConsumeOffer struct{ Name, URL string }

// A CreateOffer offers endpoints of a service to other models.
type CreateOffer struct {
	Name, Service string
	Endpoints     []string
}

// A GrantOfferAccess raises a user's access to an offer.
type GrantOfferAccess struct{ Offer, User, Access string }

// A RevokeOfferAccess lowers a user's access to an offer, to Left.
type RevokeOfferAccess struct{ Offer, User, Access, Left string }

// The removals of what a declared bundle does not have; so is a RevokeOfferAccess that leaves nothing.
type (
	RemoveSAAS  struct{ Name string }
	RemoveOffer struct{ Name string }
)

func (c *ConsumeOffer) String() string { return "consume offer " + c.Name + " at " + c.URL }

func (c *CreateOffer) String() string {
	return fmt.Sprintf("create offer %s using %s:%s", c.Name, c.Service, strings.Join(c.Endpoints, ","))
}

func (c *GrantOfferAccess) String() string {
	return fmt.Sprintf("grant user %s %s access to offer %s", c.User, c.Access, c.Offer)
}

func (c *RevokeOfferAccess) String() string {
	if c.Left == "" {
		return fmt.Sprintf("remove %s access of user %s to offer %s", c.Access, c.User, c.Offer)
	}
	return fmt.Sprintf("lower access of user %s to offer %s from %s to %s", c.User, c.Offer, c.Access, c.Left)
}

func (c *RemoveSAAS) String() string { return "remove SAAS " + c.Name }

func (c *RemoveOffer) String() string { return "remove offer " + c.Name }

// levels are the levels of access to an offer, with none.
var levels = append([]string{""}, entity.OfferLevels...)

// Above returns the level of access above one: to revoke it leaves that one.
func Above(level string) string { return levels[slices.Index(levels, level)+1] }

// A Remote is a remote service of a model.
type Remote struct {
	Life entity.Life
	URL  string
	Gone bool // its offer was removed
}

// An Offer is an offer of a model.
type Offer struct {
	Life      entity.Life
	Service   string
	Endpoints []string // sorted
	Used      int      // by so many relations
	// ACL is who has which access, but for the model's owner. Known is set if the reader may know it.
	ACL   map[string]string
	Known bool
}

// crossModel adds to a model what its status says about other models. found are its offers as far as the user may see them.
func (m *Model) crossModel(status *entity.ModelStatus, found []entity.Offer) {
	for _, r := range status.Remotes {
		m.SAAS[r.Name] = &Remote{r.Life, r.URL, r.Status.Status == entity.StatusTerminated}
	}
	for _, s := range status.Offers {
		o := &Offer{Life: s.Life, Service: s.Service, Used: s.Total, ACL: map[string]string{}}
		for _, e := range s.Endpoints {
			o.Endpoints = append(o.Endpoints, e.Name)
		}
		slices.Sort(o.Endpoints)
		m.Offers[s.Name] = o
	}
	for _, f := range found {
		o, url := m.Offers[f.Name], entity.OfferURL{}
		if o == nil || f.Model != status.Model.UUID || f.Service == "" { // only administrators are told the service
			continue
		}
		url, _ = entity.ParseOfferURL(f.URL, "")
		o.Known = true
		for _, u := range f.Users {
			if !strings.EqualFold(u.User, url.User) {
				o.ACL[u.User] = u.Access
			}
		}
	}
}

// accessOf returns a user's access in an ACL.
func accessOf(acl map[string]string, user string) string {
	for name, access := range acl {
		if strings.EqualFold(name, user) {
			return access
		}
	}
	return ""
}

// remotes plans the remote services of the bundle.
func (p *planner) remotes() {
	for _, name := range slices.Sorted(maps.Keys(p.SAAS)) {
		url, have := p.SAAS[name], p.model.SAAS[name]
		switch {
		case p.model.Services[name] != nil:
			p.reject("SAAS %q: the model has an application of this name", name)
		case have == nil:
			p.add(&ConsumeOffer{name, url})
		case have.Life != entity.Alive:
			p.reject("SAAS %q is still being destroyed", name)
		case have.URL != url:
			p.reject("SAAS %q is offer %s, which cannot be changed to %s: first, juju remove-saas %[1]s", name, have.URL, url)
		case have.Gone:
			p.reject("SAAS %q is an offer that was removed; to use the new %s: first, juju remove-saas %[1]s", name, url)
		}
	}
}

// offersOf plans the offers of a service, and who may use them.
func (p *planner) offersOf(service string) {
	all := p.Services[service].Offers
	for _, name := range slices.Sorted(maps.Keys(all)) {
		want, have := all[name], p.model.Offers[name]
		switch {
		case have == nil:
			p.add(&CreateOffer{name, service, want.Endpoints})
			have = &Offer{Known: true}
		case have.Life != entity.Alive:
			p.reject("offer %q is still being destroyed", name)
		case have.Service != service:
			p.reject("offer %q is of application %q, which cannot be changed to %q: first, juju remove-offer %[1]s",
				name, have.Service, service)
		case !slices.Equal(have.Endpoints, want.Endpoints):
			p.reject("offer %q has endpoints %s, which cannot be changed to %s: first, juju remove-offer %[1]s", name,
				strings.Join(have.Endpoints, ", "), strings.Join(want.Endpoints, ", "))
		case !have.Known:
			p.reject("only administrators of the model may offer: who has access to offer %q is not known", name)
		}
		for _, user := range slices.Sorted(maps.Keys(want.ACL)) {
			access, has := want.ACL[user], accessOf(have.ACL, user)
			switch above := slices.Index(levels, access) - slices.Index(levels, has); {
			case strings.EqualFold(user, p.Owner) || above == 0:
			case above > 0:
				p.add(&GrantOfferAccess{name, user, access})
			case p.Declared:
				p.add(&RevokeOfferAccess{name, user, has, access})
			}
		}
	}
}

// offer returns an offer of the bundle with its service; nil if there is none.
func (w Wanted) offer(name string) (service string, o *bundle.Offer) {
	for service, s := range w.Services {
		if o := s.Offers[name]; o != nil {
			return service, o
		}
	}
	return "", nil
}

// crossModelRemovals returns the changes that remove, of what has to do with other models, what the bundle does not have.
func (p *planner) crossModelRemovals(m *Model) (all []Change) {
	for _, name := range slices.Sorted(maps.Keys(m.Offers)) {
		_, want := p.offer(name)
		have := m.Offers[name]
		if want == nil {
			all = append(all, &RemoveOffer{name})
			continue
		}
		for _, user := range slices.Sorted(maps.Keys(have.ACL)) {
			if accessOf(want.ACL, user) == "" {
				all = append(all, &RevokeOfferAccess{name, user, have.ACL[user], ""})
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.SAAS)) {
		if _, ok := p.SAAS[name]; !ok {
			all = append(all, &RemoveSAAS{name})
		}
	}
	return all
}

// A SAASDiff is how a remote service differs.
type SAASDiff struct {
	Missing string             `yaml:"missing,omitempty" json:"missing,omitempty"`
	URL     *ValueDiff[string] `yaml:"url,omitempty" json:"url,omitempty"`
}

// An OfferDiff is how an offer differs.
type OfferDiff struct {
	Missing     string                     `yaml:"missing,omitempty" json:"missing,omitempty"`
	Application *ValueDiff[string]         `yaml:"application,omitempty" json:"application,omitempty"`
	Endpoints   *ValueDiff[[]string]       `yaml:"endpoints,omitempty" json:"endpoints,omitempty"`
	ACL         map[string]*ValueDiff[any] `yaml:"acl,omitempty" json:"acl,omitempty"`
}

func (p *planner) diffRemotes() map[string]*SAASDiff {
	all := map[string]*SAASDiff{}
	for name, url := range p.SAAS {
		switch have := p.model.SAAS[name]; {
		case have == nil:
			all[name] = &SAASDiff{Missing: modelSide}
		case have.Gone:
			all[name] = &SAASDiff{URL: &ValueDiff[string]{url, have.URL + ", which was removed"}}
		case have.URL != url:
			all[name] = &SAASDiff{URL: &ValueDiff[string]{url, have.URL}}
		}
	}
	for name := range p.model.SAAS {
		if _, ok := p.SAAS[name]; !ok {
			all[name] = &SAASDiff{Missing: bundleSide}
		}
	}
	return all
}

// diffOffers compares the bundle's offers with the model's, by name.
func (p *planner) diffOffers() map[string]*OfferDiff {
	all := map[string]*OfferDiff{}
	for service, s := range p.Services {
		for name, want := range s.Offers {
			have := p.model.Offers[name]
			if have == nil {
				all[name] = &OfferDiff{Missing: modelSide}
				continue
			}
			d := OfferDiff{Application: differ(service, have.Service)}
			if !slices.Equal(want.Endpoints, have.Endpoints) {
				d.Endpoints = &ValueDiff[[]string]{want.Endpoints, have.Endpoints}
			}
			if have.Known {
				d.ACL = p.diffACL(want.ACL, have.ACL)
			}
			if d.Application != nil || d.Endpoints != nil || len(d.ACL) > 0 {
				all[name] = &d
			}
		}
	}
	for name := range p.model.Offers {
		if _, want := p.offer(name); want == nil {
			all[name] = &OfferDiff{Missing: bundleSide}
		}
	}
	return all
}

// diffACL compares who may use an offer. The model's owner always may.
func (p *planner) diffACL(want, have map[string]string) map[string]*ValueDiff[any] {
	known := map[string]string{}
	for user, access := range have {
		known[strings.ToLower(user)] = access
	}
	asked := map[string]string{}
	for user, access := range want {
		if !strings.EqualFold(user, p.Owner) {
			asked[strings.ToLower(user)] = access
		}
	}
	return diffAnnotations(asked, known)
}

// rows returns what would change in an offer for it to be as the bundle says.
func (d *OfferDiff) rows(name string) (rows []entity.PlannedChange) {
	add := func(action, text string) {
		rows = append(rows, entity.PlannedChange{Action: action, Kind: "offer", Name: name, Detail: text})
	}
	for _, text := range slices.Concat(fromTo("application", d.Application), fromTo("endpoints", d.Endpoints)) {
		add(entity.PlanChange, text)
	}
	for _, user := range slices.Sorted(maps.Keys(d.ACL)) {
		action := entity.PlanChange
		if d.ACL[user].Bundle == nil {
			action = entity.PlanRemove
		}
		add(action, fromTo("access of "+user, d.ACL[user])[0])
	}
	return rows
}

// exportedOffer is an offer as bundles write it.
type exportedOffer struct {
	Endpoints []string          `yaml:"endpoints"`
	ACL       map[string]string `yaml:"acl,omitempty"`
}

// exportedSAAS is a remote service as bundles write it.
type exportedSAAS struct {
	URL string `yaml:"url"`
}

// exportCrossModel adds remote services and offers to a bundle.
func (b *Exported) exportCrossModel(m *Model, warn func(string, ...any)) {
	for _, name := range slices.Sorted(maps.Keys(m.SAAS)) {
		r := m.SAAS[name]
		if r.Life != entity.Alive || r.Gone {
			warn("SAAS %q is being removed, or its offer was, and is omitted", name)
			continue
		}
		b.SAAS[name] = exportedSAAS{r.URL}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Offers)) {
		o := m.Offers[name]
		if _, ok := b.Applications[o.Service]; !ok || o.Life != entity.Alive {
			warn("offer %q is being removed, and is omitted", name)
			continue
		}
		if !o.Known {
			warn("who may use offer %q is omitted: only administrators of the model know", name)
		}
		s := b.overlay[o.Service]
		if s.Offers == nil {
			s.Offers = map[string]exportedOffer{}
		}
		s.Offers[name] = exportedOffer{o.Endpoints, o.ACL}
		b.overlay[o.Service] = s
	}
}
