package state_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"juju/state"
	"juju/state/entity"
	"juju/state/statetest"
)

// subnetsOf returns subnets as a cloud tells them.
func subnetsOf(cidrs ...string) (all []entity.Subnet) {
	for _, cidr := range cidrs {
		all = append(all, entity.Subnet{CIDR: cidr, ProviderID: "id-" + cidr, Network: "net"})
	}
	return all
}

func reloads(cidrs ...string) func(*scene) error {
	return func(s *scene) error { return s.st.Settings().Networks().Reload(s.ctx, subnetsOf(cidrs...)) }
}

// withSpaces gives the model three subnets, one of them in the space db.
func withSpaces(s *scene) {
	s.ok(reloads("10.0.0.0/16", "10.1.0.0/16", "10.1.2.0/24")(s))
	s.ok(s.st.Settings().Networks().AddSpace(s.ctx, "db", []string{"10.1.0.0/16"}))
}

// spaces returns the model's spaces as "alpha: CIDR CIDR; db: CIDR".
func (s *scene) spaces() string {
	s.Helper()
	all, err := s.st.Settings().Networks().Spaces(s.ctx)
	s.ok(err)
	var texts []string
	for _, space := range all {
		text := space.Name + ":"
		for _, subnet := range space.Subnets {
			text += " " + subnet.CIDR
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

func (s *scene) hasSpaces(want string) {
	s.Helper()
	if got := s.spaces(); got != want {
		s.Errorf("the spaces are %q, want %q", got, want)
	}
}

func TestSpacesAreOfTheCloudsSubnets(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	n := s.st.Settings().Networks()
	if known, err := n.Known(s.ctx); known || err != nil {
		t.Errorf("the subnets of a cloud that has told none are known: %v, %v", known, err)
	}
	s.hasSpaces("alpha:")
	s.ok(reloads()(s))
	if known, err := n.Known(s.ctx); !known || err != nil {
		t.Errorf("the subnets of a cloud that has none are known: %v, %v", known, err)
	}
	s.ok(reloads("10.0.0.0/16", "10.1.0.0/16", "10.1.2.0/24", "fd00::/8")(s))
	s.ok(n.AddSpace(s.ctx, "db", []string{"10.1.0.1/16", "10.1.2.0/24"}))
	s.ok(n.AddSpace(s.ctx, "empty", nil))
	s.hasSpaces("alpha: 10.0.0.0/16 fd00::/8; db: 10.1.0.0/16 10.1.2.0/24; empty:")
	// A subnet is in one space. What has moved is told with where it was.
	moved, err := n.MoveSubnets(s.ctx, "empty", []string{"10.1.2.0/24", "10.0.0.0/16"}, false)
	s.ok(err)
	if want := []entity.MovedSubnet{{"10.1.2.0/24", "db", "empty"}, {"10.0.0.0/16", "alpha", "empty"}}; !slices.Equal(moved, want) {
		t.Errorf("moved %v, want %v", moved, want)
	}
	// Reloaded, subnets keep their spaces and ids; new ones are alpha's, and others are forgotten.
	before, err := n.Spaces(s.ctx)
	s.ok(err)
	s.ok(reloads("10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16")(s))
	s.hasSpaces("alpha: 10.2.0.0/16; db: 10.1.0.0/16; empty: 10.0.0.0/16")
	after, err := n.Spaces(s.ctx)
	s.ok(err)
	if was, is := before[1].Subnets[0].ID, after[1].Subnets[0].ID; was != is || after[0].Subnets[0].ID == before[0].Subnets[0].ID {
		t.Errorf("the ids of subnets were %v, and are %v", before, after)
	}
	for name, err := range map[string]error{
		`cannot add space "db": space "db" already exists`:                 n.AddSpace(s.ctx, "db", nil),
		`cannot add space "alpha": space "alpha" already exists`:           n.AddSpace(s.ctx, "alpha", nil),
		`cannot add space "D": "D" is not a valid space name`:              n.AddSpace(s.ctx, "D", nil),
		`cannot add space "x": subnet "10.9.0.0/16" not found`:             n.AddSpace(s.ctx, "x", []string{"10.9.0.0/16"}),
		`cannot add space "x": "ten" is not a valid CIDR`:                  n.AddSpace(s.ctx, "x", []string{"ten"}),
		`cannot rename space "alpha": the "alpha" space cannot be renamed`: n.RenameSpace(s.ctx, "alpha", "x"),
		`cannot rename space "db": space "empty" already exists`:           n.RenameSpace(s.ctx, "db", "empty"),
		`cannot rename space "x": space "x" not found`:                     n.RenameSpace(s.ctx, "x", "y"),
		`cannot remove space "alpha": the "alpha" space cannot be removed`: n.RemoveSpace(s.ctx, "alpha", true),
		`cannot remove space "x": space "x" not found`:                     n.RemoveSpace(s.ctx, "x", false),
	} {
		if err == nil || err.Error() != name {
			t.Errorf("got error %v, want %s", err, name)
		}
	}
	s.ok(n.RemoveSpace(s.ctx, "empty", false))
	s.hasSpaces("alpha: 10.0.0.0/16 10.2.0.0/16; db: 10.1.0.0/16")
	var many []string
	for i := range 2001 {
		many = append(many, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
	}
	s.refused(reloads(many...)(s), entity.Invalid, "subnets of a model: 2001 subnets, the limit is 2000")
	s.checkIntact(t.Context())
}

func TestSpaceInConstraints(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withSpaces(s)
	n := s.st.Settings().Networks()
	s.ok(n.AddSpace(s.ctx, "dbx", nil))
	s.ok(s.st.Settings().SetConstraints(s.ctx, statetest.Constraints("spaces=db,^dbx mem=2G")))
	s.ok(s.service("mysql").SetConstraints(s.ctx, statetest.Constraints("spaces=^db")))
	s.refused(n.RemoveSpace(s.ctx, "db", false), entity.InUse,
		`cannot remove space "db": it is used by the constraints of the model, mysql`)
	s.ok(n.RenameSpace(s.ctx, "db", "data"))
	of := func() string {
		model, err := s.st.Settings().Constraints(s.ctx)
		s.ok(err)
		service, err := s.service("mysql").Constraints(s.ctx)
		s.ok(err)
		return model.String() + "; " + service.String()
	}
	if got := of(); got != "mem=2048M spaces=data,^dbx; spaces=^data" {
		t.Errorf("the constraints are %q once the space is renamed", got)
	}
	s.ok(n.RemoveSpace(s.ctx, "data", true))
	if got := of(); got != "mem=2048M spaces=^dbx; " {
		t.Errorf("the constraints are %q once the space is removed", got)
	}
	s.checkIntact(t.Context())
}

func binds(service, space string, more ...string) func(*scene) error {
	bindings := map[string]string{"": space}
	for i := 0; i < len(more); i += 2 {
		bindings[more[i]] = more[i+1]
	}
	return func(s *scene) error { return s.service(service).Bind(s.ctx, bindings, false) }
}

// bound returns what a service is bound to, and fails unless it is what want says.
func (s *scene) isBound(service string, want map[string]string) {
	s.Helper()
	got, err := s.service(service).Bindings(s.ctx)
	if s.ok(err); !maps.Equal(got, want) {
		s.Errorf("%s is bound to %v, want %v", service, got, want)
	}
}

// hasAddresses gives a machine addresses.
func hasAddresses(id string, addresses ...string) func(*scene) {
	return func(s *scene) {
		m, err := s.st.Machine(s.ctx, id)
		s.ok(err)
		s.ok(m.SetAddresses(s.ctx, addresses))
	}
}

func TestBindings(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withSpaces(s)
	s.ok(s.st.Settings().Networks().AddSpace(s.ctx, "dmz", nil))
	s.isBound("wordpress", map[string]string{"": "alpha", "db": "alpha", "cache": "alpha"})
	s.ok(binds("wordpress", "db", "cache", "dmz")(s))
	s.isBound("wordpress", map[string]string{"": "db", "db": "db", "cache": "dmz"})
	// What was bound like the default follows it.
	s.ok(binds("wordpress", "dmz")(s))
	s.isBound("wordpress", map[string]string{"": "dmz", "db": "dmz", "cache": "dmz"})
	s.ok(binds("wordpress", "alpha", "db", "db")(s))
	s.isBound("wordpress", map[string]string{"": "alpha", "db": "db", "cache": "alpha"})
	s.refused(binds("wordpress", "nowhere")(s), entity.NotFound, `cannot bind service "wordpress": space "nowhere" not found`)
	s.refused(binds("wordpress", "db", "nothing", "db")(s), entity.NotFound,
		`cannot bind service "wordpress": endpoint "nothing" not found`)
	// A renamed space stays bound; a used one is not removed.
	n := s.st.Settings().Networks()
	s.ok(n.RenameSpace(s.ctx, "db", "data"))
	s.isBound("wordpress", map[string]string{"": "alpha", "db": "data", "cache": "alpha"})
	s.refused(n.RemoveSpace(s.ctx, "data", false), entity.InUse,
		`cannot remove space "data": it is used by the bindings of wordpress`)
	s.ok(n.RemoveSpace(s.ctx, "data", true))
	s.isBound("wordpress", map[string]string{"": "alpha", "db": "alpha", "cache": "alpha"})
	_, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "bound", CharmURL: s.service("wordpress").CharmURL(),
		Bindings: map[string]string{"db": "dmz"}})
	s.ok(err)
	s.isBound("bound", map[string]string{"": "alpha", "db": "dmz", "cache": "alpha"})
	_, err = s.st.AddService(s.ctx, state.AddServiceParams{Name: "more", CharmURL: s.service("wordpress").CharmURL(),
		Bindings: map[string]string{"db": "nowhere"}})
	s.refused(err, entity.NotFound, `space "nowhere" not found`)
	cleansUp(s)
	s.checkIntact(t.Context())
}

// A unit whose service is bound to a space while it enters a relation publishes its address there.
func TestUnitsEnterWhileTheirServiceIsBound(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withSpaces(s)
	u := s.unit("mysql/0")
	hasAddresses(s.info("mysql/0").Machine, "10.0.0.7", "10.1.0.7")(s)
	s.ok(u.LeaveScope(s.ctx, web))
	s.st.Before(func() {
		s.ok(binds("mysql", "db")(s))
		cleansUp(s)
	})
	s.ok(u.EnterScope(s.ctx, web))
	settings, err := u.RelationSettings(s.ctx, web, "mysql/0")
	s.ok(err)
	if got := settings["private-address"]; got != "10.1.0.7" {
		t.Errorf("the unit publishes %s, want the address in the space to which it is bound", got)
	}
	s.checkIntact(t.Context())
}

func TestUnitsUseTheAddressesOfTheirSpaces(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withSpaces(s)
	u := s.unit("mysql/0")
	machine := s.info("mysql/0").Machine
	hasAddresses(machine, "10.0.0.7")(s)
	s.refused(binds("mysql", "db")(s), entity.Invalid,
		fmt.Sprintf(`cannot bind service "mysql": machines without an address in space "db": %s`, machine))
	relation := web
	told := func() string {
		s.Helper()
		settings, err := u.RelationSettings(s.ctx, relation, "mysql/0")
		s.ok(err)
		return settings["private-address"] + " " + settings["ingress-address"]
	}
	at := func(endpoint string) entity.BoundAddress {
		s.Helper()
		return s.info("mysql/0").Bound[endpoint]
	}
	if err := u.EnterScope(s.ctx, relation); err != nil {
		s.ok(err)
	}
	preferred := s.info("mysql/0").PrivateAddress
	if got := told(); got != preferred+" "+preferred {
		t.Errorf("the unit publishes %s, want %s", got, preferred)
	}
	// By force it is bound, and keeps the preferred address.
	s.ok(s.service("mysql").Bind(s.ctx, map[string]string{"": "db"}, true))
	cleansUp(s)
	if a := at("server"); a != (entity.BoundAddress{Space: "db"}) || told() != preferred+" "+preferred {
		t.Errorf("the unit has the address %+v and publishes %s", a, told())
	}
	// Once the machine has an address there, the unit uses it.
	hasAddresses(machine, "10.0.0.7", "10.1.0.7")(s)
	cleansUp(s)
	if a := at("server"); a.Address != "10.1.0.7" || told() != "10.1.0.7 10.1.0.7" {
		t.Errorf("the unit has the address %+v and publishes %s", a, told())
	}
	// The cloud has other subnets, and subnets are in other spaces: then its addresses are.
	n := s.st.Settings().Networks()
	s.ok(reloads("10.0.0.0/16", "10.1.0.0/16", "10.1.0.0/24", "10.1.2.0/24")(s))
	cleansUp(s)
	if told() != preferred+" "+preferred {
		t.Errorf("the unit publishes %s, and its address in the space is in another one by now", told())
	}
	s.ok(n.AddSpace(s.ctx, "dmz", nil))
	_, err := n.MoveSubnets(s.ctx, "db", []string{"10.1.0.0/24"}, false)
	s.ok(err)
	cleansUp(s)
	if told() != "10.1.0.7 10.1.0.7" {
		t.Errorf("the unit publishes %s once the smaller subnet is in the space too", told())
	}
	s.ok(reloads("10.0.0.0/16", "10.1.0.0/16", "10.1.2.0/24")(s))
	cleansUp(s)
	if told() != "10.1.0.7 10.1.0.7" {
		t.Errorf("the unit publishes %s once the smaller subnet is gone", told())
	}
	s.ok(n.AddSpace(s.ctx, "grabs", []string{"10.1.0.0/16"}))
	cleansUp(s)
	if told() != preferred+" "+preferred {
		t.Errorf("the unit publishes %s once a new space has its subnet", told())
	}
	_, err = n.MoveSubnets(s.ctx, "db", []string{"10.1.0.0/16"}, false)
	s.ok(err)
	cleansUp(s)
	_, err = s.st.Settings().Networks().MoveSubnets(s.ctx, "alpha", []string{"10.1.0.0/16"}, false)
	s.refused(err, entity.Invalid, fmt.Sprintf(
		`cannot move subnets to space "alpha": service "mysql" would be on machines without an address in space "db": %s`, machine))
	s.ok(binds("mysql", "alpha")(s))
	cleansUp(s)
	if told() != preferred+" "+preferred || s.info("mysql/0").Bound != nil {
		t.Errorf("the unit publishes %s", told())
	}
	s.checkIntact(t.Context())
}

func TestUnitsArePlacedWhereTheirSpacesAre(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withSpaces(s)
	var ids []string
	for _, address := range []string{"10.0.0.8", "10.1.0.8"} {
		m, err := s.st.AddMachine(s.ctx, state.AddMachineParams{})
		s.ok(err)
		ids = append(ids, m.ID())
		hasAddresses(m.ID(), address)(s)
	}
	svc, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "bound", CharmURL: s.service("wordpress").CharmURL(),
		Bindings: map[string]string{"db": "db"}, Units: 1})
	s.ok(err)
	if on := s.info("bound/0").Machine; on != ids[1] {
		t.Errorf("the unit is on machine %s, want %s", on, ids[1])
	}
	_, err = svc.AddUnits(s.ctx, 1, statetest.To(ids[0]))
	s.refused(err, entity.Invalid, fmt.Sprintf(`cannot assign unit of "bound" to machine %s: it has no address in space "db"`, ids[0]))
	s.checkIntact(t.Context())
}

