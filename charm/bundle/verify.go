package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"juju/charm"
	"juju/state/entity"
)

// Checks are callbacks for Verify.
type Checks struct {
	// Charm returns the charm of a service. Verify calls it once for each service whose charm is
	// a path or a valid URL. If there is nothing at the path, the error is an fs.ErrNotExist.
	Charm func(s *Service) (*charm.Charm, error)
	// File returns an error if a resource file can't be read.
	File func(File) error
	// Constraints returns an error if the constraints are invalid.
	Constraints func(text string) error
	// Series returns the series of a base, or "" if the base is unknown.
	Series func(base string) string
	// Offer returns the offer with a URL, or why it can't be used. Verify calls it for each saas.
	Offer func(url string) (entity.Offer, error)
	// User returns an error if there is no such user. Verify calls it for each user in an ACL.
	User func(name string) error
}

// maxUnits limits the units of a service, because Placements allocates a Placement for each.
const maxUnits = 100_000

// A verifier collects the errors of a bundle.
type verifier struct {
	*Bundle
	checks Checks
	ends   map[string]ends   // of services whose charms could be read, and of saas whose offers could be used
	offers map[string]string // offer → its service
	// subordinate are the services with a subordinate charm.
	subordinate map[string]bool
	mistakes    []error
}

// Verify returns the bundle's relations with the names of all endpoints inferred. It also sets
// Series wherever Base is set, and the URLs of offers to those that they have themselves. Its error is an Errors that lists every error in the bundle and
// every conflict with its charms.
func (b *Bundle) Verify(checks Checks) ([]Relation, error) {
	v := &verifier{Bundle: b, checks: checks, ends: map[string]ends{}, offers: map[string]string{}, subordinate: map[string]bool{}}
	b.Series = v.series("bundle", b.Series, b.Base, "bundle declares an invalid series %q", b.Series)
	if len(b.Services) == 0 {
		v.failf("at least one application must be specified")
	}
	v.machines()
	for _, name := range slices.Sorted(maps.Keys(b.Services)) {
		v.service(name, b.Services[name])
	}
	for _, name := range slices.Sorted(maps.Keys(b.SAAS)) {
		v.saas(name, b.SAAS[name])
	}
	if len(v.mistakes) == 0 { // Placements needs a valid bundle
		v.placementCycles()
	}
	relations := v.relations()
	if len(v.mistakes) > 0 {
		return nil, Errors(v.mistakes)
	}
	return relations, nil
}

func (v *verifier) failf(format string, args ...any) {
	v.mistakes = append(v.mistakes, fmt.Errorf(format, args...))
}

// series returns the series that is given as a series, a base or both. invalid is the format of the
// error for an invalid series.
func (v *verifier) series(what, series, base, invalid string, args ...any) string {
	if series != "" && !charm.IsValidSeries(series) {
		v.failf(invalid, args...)
	}
	if base == "" {
		return series
	}
	fromBase := v.checks.Series(base)
	switch {
	case fromBase == "":
		v.failf("%s declares an unknown base %q", what, base)
	case series != "" && series != fromBase:
		v.failf("%s series %q and base %q must match if both supplied", what, series, base)
	}
	return fromBase
}

