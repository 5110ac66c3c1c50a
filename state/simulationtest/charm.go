package simulationtest

import (
	"maps"
	"slices"
	"strings"

	"juju/state/entity"
)

// What a service's charm says of its relations: which peer relations there are, which endpoints have container scope, and how
// many relations they may have.

// A Charm is a revision of a service's charm.
type Charm struct {
	URL       string
	Peers     map[string]string // the interfaces of its peer relations, by their keys
	Contained []string          // its endpoints of container scope, among those that other charms have in global scope
	Limits    map[string]int    // how many relations its endpoints may have
}

// offered is the endpoint that offers are of.
const offered = "server"

// has reports whether an endpoint has container scope. A service of another model has no charm.
func (c *Charm) has(endpoint string) bool { return c != nil && slices.Contains(c.Contained, endpoint) }

// contains reports whether the endpoint of a service in the relation with this key has container scope.
func (c *Charm) contains(service, key string) bool {
	return slices.ContainsFunc(strings.Fields(key), func(end string) bool {
		of, endpoint, _ := strings.Cut(end, ":")
		return of == service && c.has(endpoint)
	})
}

// established counts the relations of a service's endpoint that are not suspended.
func (s *Service) established(endpoint string) (n int) {
	for r := range s.Relations {
		if slices.Contains(strings.Fields(r.Key), s.Name+":"+endpoint) && !r.Suspended {
			n++
		}
	}
	return n
}

// mayHaveMore returns the error of one more relation of a service's endpoint, if its charm allows no more.
func (s *Service) mayHaveMore(endpoint string) Answer {
	if s == nil || s.Charm == nil || s.Charm.Limits[endpoint] == 0 || s.established(endpoint) < s.Charm.Limits[endpoint] {
		return nil
	}
	return Answer{entity.Invalid}
}

// UpgradeEvents is all that can happen to a service because of another charm. The simulation counts how often each does.
func UpgradeEvents() []string {
	all := append(slices.Clone(peerEvents), limitEvents...)
	for _, event := range rolloutEvents {
		all = append(all, "a rollout "+event)
	}
	return all
}

var peerEvents = []string{"an upgrade drops a peer relation", "an upgrade changes a peer relation", "an upgrade adds a peer relation",
	"an upgrade finds a peer relation that is ending", "an upgrade takes back the end of a peer relation",
	"an upgrade in batches may not drop a peer relation", "an upgrade of a Dying service adds no peers",
	"a peer relation follows one that is gone", "no peer relation follows one that is gone",
	"an old peer relation ends by force",
	"an upgrade may not bring an endpoint in use to container scope", "an upgrade may not bring an offered endpoint to container scope",
	"an upgrade keeps a relation of container scope with an endpoint of global scope"}

var limitEvents = []string{"a charm allows no more relations with other models",
	"an upgrade may not allow fewer relations than there are"}

func (m *Model) happens(event string) {
	if m.Happened != nil {
		m.Happened(event)
	}
}

// mayHave returns the errors that giving a service another charm may return because of its relations and offers. batches
// is set if some of its units keep the old charm for now, and need the relations of that.
func (m *Model) mayHave(s *Service, to *Charm, batches bool) (why Answer) {
	for r := range s.Relations {
		switch {
		case r.isPeer() && batches && to.Peers[r.Key] != r.Interface && s.Charm.Peers[r.Key]+to.Peers[r.Key] != "":
			m.happens("an upgrade in batches may not drop a peer relation")
			why = append(why, entity.Invalid)
		case !r.isPeer() && !r.Container && to.contains(s.Name, r.Key):
			m.happens("an upgrade may not bring an endpoint in use to container scope")
			why = append(why, entity.Invalid)
		case r.Container && s.Charm.contains(s.Name, r.Key) && !to.contains(s.Name, r.Key):
			m.happens("an upgrade keeps a relation of container scope with an endpoint of global scope")
		}
	}
	for endpoint, limit := range to.Limits {
		if s.established(endpoint) > limit {
			m.happens("an upgrade may not allow fewer relations than there are")
			why = append(why, entity.Invalid)
		}
	}
	if m.isOffered(s) && s.Charm.has(offered) != to.has(offered) {
		m.happens("an upgrade may not bring an offered endpoint to container scope")
		why = append(why, entity.Invalid)
	}
	return why
}

// endPeers begins to end the peer relations that a service's new charm lacks, and adds those that only it has. An old one
// keeps its key as long as a unit is in it, and is never Alive again.
func (m *Model) endPeers(s *Service, to *Charm, reverts bool) {
	had := map[string]bool{}
	for _, r := range s.All() {
		if !r.isPeer() {
			continue
		}
		had[r.Key] = true
		as, has := to.Peers[r.Key]
		switch {
		case s.Life.Life != entity.Alive:
		case r.Life.Life != entity.Alive && as == r.Interface:
			m.happens("an upgrade takes back the end of a peer relation")
		case r.Life.Life != entity.Alive:
			m.happens("an upgrade finds a peer relation that is ending")
		case as == r.Interface:
		case reverts:
			m.rolls("takes back a peer relation")
			m.endRelation(r, Destruction{})
		case has:
			m.happens("an upgrade changes a peer relation")
			m.endRelation(r, Destruction{})
		default:
			m.happens("an upgrade drops a peer relation")
			m.endRelation(r, Destruction{})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(to.Peers)) {
		switch {
		case had[key]:
		case s.Life.Life != entity.Alive:
			m.happens("an upgrade of a Dying service adds no peers")
		default:
			m.happens("an upgrade adds a peer relation")
			m.addPeer(s, key, to.Peers[key])
		}
	}
}

// followPeers has the cleaner add the peer relations that a service lacks after the end of one.
func (m *Model) followPeers(s *Service) {
	if s.Life.Life != entity.Alive {
		return
	}
	m.owe(func() {
		switch {
		case s.Life.Life != entity.Alive:
		case m.addPeers(s):
			m.happens("a peer relation follows one that is gone")
		default:
			m.happens("no peer relation follows one that is gone")
		}
	})
}

// addPeers adds the peer relations of its charm that a service lacks, and reports whether it did.
func (m *Model) addPeers(s *Service) (added bool) {
	has := map[string]bool{}
	for r := range s.Relations {
		has[r.Key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(s.Charm.Peers)) {
		if !has[key] {
			m.addPeer(s, key, s.Charm.Peers[key])
			added = true
		}
	}
	return added
}

func (m *Model) addPeer(s *Service, key, as string) {
	m.addRelation(m.Peer(key), key, s, s, false).Interface = as
}