// spacesOf returns what is demanded of a machine's instance, as "db -dmz".
func (s *scene) spacesOf(id string) string {
	s.Helper()
	want, err := s.machine(id).Spaces(s.ctx)
	s.ok(err)
	var names []string
	for _, space := range want.In {
		names = append(names, space.Name)
	}
	for _, space := range want.Out {
		names = append(names, "-"+space.Name)
	}
	return strings.Join(names, " ")
}

// Constraints and bindings demand spaces: of the machines on which units are placed, and of the instances of new ones.
func TestUnitsGetMachinesInTheSpacesOfTheirConstraints(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withSpaces(s)
	n := s.st.Settings().Networks()
	s.ok(n.AddSpace(s.ctx, "dmz", []string{"10.1.2.0/24"}))
	added := func(constraints string, addresses ...string) string {
		m, err := s.st.AddMachine(s.ctx, state.AddMachineParams{Constraints: statetest.Constraints(constraints)})
		s.ok(err)
		if len(addresses) > 0 {
			hasAddresses(m.ID(), addresses...)(s)
		}
		return m.ID()
	}
	plain, both, db := added("", "10.0.0.8"), added("", "10.1.0.8", "10.1.2.8"), added("", "10.0.0.9", "10.1.0.9", "192.168.0.1")
	svc, err := s.st.AddService(s.ctx, state.AddServiceParams{Name: "picky", CharmURL: s.service("wordpress").CharmURL(),
		Constraints: statetest.Constraints("spaces=db,^dmz")})
	s.ok(err)
	addUnit := func(placement ...string) string {
		s.Helper()
		names, err := svc.AddUnits(s.ctx, 1, statetest.To(placement...))
		s.ok(err)
		return s.info(names[0]).Machine
	}
	if on := addUnit(); on != db {
		t.Errorf("the unit is on machine %s, want %s", on, db)
	}
	for id, why := range map[string]string{
		plain: `it has no address in space "db"`, both: `it has the address 10.1.2.8 in space "dmz", which the constraints exclude`,
	} {
		_, err = svc.AddUnits(s.ctx, 1, statetest.To(id))
		s.refused(err, entity.Invalid, fmt.Sprintf(`cannot assign unit of "picky" to machine %s: %s`, id, why))
	}
	// A machine that has no address yet is used if it was requested to have those.
	asked := added("spaces=db,^dmz")
	added("")
	if on := addUnit(); on != asked {
		t.Errorf("the unit is on machine %s, want %s", on, asked)
	}
	fresh := addUnit()
	if got := s.spacesOf(fresh); got != "db -dmz" || fresh == plain || fresh == both {
		t.Errorf("the unit is on machine %s, of which %q is demanded", fresh, got)
	}
	s.ok(n.RenameSpace(s.ctx, "db", "data"))
	if got := s.spacesOf(fresh); got != "data -dmz" {
		t.Errorf("of the machine %q is demanded once the space is renamed", got)
	}
	// What a service is bound to counts too, and when it is bound later.
	s.ok(s.service("picky").SetConstraints(s.ctx, statetest.Constraints("")))
	s.ok(s.service("picky").Bind(s.ctx, map[string]string{"cache": "dmz"}, true))
	if on := addUnit(); on != both {
		t.Errorf("the unit is on machine %s, want %s", on, both)
	}
	if got := s.spacesOf(both); got != "dmz" {
		t.Errorf("of the machine %q is demanded, want dmz", got)
	}
	s.ok(s.service("picky").SetConstraints(s.ctx, statetest.Constraints("spaces=^dmz")))
	_, err = svc.AddUnits(s.ctx, 1, nil)
	s.refused(err, entity.Invalid, `space "dmz" is excluded by the constraints, and bound`)
	// Spaces that do not exist can't be demanded.
	missing := statetest.Constraints("spaces=nowhere")
	s.refused(s.service("picky").SetConstraints(s.ctx, missing), entity.NotFound, `space "nowhere" not found`)
	s.refused(s.st.Settings().SetConstraints(s.ctx, missing), entity.NotFound, `space "nowhere" not found`)
	_, err = s.st.AddMachine(s.ctx, state.AddMachineParams{Constraints: missing})
	s.refused(err, entity.NotFound, `space "nowhere" not found`)
	_, err = s.st.AddService(s.ctx, state.AddServiceParams{Name: "lost", CharmURL: svc.CharmURL(), Constraints: missing})
	s.refused(err, entity.NotFound, `space "nowhere" not found`)
	s.checkIntact(t.Context())
}

