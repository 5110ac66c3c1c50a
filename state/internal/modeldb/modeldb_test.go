package modeldb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/charm"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lifecycle"
	"juju/state/limits"
	"juju/state/modelconfig"
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Any string can be a key, and is read back unchanged. No key ends a field's name early, or is mistaken for another.
func TestEscapedKeysRoundTrip(t *testing.T) {
	fields := map[string]bool{}
	for _, key := range []string{"", ".", "$", "$set", "a.b", "a\x00b", "a\x00\x10\x01\x00\x00\x00", "\xff\xfe", "\ufdd0", "\ufdd000", "．", "＄",
		"\uff0e\uff04.$", "\ufffd", "plain", "ü"} {
		field := modeldb.EscapeKey(key)
		if strings.ContainsAny(field, ".$\x00") || field == "" || fields[field] {
			t.Errorf("%q is stored as field %q (of another key: %v)", key, field, fields[field])
		}
		fields[field] = true
		if back := modeldb.UnescapeKey(field); back != key {
			t.Errorf("%q is read back as %q", key, back)
		}
	}
	// Keys stored by the first version look like this.
	if field := modeldb.EscapeKey("a.$b"); field != "a．＄b" {
		t.Errorf("a.$b is stored as %q", field)
	}
	for field, want := range map[string]string{"x\ufdd0": "x\ufdd0", "\ufdd0zz": "\ufdd0zz", "\ufdd0a": "\ufdd0a", "x．y": "x.y"} {
		if got := modeldb.UnescapeKey(field); got != want {
			t.Errorf("%q is read as %q, want %q", field, got, want)
		}
	}
	inner := map[string]any{"a.b": map[string]any{"$c": []any{map[string]any{".": 1}, 2}}, "d": bson.M{"e.f": 3}}
	escaped := modeldb.EscapeKeys(inner)
	same(t, "escaped", escaped, map[string]any{"a．b": map[string]any{"＄c": []any{map[string]any{"．": 1}, 2}}, "d": map[string]any{"e．f": 3}})
	same(t, "unescaped", modeldb.UnescapeKeys(escaped), map[string]any{"a.b": map[string]any{"$c": []any{map[string]any{".": 1}, 2}}, "d": map[string]any{"e.f": 3}})
}