func (v *verifier) machines() {
	used := map[string]bool{}
	for _, s := range v.Services {
		for _, to := range s.To {
			if p, err := ParsePlacement(to); err == nil {
				used[p.Machine] = true
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.Machines)) {
		m := v.Machines[id]
		if !machinePattern.MatchString(id) {
			v.failf("invalid machine id %q found in machines", id)
		}
		if err := v.checks.Constraints(m.Constraints); err != nil {
			v.failf("invalid constraints %q in machine %q: %w", m.Constraints, id, err)
		}
		m.Series = v.series(fmt.Sprintf("machine %q", id), m.Series, m.Base, "invalid series %s for machine %q", m.Series, id)
		if !used[id] {
			v.failf("machine %q is not referred to by a placement directive", id)
		}
	}
}

func (v *verifier) service(name string, s *Service) {
	if !charm.IsValidName(name) {
		v.failf("invalid application name %q", name)
	}
	s.Series = v.series(fmt.Sprintf("application %q", name), s.Series, s.Base,
		"application %q declares an invalid series %q", name, s.Series)
	if err := v.checks.Constraints(s.Constraints); err != nil {
		v.failf("invalid constraints %q in application %q: %w", s.Constraints, name, err)
	}
	switch {
	case s.Units < 0:
		v.failf("negative number of units specified on application %q", name)
	case s.Units > maxUnits:
		v.failf("more than %d units specified on application %q", maxUnits, name)
	}
	v.placement(name, s)
	ch := v.charm(name, s)
	for _, offer := range slices.Sorted(maps.Keys(s.Offers)) {
		v.offer(name, offer, s.Offers[offer], ch)
	}
	if ch != nil {
		v.ends[name], v.subordinate[name] = endsOf(ch.Meta), ch.Meta.Subordinate
		v.serviceWithCharm(name, s, ch)
	}
}

func (v *verifier) saas(name, url string) {
	if !charm.IsValidName(name) {
		v.failf("invalid SAAS name %q", name)
	}
	if v.Services[name] != nil {
		v.failf("application %[1]q already exists with SAAS %[1]q name", name)
		return
	}
	if url == "" {
		v.failf("SAAS %q has no url of an offer", name)
		return
	}
	offer, err := v.checks.Offer(url)
	if err != nil {
		v.failf("SAAS %q: %w", name, err)
		return
	}
	has := ends{}
	for _, e := range offer.Endpoints {
		has[e.Name] = charm.Relation{Name: e.Name, Role: charm.Role(e.Role), Interface: e.Interface, Scope: charm.ScopeGlobal}
	}
	v.ends[name], v.SAAS[name] = has, offer.URL
}

// offer checks an offer of a service, against its charm unless that is nil.
func (v *verifier) offer(service, name string, o *Offer, ch *charm.Charm) {
	if !charm.IsValidName(name) {
		v.failf("invalid offer name %q in application %q", name, service)
	}
	if other := v.offers[name]; other != "" {
		v.failf("offer %q is of two applications, %q and %q", name, other, service)
	}
	v.offers[name] = service
	if len(o.Endpoints) == 0 {
		v.failf("offer %q of application %q has no endpoints", name, service)
	}
	for _, endpoint := range o.Endpoints {
		if ch == nil {
			break
		}
		r, ok := endsOf(ch.Meta)[endpoint]
		switch {
		case !ok:
			v.failf("application %q: cannot offer endpoint %q: charm %q does not have it", service, endpoint,
				v.Services[service].Charm)
		case r.Role == charm.RolePeer || r.Scope == charm.ScopeContainer:
			v.failf("application %q: cannot offer endpoint %q: it is for units of its own model only", service, endpoint)
		}
	}
	users := map[string]bool{}
	for _, user := range slices.Sorted(maps.Keys(o.ACL)) {
		if same := strings.ToLower(user); users[same] {
			v.failf("offer %q: user %q is in the ACL twice", name, user)
		} else {
			users[same] = true
		}
		if level := o.ACL[user]; !slices.Contains(entity.OfferLevels, level) {
			v.failf("offer %q: %q access of user %q is not valid: the levels are admin, consume, read", name, level, user)
		}
		if err := v.checks.User(user); err != nil {
			v.failf("offer %q: %w", name, err)
		}
	}
}

func (v *verifier) placement(name string, s *Service) {
	if s.Units >= 0 && len(s.To) > s.Units {
		v.failf("too many units specified in unit placement for application %q", name)
	}
	for _, to := range s.To {
		p, err := ParsePlacement(to)
		if err != nil {
			v.mistakes = append(v.mistakes, err)
			continue
		}
		host, known := v.Services[p.Service]
		switch {
		case p.Service != "" && !known:
			v.failf("placement %q refers to an application not defined in this bundle", to)
		case p.Service != "" && p.Unit >= host.Units:
			v.failf("placement %q specifies a unit greater than the %d unit(s) started by the target application", to,
				host.Units)
		case p.Machine != "" && v.Machines[p.Machine] == nil:
			v.failf("placement %q refers to a machine not defined in this bundle", to)
		}
	}
}

// charm returns the charm of a service, or nil if it can't be read.
func (v *verifier) charm(name string, s *Service) *charm.Charm {
	if s.Charm == "" {
		v.failf("empty charm path in application %q", name)
		return nil
	}
	path := s.CharmPath()
	if path == "" {
		u, err := charm.ParseURL(s.Charm)
		if err != nil {
			v.failf("invalid charm URL in application %q: %w", name, err)
			return nil
		}
		if u.Series != "" && s.Series != "" && u.Series != s.Series {
			v.failf("the charm URL for application %q has a series which does not match, please remove the series from the URL",
				name)
		}
	}
	ch, err := v.checks.Charm(s)
	switch {
	case err == nil:
		return ch
	case path != "" && errors.Is(err, fs.ErrNotExist):
		v.failf("charm path in application %q does not exist: %s", name, path)
	case path != "":
		v.failf("invalid charm path in application %q: %w", name, err)
	default:
		v.failf("application %q refers to non-existent charm %q: %w", name, s.Charm, err)
	}
	return nil
}

// serviceWithCharm checks a service against its charm.
func (v *verifier) serviceWithCharm(name string, s *Service, ch *charm.Charm) {
	for _, endpoint := range slices.Sorted(maps.Keys(s.Bindings)) {
		if endpoint != "" && endpoint != charm.ImplicitRelation().Name && !slices.Contains(ch.Meta.Endpoints(), endpoint) {
			v.failf("application %q: cannot bind endpoint %q: charm %q does not have it", name, endpoint, s.Charm)
		}
	}
	for _, endpoint := range slices.Sorted(maps.Keys(s.ExposedEndpoints)) {
		if endpoint != entity.AllEndpoints && !slices.Contains(ch.Meta.Endpoints(), endpoint) {
			v.failf("application %q: cannot expose endpoint %q: charm %q does not have it", name, endpoint, s.Charm)
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(s.Resources)) {
		if _, ok := ch.Meta.Resources[resource]; !ok {
			v.failf("application %q: unrecognized resource %q", name, resource)
		} else if err := v.checks.File(s.Resources[resource]); err != nil {
			v.failf("application %q: cannot read resource %q: %w", name, resource, err)
		}
	}
	if ch.Meta.Subordinate {
		if len(s.To) > 0 {
			v.failf("application %q is subordinate but specifies unit placement", name)
		}
		if s.Units > 0 {
			v.failf("application %q is subordinate but has non-zero num_units", name)
		}
		if s.Constraints != "" {
			v.failf("application %q is subordinate but has constraints", name)
		}
	}
	for _, option := range slices.Sorted(maps.Keys(s.options)) {
		if _, ok := ch.Config.Options[option]; !ok {
			v.failf("cannot validate application %q: configuration option %q not found in charm %q", name, option, s.Charm)
			continue
		}
		one := Service{options: map[string]*yaml.Node{option: s.options[option]}}
		text, err := one.OptionsYAML(name)
		if err == nil {
			_, err = ch.Config.ForService().ParseSettingsYAML([]byte(text), name)
		}
		if inner := (*charm.FileError)(nil); errors.As(err, &inner) {
			err = inner.Err // the user has never seen the file that it names
		}
		if err != nil {
			v.failf("cannot validate application %q: %w", name, err)
		}
	}
}

// placementCycles reports cyclic placements, such as a beside b and b beside a.
func (v *verifier) placementCycles() {
	places := map[string][]Placement{}
	for name := range v.Services {
		places[name] = v.Placements(name)
	}
	type unit struct {
		service string
		number  int
	}
	done := map[unit]bool{} // units whose chains were followed to the end
	for _, name := range slices.Sorted(maps.Keys(places)) {
		for i := range places[name] {
			chain := map[unit]bool{}
			for u := (unit{name, i}); !done[u]; {
				if chain[u] {
					v.failf("placement of unit \"%s/%d\" depends on itself", u.service, u.number)
					break
				}
				chain[u] = true
				p := places[u.service][u.number]
				if p.Service == "" {
					break
				}
				u = unit{p.Service, p.Unit}
			}
			maps.Copy(done, chain)
		}
	}
}

// relations returns the valid relations.
func (v *verifier) relations() (all []Relation) {
	seen := map[string]bool{}
	for _, written := range v.Relations {
		if len(written) != 2 {
			v.failf("relation %q has %d endpoint(s), not 2", written, len(written))
			continue
		}
		r, ok := v.relation(written)
		if !ok {
			continue
		}
		if seen[r.Key()] {
			v.failf("relation %q is defined more than once", written)
		}
		seen[r.Key()] = true
		all = append(all, r)
	}
	return all
}

// relation parses a relation and names its endpoints. If a charm could not be read, it returns the
// relation as written.
func (v *verifier) relation(written []string) (r Relation, ok bool) {
	ok = true
	for i, end := range written {
		var err error
		if r[i], err = parseEndpoint(end); err != nil {
			v.mistakes = append(v.mistakes, err)
			ok = false
		} else if !v.Has(r[i].Service) {
			v.failf("relation %q refers to application %q not defined in this bundle", written, r[i].Service)
			ok = false
		}
	}
	if ok && r[0].Service == r[1].Service {
		v.failf("relation %q relates an application to itself", written)
		ok = false
	}
	remotes := 0
	for _, end := range r {
		if v.Services[end.Service] == nil {
			remotes++
		}
	}
	if ok && remotes == 2 {
		v.failf("relation %q has no application of this model", written)
		ok = false
	}
	a, b := v.ends[r[0].Service], v.ends[r[1].Service]
	if !ok || a == nil || b == nil {
		return r, ok
	}
	var m match
	if r[0].Name == "" || r[1].Name == "" {
		var err error
		if m, err = infer(r[0], r[1], a, b); err != nil {
			v.failf("cannot infer endpoint between %s and %s: %w", r[0], r[1], err)
			return r, false
		}
	} else {
		var mistakes []error
		m, mistakes = check(r[0], r[1], v.definer(r[0].Service), v.definer(r[1].Service), a, b)
		if len(mistakes) > 0 {
			v.mistakes = append(v.mistakes, mistakes...)
			return r, false
		}
	}
	ends := strings.Join([]string{m.relation[0].String(), m.relation[1].String()}, " ")
	switch {
	case !m.isContainer():
	case remotes > 0:
		v.failf("relation %q: container scoped relation requires applications of one model", ends)
	case !v.subordinate[r[0].Service] && !v.subordinate[r[1].Service]:
		v.failf("relation %q: container scoped relation requires at least one subordinate service", ends)
	}
	return m.relation, true
}

// definer describes what has the endpoints of a service or saas.
func (v *verifier) definer(name string) string {
	if s := v.Services[name]; s != nil {
		return fmt.Sprintf("charm %q used by application %q", s.Charm, name)
	}
	return fmt.Sprintf("offer %q used by SAAS %q", v.SAAS[name], name)
}

// isContainer reports whether the relation only relates units on the same machine.
func (m match) isContainer() bool {
	return m.ends[0].Scope == charm.ScopeContainer || m.ends[1].Scope == charm.ScopeContainer
}