// Endpoints, also those that only the new charm has, are bound with an upgrade; a refused one changes nothing.
func TestEndpointsAreBoundWithAnUpgrade(t *testing.T) {
	s := sharedStage(t).scene(t, nil)
	withSpaces(s)
	machine := s.info("mysql/0").Machine
	hasAddresses(machine, "10.0.0.7")(s)
	url := statetest.Charm(t, s.st, strings.Replace(statetest.MySQL, "admin: {interface: mysql-root}", "admin: {interface: mysql-root}, fresh: {interface: x}", 1))
	was := s.service("mysql").CharmURL()
	upgrade := func(url string, bindings map[string]string, force bool) error {
		_, err := s.service("mysql").SetCharm(s.ctx, state.SetCharmParams{URL: url, Bindings: bindings, ForceBindings: force})
		return err
	}
	failed := func(why string) string {
		return fmt.Sprintf(`cannot upgrade service "mysql" to charm %q: %s`, url, why)
	}
	s.refused(upgrade(url, map[string]string{"fresh": "db"}, false), entity.Invalid,
		failed(fmt.Sprintf(`machines without an address in space "db": %s`, machine)))
	s.refused(upgrade(url, map[string]string{"fresh": "nowhere"}, false), entity.NotFound, failed(`space "nowhere" not found`))
	s.refused(upgrade(url, map[string]string{"stale": "db"}, false), entity.NotFound, failed(`endpoint "stale" not found`))
	s.refused(upgrade(was, map[string]string{"fresh": "db"}, true), entity.NotFound, `endpoint "fresh" not found`)
	before := s.service("mysql")
	if bound, err := before.Bindings(s.ctx); err != nil || before.CharmURL() != was || slices.Contains(slices.Collect(maps.Values(bound)), "db") {
		t.Errorf("a refused upgrade leaves the charm %s, bound to %v (%v)", before.CharmURL(), bound, err)
	}
	s.ok(upgrade(url, map[string]string{"fresh": "db"}, true))
	s.isBound("mysql", map[string]string{"": "alpha", "admin": "alpha", "fresh": "db", "server": "alpha"})
	if now := s.service("mysql").CharmURL(); now != url {
		t.Errorf("the charm is %s, want %s", now, url)
	}
	// What was forced before does not bar others.
	s.ok(upgrade(url, map[string]string{"admin": "alpha", "server": "alpha"}, false))
	s.ok(s.st.Settings().Networks().AddSpace(s.ctx, "near", []string{"10.0.0.0/16"}))
	s.ok(s.service("mysql").Bind(s.ctx, map[string]string{"server": "near"}, false))
	s.ok(s.service("mysql").Bind(s.ctx, map[string]string{"server": "alpha"}, false))
	// With an address there, nothing need be forced; the charm may stay, and an upgrade without bindings keeps them.
	hasAddresses(machine, "10.0.0.7", "10.1.0.7")(s)
	s.ok(upgrade(url, map[string]string{"": "db", "admin": "alpha"}, false))
	s.isBound("mysql", map[string]string{"": "db", "admin": "alpha", "fresh": "db", "server": "db"})
	s.ok(upgrade(was, nil, false))
	s.isBound("mysql", map[string]string{"": "db", "admin": "alpha", "server": "db"})
	s.ok(upgrade(url, map[string]string{"": "alpha"}, false))
	s.isBound("mysql", map[string]string{"": "alpha", "admin": "alpha", "fresh": "alpha", "server": "alpha"})
	cleansUp(s)
	s.checkIntact(t.Context())
}

// info returns what the agent of a unit knows of it.
func (s *scene) info(unit string) entity.UnitInfo {
	s.Helper()
	info, err := s.unit(unit).Info(s.ctx)
	s.ok(err)
	return info
}

func bindTo(bindings map[string]string) func(*scene, *state.Service) error {
	return func(s *scene, x *state.Service) error { return x.Bind(s.ctx, bindings, false) }
}