// The keys and ids of documents are what is stored; they never change.
func TestKeys(t *testing.T) {
	for want, got := range map[string]string{
		"m#0": modeldb.MachineKey("0"), "m#0#instance": modeldb.InstanceKey("0"), "u#a/0": modeldb.UnitKey("a/0"), "u#a/0#workload": modeldb.WorkloadKey("a/0"),
		"s#a": modeldb.ServiceKey("a"), "r#5": modeldb.RelationKey(5), "st#data/0": modeldb.StorageKey("data/0"), "r#5#a/0": modeldb.RelationSettingsKey(5, "a/0"),
		"s#a#leader": modeldb.LeaderSettingsKey("a"), "u#a/0#state": modeldb.CharmStateKey("a/0"), "machine-0#a/0": modeldb.DeploymentID(entity.MachineTag("0"), "a/0"),
		"a#k": modeldb.EndpointID("a", "k"), "5#": modeldb.ScopePrefix(5, ""), "5-unit-a-0#": modeldb.ScopePrefix(5, "a/0"), "unit-a-0#7": modeldb.TaskID("a/0", 7),
		"machine-3#7": modeldb.TaskID("3", 7), "unit-a-0#data/1": modeldb.AttachmentID("a/0", "data/1"), "a/0:data/1": modeldb.AttachmentName("a/0", "data/1"),
		"unit-b-0#data/2": modeldb.ParseAttachment("b/0:data/2"), "service-a": modeldb.UnitSequence("a"), "force-m#0": modeldb.ForceID("m#0"),
		"o#a": modeldb.OfferKey("a"), "rs#a": modeldb.RemoteKey("a"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if v := modeldb.FieldValue(lifecycle.Relation, "5"); v != 5 {
		t.Errorf("a relation's is %v", v)
	}
	if v := modeldb.FieldValue(lifecycle.Service, "a"); v != "a" {
		t.Errorf("a service's is %v", v)
	}
	same(t, "sources", modeldb.SourcesQuery(lifecycle.Ref{Field: "machine", To: lifecycle.Machine, Alive: true}, "0"), bson.D{{"machine", "0"}, {"life", entity.Alive}})
	same(t, "all sources", modeldb.SourcesQuery(lifecycle.Ref{}, "0"), bson.D{})
	if all := modeldb.Planned(); all[modeldb.StatusesC] == nil || len(all) != 24 {
		t.Errorf("plans depend on %v", all)
	}
	if _, ok := modeldb.Planned()[modeldb.CountsC]; ok {
		t.Error("plans depend on counts")
	}
}

// Emptied machines come last, containers before their hosts.
func TestTurns(t *testing.T) {
	turn := func(kind, arg string) int { return modeldb.Cleanup{Kind: kind, Arg: arg}.Turn() }
	inner, host, other := turn(modeldb.CleanupEmptied, "0/lxd/1"), turn(modeldb.CleanupEmptied, "0"), turn(modeldb.CleanupDestroy, "m#0/lxd/1")
	if other != 0 || inner <= other || host <= inner {
		t.Errorf("the turns are %d, %d, %d", other, inner, host)
	}
}

func TestLeftover(t *testing.T) {
	for _, c := range []struct {
		d    modeldb.Leftover
		what string
	}{
		{modeldb.Leftover{Of: "m#0", Instance: "i-0"}, "instance i-0 of machine 0"},
		{modeldb.Leftover{Of: "st#data/0", Filesystem: "f"}, "filesystem f of storage data/0"},
	} {
		if got := c.d.Leftover(modeldb.Model{Cloud: "lxd"}); got.What != c.what || got.Where != "cloud lxd" || got.Of != c.d.Of {
			t.Errorf("%+v", got)
		}
	}
	for _, c := range []struct{ own, model, want bool }{{false, false, false}, {true, false, true}, {false, true, true}} {
		if got := (modeldb.Leftover{Release: c.own}).IsReleased(modeldb.Model{Released: c.model}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// What is known of a machine comes from its cloud and its agent; of a host, its agent knows better.
func TestMachine(t *testing.T) {
	d := modeldb.Machine{CloudAddresses: []string{"a", "b"}, HostAddresses: []string{"b", "c"}, CloudHardware: entity.Hardware{Mem: 1}, HostHardware: entity.Hardware{Mem: 2}}
	before := d
	change := d.Observed(before)
	same(t, "addresses", d.Addresses, []string{"a", "b", "c"})
	if len(change) != 2 || change[0].Name != "addresses" || change[1].Name != "hardware" || d.Address() != "a" {
		t.Errorf("changed is %v", change)
	}
	if d.KnownHardware() != d.CloudHardware {
		t.Errorf("known is %v", d.KnownHardware())
	}
	if again := d.Observed(d); len(again) != 0 {
		t.Errorf("changed is %v", again)
	}
	other := d
	other.CloudAddresses, other.HostAddresses, other.HostHardware = []string{"x"}, nil, entity.Hardware{Mem: 5}
	other.CloudHardware = entity.Hardware{Mem: 9}
	names := ""
	for _, e := range other.Observed(d) {
		names += e.Name + " "
	}
	same(t, "changed are", names, "addresses cloudaddresses hostaddresses cloudhardware hosthardware hardware ")
	host := modeldb.Machine{InstanceID: "manual:h", CloudHardware: d.CloudHardware, HostHardware: d.HostHardware}
	if host.KnownHardware() != d.HostHardware {
		t.Errorf("known of a host is %v", host.KnownHardware())
	}
	many := modeldb.Machine{}
	for i := range limits.Addresses.Max + 5 {
		many.HostAddresses = append(many.HostAddresses, fmt.Sprint(i))
	}
	if many.Merge(); len(many.Addresses) != limits.Addresses.Max {
		t.Errorf("%d addresses are kept", len(many.Addresses))
	}
	if lost := (modeldb.Machine{LostAddress: "z"}); lost.Address() != "z" {
		t.Errorf("it has %s", lost.Address())
	}
	same(t, "with addresses", d.KeepsAddresses(), bson.D{{"addresses", d.Addresses}})
	same(t, "without", (&modeldb.Machine{}).KeepsAddresses(), bson.D{{"addresses.0", bson.D{{"$exists", false}}}})
	same(t, "an upgrade", (&modeldb.SeriesUpgrade{Number: 2, Version: 3}).AsRead(), bson.D{{"upgrade.number", int64(2)}, {"upgrade.version", int64(3)}})
	same(t, "no upgrade", (*modeldb.SeriesUpgrade)(nil).AsRead(), bson.D{{"upgrade", bson.D{{"$exists", false}}}})
	if (modeldb.Machine{Jobs: []string{modeldb.JobHostUnits}}).IsManager() || !(modeldb.Machine{Jobs: []string{modeldb.JobManageModel}}).IsManager() {
		t.Error("a manager is one with its job")
	}
	same(t, "ports", modeldb.Ports{Version: 4}.AsRead(), bson.D{{"version", int64(4)}})
	if (modeldb.Ports{Missing: true}).AsRead() != txn.DocMissing {
		t.Error("there are ports")
	}
}

func TestModel(t *testing.T) {
	d := modeldb.Model{Series: "jammy", Config: map[string]string{modelconfig.DefaultSeries: "noble"}}
	for want, charm := range map[string][]string{"noble": nil, "focal": {"focal", "jammy"}} {
		if got := d.SeriesFor(charm); got != want {
			t.Errorf("%v: %s, want %s", charm, got, want)
		}
	}
	if got := d.SeriesFor([]string{"focal", "noble"}); got != "noble" {
		t.Errorf("the default is not %s", got)
	}
	if got := (modeldb.Model{Series: "jammy"}).DefaultSeries(); got != "jammy" {
		t.Errorf("the controller's is not %s", got)
	}
	same(t, "no constraints", d.AsRead(), bson.D{{"life", entity.Alive}, {"constraints", bson.D{{"$exists", false}}}})
	d.Constraints = "mem=1G"
	same(t, "constraints", d.AsRead(), bson.D{{"life", entity.Alive}, {"constraints", "mem=1G"}})
	same(t, "no binaries", d.AgentBinaries(), entity.Binaries{})
	d.Binaries = &modeldb.Binaries{Version: "1", SHA256: "2"}
	same(t, "binaries", d.AgentBinaries(), entity.Binaries{Version: "1", SHA256: "2"})
}

func TestNetworks(t *testing.T) {
	d := modeldb.Networks{Version: 3, Spaces: []modeldb.Space{{ID: "1", Name: "db"}}, Subnets: []modeldb.Subnet{
		{Subnet: entity.Subnet{CIDR: "10.0.0.0/8"}, Space: "0"}, {Subnet: entity.Subnet{CIDR: "10.1.0.0/16"}, Space: "1"}}}
	same(t, "spaces", d.AllSpaces(), []entity.Space{{ID: "0", Name: "alpha", Subnets: []entity.Subnet{{CIDR: "10.0.0.0/8"}}}, {ID: "1", Name: "db", Subnets: []entity.Subnet{{CIDR: "10.1.0.0/16"}}}})
	if s, ok := d.SpaceNamed("db"); s.ID != "1" || !ok {
		t.Errorf("%+v", s)
	}
	if _, ok := d.SpaceNamed("moon"); ok {
		t.Error("the moon is there")
	}
	for id, want := range map[string]string{"1": "db", "0": "alpha", "9": "alpha"} {
		if got := d.NameOf(id); got != want {
			t.Errorf("%s is %s", id, got)
		}
	}
	for address, want := range map[string]string{"10.1.0.1": "1", "10.2.0.1": "0", "192.168.0.1": "0"} {
		if got := d.SpaceOf(address); got != want {
			t.Errorf("%s is in %s", address, got)
		}
	}
	if got := d.InSpace("1", []string{"10.2.0.1", "10.1.0.1", "10.1.0.2"}); got != "10.1.0.1" {
		t.Errorf("%s", got)
	}
	if got := d.InSpace("1", []string{"10.2.0.1"}); got != "" {
		t.Errorf("%s", got)
	}
	c := d.Clone()
	c.Spaces[0].Name, c.Subnets[0].Space = "x", "x"
	if d.Spaces[0].Name != "db" || d.Subnets[0].Space != "0" {
		t.Error("a clone shares what callers change")
	}
	same(t, "as read", d.AsRead(), bson.D{{"version", int64(3)}})
	if (modeldb.Networks{Missing: true}).AsRead() != txn.DocMissing {
		t.Error("they are there")
	}
}

func TestRelation(t *testing.T) {
	site := modeldb.Endpoint{Service: "web", Name: "db", Role: "requirer", Interface: "mysql", Scope: "global"}
	server := modeldb.Endpoint{Service: "mysql", Name: "server", Role: "provider", Interface: "mysql", Scope: "global"}
	info := modeldb.Endpoint{Service: "log", Name: "info", Role: "requirer", Interface: "juju-info", Scope: "container"}
	ring := modeldb.Endpoint{Service: "riak", Name: "ring", Role: "peer", Interface: "riak", Scope: "global"}
	r, c := modeldb.NewRelation(5, server, site), modeldb.NewRelation(6, modeldb.Endpoint{Service: "mysql", Name: "juju-info", Role: "provider", Interface: "juju-info", Scope: "global"}, info)
	if r.Key != "web:db mysql:server" || r.ID != 5 || r.IsContainer() || !c.IsContainer() || c.Endpoints[1].Scope != "container" {
		t.Errorf("%+v, %+v", r, c)
	}
	principal, sub := modeldb.Unit{Name: "mysql/0"}, modeldb.Unit{Name: "log/0", Principal: "mysql/0"}
	if r.Container(sub) != "" || c.Container(sub) != "mysql/0" || c.Container(principal) != "mysql/0" {
		t.Error("a container relation has one scope for each principal")
	}
	if e, err := r.Endpoint("mysql"); e != server || err != nil {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := r.Endpoint("riak"); entity.KindOf(err) != entity.NotFound || err.Error() != `service "riak" is not a member of relation "web:db mysql:server"` {
		t.Errorf("%v", err)
	}
	if r.Counterpart("mysql") != site || r.Counterpart("web") != server || modeldb.NewRelation(7, ring).Counterpart("riak") != ring {
		t.Error("the counterpart is the other end, or the same of peers")
	}
	for _, x := range []struct {
		a, b modeldb.Endpoint
		want bool
	}{{site, server, true}, {site, site, false}, {site, ring, false}, {ring, server, false}, {site, info, false},
		{site, modeldb.Endpoint{Service: "web", Name: "s", Role: "provider", Interface: "mysql"}, false},
		{ring, modeldb.Endpoint{Service: "x", Role: "requirer", Interface: "riak"}, false}} {
		if got := x.a.CanRelateTo(x.b); got != x.want || x.b.CanRelateTo(x.a) != x.want {
			t.Errorf("%v and %v: %v", x.a, x.b, got)
		}
	}
	scoped := site
	scoped.Scope = "container"
	if !site.ImplementedBy(site) || site.ImplementedBy(scoped) || !scoped.ImplementedBy(site) || site.ImplementedBy(server) || !scoped.ImplementedBy(scoped) {
		t.Error("an endpoint is implemented by its like, whatever scope the relation took from the other end")
	}
	model := modeldb.Model{Config: map[string]string{modelconfig.EgressSubnets: "10.0.0.0/8,fd00::/8"}}
	via := r
	via.Via = []string{"192.168.0.0/16"}
	same(t, "the model's", r.Egress(model), []string{"10.0.0.0/8", "fd00::/8"})
	same(t, "the user's", via.Egress(model), via.Via)
	same(t, "no one's", r.Egress(modeldb.Model{}), []string(nil))
	same(t, "enterable", r.Enterable(), bson.D{{"life", entity.Alive}, {"suspended", bson.D{{"$ne", true}}}, {"egresschanges", bson.D{{"$exists", false}}}})
	r.EgressChanges = 2
	same(t, "with egress", r.Enterable(), bson.D{{"life", entity.Alive}, {"suspended", bson.D{{"$ne", true}}}, {"egresschanges", int64(2)}})
	far := server
	far.Remote = true
	x := modeldb.NewRelation(8, site, far)
	if e, ok := x.RemoteEnd(); e != far || !ok || !x.Consumes() {
		t.Errorf("%+v", e)
	}
	if x.Offer = "shop"; x.Consumes() {
		t.Error("an offer consumes")
	}
	if _, ok := r.RemoteEnd(); ok || r.Consumes() {
		t.Error("a relation within the model has no remote end")
	}
	meta, err := charm.ParseMeta([]byte("{name: a, summary: s, description: d, provides: {b10: {interface: i}, b9: {interface: i}}}"))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "endpoints", fmt.Sprint(modeldb.EndpointsOf("a", meta)), "[a:b9 a:b10 a:juju-info]")
	if e := modeldb.EndpointsOf("a", meta)[2]; !e.Implicit || e.Interface != "juju-info" {
		t.Errorf("%+v", e)
	}
	same(t, "offered", modeldb.Offer{Service: "a", Endpoints: []string{"b10", "old"}}.Offered(meta), []entity.RemoteEndpoint{{Name: "b10", Role: "provider", Interface: "i"}})
}

func TestConsumer(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []modeldb.Consumer{{Model: "m", Relation: 1}, {Model: "m", Relation: 11}, {Model: "m", Relation: 1, Token: "t1"}, {Model: "n", Relation: 1}} {
		name := c.Far()
		if seen[name] || !entity.IsValidService(name) || len(name) != len("remote-")+32 || c.Far() != name {
			t.Errorf("%+v is called %s", c, name)
		}
		seen[name] = true
	}
	r := modeldb.Remote{Name: "db", Model: "m", Offer: "o", URL: "u", User: "bob", Token: "secret"}
	same(t, "consumed", r.Consumed(), entity.Consumed{Name: "db", Model: "m", Offer: "o", URL: "u", User: "bob"})
	r.External = &modeldb.External{Controller: "c", Name: "n", Addresses: []string{"a"}, CACert: "ca", TokenID: "id"}
	same(t, "external", r.Consumed().External, &entity.External{Controller: "c", Name: "n", Addresses: []string{"a"}, CACert: "ca", ID: "id", Token: "secret"})
}

func TestService(t *testing.T) {
	everywhere, none := entity.Everywhere(), bson.D{{"$exists", false}}
	office := entity.ExposedTo{CIDRs: []string{"10.0.0.0/8"}}
	some := modeldb.Service{CharmURL: "c", Exposures: []modeldb.Exposed{{Endpoint: "a", ExposedTo: office}}}
	same(t, "exposed", modeldb.Service{Exposed: true}.ExposedEndpoints(), everywhere)
	same(t, "exposed are", some.ExposedEndpoints(), entity.ExposedEndpoints{"a": office})
	if (modeldb.Service{}).ExposedEndpoints() != nil {
		t.Error("a service is exposed")
	}
	same(t, "keeps", modeldb.Service{CharmURL: "c", Exposed: true}.KeepsExposed(), bson.D{{"charm", "c"}, {"exposed", true}, {"exposures", none}})
	same(t, "keeps some", some.KeepsExposed(), bson.D{{"charm", "c"}, {"exposed", false}, {"exposures", some.Exposures}})
	same(t, "sets all", modeldb.SetExposed(everywhere), bson.D{{"$set", bson.D{{"exposed", true}}}, {"$unset", bson.D{{"exposures", true}}}})
	same(t, "sets none", modeldb.SetExposed(nil), bson.D{{"$set", bson.D{{"exposed", false}}}, {"$unset", bson.D{{"exposures", true}}}})
	same(t, "sets some", modeldb.SetExposed(entity.ExposedEndpoints{"b": office, "a": office}), bson.D{{"$set", bson.D{{"exposed", false},
		{"exposures", []modeldb.Exposed{{Endpoint: "a", ExposedTo: office}, {Endpoint: "b", ExposedTo: office}}}}}})
	bound := modeldb.Service{Bindings: []modeldb.Binding{{Endpoint: "", Space: "1"}, {Endpoint: "a", Space: "2"}}}
	for endpoint, want := range map[string]string{"a": "2", "b": "1", "": "1"} {
		if got := bound.SpaceFor(endpoint); got != want {
			t.Errorf("%q is bound to %s", endpoint, got)
		}
	}
	if got := (modeldb.Service{}).SpaceFor("a"); got != entity.AlphaSpaceID {
		t.Errorf("it is bound to %s", got)
	}
	same(t, "bindings", bound.KeepsBindings(), bson.DocElem{Name: "bindings", Value: bound.Bindings})
	same(t, "no bindings", modeldb.Service{}.KeepsBindings(), bson.DocElem{Name: "bindings", Value: none})
	same(t, "minimum", modeldb.Service{MinUnits: 2}.KeepsMinUnits(), bson.DocElem{Name: "minunits", Value: 2})
	same(t, "no minimum", modeldb.Service{}.KeepsMinUnits(), bson.DocElem{Name: "minunits", Value: none})
	rolled := modeldb.Service{CharmURL: "new", Rollout: &modeldb.Rollout{ID: "r", Former: "old", Batch: 2}}
	for _, c := range []struct {
		s    modeldb.Service
		u    modeldb.Unit
		want string
	}{{rolled, modeldb.Unit{CharmURL: "old"}, "old"}, {rolled, modeldb.Unit{}, "new"}, {rolled, modeldb.Unit{CharmURL: "old", Turn: &modeldb.Turn{Rollout: "r"}}, "new"},
		{rolled, modeldb.Unit{CharmURL: "old", Turn: &modeldb.Turn{Rollout: "q"}}, "old"}, {modeldb.Service{CharmURL: "new"}, modeldb.Unit{CharmURL: "old"}, "new"}} {
		if got := c.s.CharmOf(c.u); got != c.want {
			t.Errorf("%+v runs %s", c.u, got)
		}
	}
	same(t, "no rollout", modeldb.Service{CharmURL: "c"}.KeepsCharm(), bson.D{{"charm", "c"}, {"rollout", none}})
	same(t, "a rollout", rolled.KeepsCharm(), bson.D{{"charm", "new"}, {"rollout.id", "r"}, {"rollout.stopped", none}})
	same(t, "public", rolled.Rollout.Public(), &entity.Rollout{Former: "old", Batch: 2})
	rolled.Rollout.Stopped = "why"
	same(t, "a stopped one", rolled.KeepsCharm(), bson.D{{"charm", "new"}, {"rollout.id", "r"}, {"rollout.stopped", "why"}})
	if (*modeldb.Rollout)(nil).Public() != nil {
		t.Error("there is a rollout")
	}
	for id, want := range map[string]limits.Limit{"r#5#a/0": limits.RelationSettings, "u#a/0#state": limits.CharmState, "s#a": limits.ServiceSettings, "s#a#leader": limits.ServiceSettings} {
		if got := (modeldb.Settings{ID: id}).Limit(); got != want {
			t.Errorf("%s has the limit %v", id, got)
		}
	}
	same(t, "texts", modeldb.Settings{Settings: map[string]any{"a": "b", "c": 5}}.Texts(), map[string]string{"a": "b", "c": ""})
	files := &modeldb.Resources{Files: map[string]entity.ResourceFile{"a．b": {Size: 3}}}
	if f := files.File("a.b"); f == nil || f.Size != 3 || files.File("c") != nil || (*modeldb.Resources)(nil).File("a") != nil {
		t.Errorf("%+v", f)
	}
}

func TestStatus(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 1_999_999, time.FixedZone("x", 3600))
	d := modeldb.NewStatus("k", entity.Status{Status: entity.StatusActive, Message: "m", Data: map[string]any{"a.b": 1}}, at)
	same(t, "a new status", d, modeldb.Status{ID: "k", Status: entity.StatusActive, Message: "m", Data: map[string]any{"a．b": 1}, Since: at.UTC().Truncate(time.Millisecond)})
	if got := modeldb.NewStatus("k", entity.Status{Since: at.Add(time.Hour)}, at); !got.Since.Equal(at.Add(time.Hour).Truncate(time.Millisecond)) {
		t.Errorf("since %v", got.Since)
	}
	same(t, "mended", d.Mended(), entity.Status{Status: entity.StatusActive, Message: "m", Data: map[string]any{"a.b": 1}, Since: d.Since})
	same(t, "missing", modeldb.Status{Status: "x"}.Mended(), entity.Status{})
	for key, want := range map[string]string{"u#a/0": "allocating ", "u#a/0#workload": "waiting waiting for machine", "m#0": "pending "} {
		if got := modeldb.FirstStatus(key, modeldb.Birth{Born: at}); fmt.Sprint(got.Status, " ", got.Message) != want || !got.Unset || got.ID != key {
			t.Errorf("%+v", got)
		}
	}
	for _, c := range []struct {
		other modeldb.Status
		want  bool
	}{
		{modeldb.Status{Status: d.Status, Message: "m", Data: map[string]any{"a．b": int64(1)}}, true},
		{modeldb.Status{Status: d.Status, Message: "m", Data: map[string]any{"a．b": 2}}, false},
		{modeldb.Status{Status: d.Status, Message: "m"}, false},
		{modeldb.Status{Status: d.Status, Message: "n", Data: d.Data}, false},
		{modeldb.Status{Status: "x", Message: "m", Data: d.Data}, false},
	} {
		if got := d.Repeats(c.other); got != c.want {
			t.Errorf("%+v: %v", c.other, got)
		}
	}
	if !(modeldb.Status{}).Repeats(modeldb.Status{Data: map[string]any{}}) {
		t.Error("no data differs from none")
	}
}

// Storage that is mounted inside other storage is attached after it and detached before it.
func TestMeets(t *testing.T) {
	a := func(id, mount, location string, life entity.Life) modeldb.Attachment {
		return modeldb.Attachment{ID: id, Storage: id, Mount: mount, Location: location, Living: modeldb.Living{Life: life}}
	}
	for _, c := range []struct {
		name         string
		d            modeldb.Attachment
		other        modeldb.Attachment
		inUse, after string
	}{
		{"itself", a("x", "/srv", "", 0), a("x", "/srv", "/srv", 0), "", ""},
		{"the same mount", a("x", "/srv", "", 0), a("y", "/srv", "/srv", 0), "y", ""},
		{"the same mount, not there", a("x", "/srv", "", 0), a("y", "/srv", "", 0), "", ""},
		{"one inside", a("x", "/srv", "", 0), a("y", "/srv/a", "/srv/a", 0), "y", ""},
		{"one inside, not there", a("x", "/srv", "", 0), a("y", "/srv/a", "", 0), "", ""},
		{"one outside, not there yet", a("x", "/srv/a", "", 0), a("y", "/srv", "", 0), "", "y"},
		{"one outside", a("x", "/srv/a", "", 0), a("y", "/srv", "/srv", 0), "", ""},
		{"one outside that goes", a("x", "/srv/a", "", 0), a("y", "/srv", "/srv", entity.Dying), "", "y"},
		{"one outside that is gone", a("x", "/srv/a", "", 0), a("y", "/srv", "", entity.Dying), "", ""},
		{"a neighbour", a("x", "/srv", "", 0), a("y", "/srv2", "/srv2", 0), "", ""},
		{"detached before one inside", a("x", "/srv", "/srv", entity.Dying), a("y", "/srv/a", "/srv/a", 0), "", "y"},
		{"detached after one inside", a("x", "/srv", "/srv", entity.Dying), a("y", "/srv/a", "", 0), "", ""},
		{"detached from one outside", a("x", "/srv/a", "/srv/a", entity.Dying), a("y", "/srv", "/srv", 0), "", ""},
	} {
		if inUse, after := c.d.Meets([]modeldb.Attachment{c.other}); inUse != c.inUse || after != c.after {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, inUse, after, c.inUse, c.after)
		}
	}
}

func TestStorage(t *testing.T) {
	alive, dying := modeldb.Model{}, modeldb.Model{Living: modeldb.Living{Life: entity.Dying}}
	taken := modeldb.Model{Living: modeldb.Living{Life: entity.Dying, WithStorage: true}}
	for _, c := range []struct {
		d     modeldb.Storage
		model modeldb.Model
		want  bool
	}{{modeldb.Storage{}, alive, false}, {modeldb.Storage{}, dying, true}, {modeldb.Storage{}, taken, false}, {modeldb.Storage{Machine: "0"}, dying, false},
		{modeldb.Storage{Release: true, Machine: "0"}, alive, true}} {
		if got := c.d.IsReleased(c.model); got != c.want {
			t.Errorf("%+v in %+v: %v", c.d, c.model.Living, got)
		}
	}
	if (modeldb.Storage{Size: 5}).ActualSize() != 5 || (modeldb.Storage{Size: 5, Made: 7}).ActualSize() != 7 {
		t.Error("the size is that which was made")
	}
	same(t, "a pool", modeldb.Pool{Name: "n", Provider: "p", Attributes: map[string]string{"a": "b"}}.Pool(), entity.StoragePool{Name: "n", Provider: "p", Attributes: map[string]string{"a": "b"}})
}

func TestUnitAndTask(t *testing.T) {
	sub, principal := modeldb.Unit{Principal: "a/0", Machine: "9"}, modeldb.Unit{Machine: "3"}
	if sub.Kind() != lifecycle.Subordinate || principal.Kind() != lifecycle.Principal || sub.Deployer() != entity.UnitTag("a/0") || principal.Deployer() != entity.MachineTag("3") ||
		!(modeldb.Unit{}).Deployer().IsZero() {
		t.Error("a subordinate is deployed by its principal, which is deployed by its machine")
	}
	if (modeldb.Scope{Role: modeldb.Counterpart}).IsUnit() || !(modeldb.Scope{Role: "peer"}).IsUnit() || (modeldb.Scope{Unit: "a/0"}).Member() != "a/0" || (modeldb.Scope{Remote: "b/0"}).Member() != "b/0" {
		t.Error("a scope is a unit's, but that of the counterpart")
	}
	d := modeldb.Task{Number: 7, Operation: "6", Receiver: "a/0", Name: "n", Params: "{}", Parallel: true, Group: "g", Status: entity.TaskRunning, Message: "m"}
	same(t, "the task", d.Task(), entity.Task{ID: "7", Operation: "6", Receiver: "a/0", Name: "n", Params: []byte("{}"), Parallel: true, Group: "g", Status: entity.TaskRunning, Message: "m"})
	if d.On() != `unit "a/0"` || (modeldb.Task{Receiver: "3"}).On() != `machine "3"` {
		t.Error(d.On())
	}
}
