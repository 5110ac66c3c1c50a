package lxd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/canonical/lxd/shared/api"

	"juju/provider"
	"juju/state/entity"
)

func subnet(network, cidr string) entity.Subnet {
	return entity.Subnet{CIDR: cidr, ProviderID: "subnet-" + network + "-" + cidr, Network: network}
}

func space(name string, subnets ...entity.Subnet) entity.Space {
	return entity.Space{ID: name, Name: name, Subnets: subnets}
}

// A container gets a card for each space that none of its networks is in, and loses those in excluded ones.
func TestContainersGetCardsInTheirSpaces(t *testing.T) {
	front, front6, db, db6, loose := subnet("front", "10.0.0.0/24"), subnet("front", "fd00::/64"), subnet("dbnet", "10.1.0.0/24"),
		subnet("dbnet", "fd01::/64"), subnet("loose", "10.2.0.0/24")
	bridge := api.Network{Managed: true, Type: "bridge"}
	w := wiring{
		profile: map[string]map[string]string{"root": {"type": "disk", "path": "/"},
			"eth0": {"type": "nic", "name": "eth0", "network": "front"}},
		networks: map[string]api.Network{"front": bridge, "dbnet": bridge, "dbnet2": bridge, "loose": {Type: "bridge"}},
		subnets:  []entity.Subnet{front, front6, db, db6, loose, subnet("dbnet2", "10.3.0.0/24")},
	}
	for _, test := range []struct {
		in, out []entity.Space
		cards   string // "device=network …"
		err     string
	}{
		{in: []entity.Space{space("front", front, loose)}},
		{in: []entity.Space{space("db", db)}, cards: "eth1=dbnet"},
		{in: []entity.Space{space("db", db), space("more", db6), space("other", subnet("", "10.3.0.0/24"))}, cards: "eth1=dbnet eth2=dbnet2"},
		{in: []entity.Space{space("db", db, subnet("", "10.3.0.0/24"))}, out: []entity.Space{space("six", db6)}, cards: "eth1=dbnet2"},
		{in: []entity.Space{space("db", db)}, out: []entity.Space{space("front", front6)}, cards: "eth0=- eth1=dbnet"},
		{out: []entity.Space{space("db", db)}},
		{in: []entity.Space{space("db", db)}, out: []entity.Space{space("six", db6)},
			err: `no machine can have an address in space "db": LXD has no bridge that it manages with a subnet there and outside space "six"`},
		{in: []entity.Space{space("loose", loose)},
			err: `no machine can have an address in space "loose": LXD has no bridge that it manages with a subnet there`},
		{in: []entity.Space{space("gone")}, err: `no machine can have an address in space "gone": LXD has no bridge that it manages with a subnet there`},
		{out: []entity.Space{space("front", front)}, err: `every machine has an address in space "front": LXD's profile has no other network`},
	} {
		cards, err := w.cards(entity.MachineSpaces{In: test.in, Out: test.out})
		var got []string
		for _, name := range slices.Sorted(maps.Keys(cards)) {
			network := networkOf(cards[name])
			if network == "" {
				network = "-"
			}
			got = append(got, name+"="+network)
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if strings.Join(got, " ") != test.cards || text != test.err || err != nil && (!errors.Is(err, entity.Invalid) || entity.Hint(err) == "") {
			t.Errorf("in %v, out %v: got the cards %v and error %v, want %s, %s", test.in, test.out, got, err, test.cards, test.err)
		}
	}
	// Names that readers of YAML take for something else are quoted.
	for card, written := range map[string]string{"eth1": "eth1", "no": `"no"`, "on": `"on"`, "017": `"017"`, "1e3": `"1e3"`} {
		want := "version: 1\nconfig:\n  - type: physical\n    name: " + written + "\n    subnets:\n      - type: dhcp\n"
		got, err := w.networkConfig(map[string]map[string]string{"eth0": {"type": "none"},
			"eth1": {"type": "nic", "name": card, "network": "dbnet"}})
		if err != nil || got != want {
			t.Errorf("cloud-init is told\n%s, %v, want\n%s", got, err, want)
		}
	}
}

// lxdLists are what an LXD with one image, two networks and a pool answers.
var lxdLists = map[string]string{
	"/1.0": `{"api_status":"stable","auth":"trusted","environment":{"kernel_architecture":"x86_64","server_version":"5.0.2"},
		"api_extensions":["cloud_init","image_types","instances","projects","resources_v2"]}`,
	"/1.0/profiles/default": `{"name":"default","devices":{"root":{"type":"disk","path":"/","pool":"p"},
		"eth0":{"type":"nic","name":"eth0","network":"front"}}}`,
	"/1.0/networks": `[{"name":"front","managed":true,"type":"bridge","config":{"ipv4.address":"10.0.0.1/24"}},
		{"name":"dbnet","managed":true,"type":"bridge","config":{"ipv4.address":"10.1.0.1/24"}}]`,
	"/1.0/storage-pools":                `[{"name":"p","driver":"dir"}]`,
	"/1.0/images/aliases":               `[{"name":"juju/bookworm","type":"container","target":"f"}]`,
	"/1.0/images/aliases/juju/bookworm": `{"name":"juju/bookworm","type":"container","target":"f"}`,
	"/1.0/images/f":                     `{"fingerprint":"f","architecture":"x86_64"}`,
}

// A start asks LXD for a container with a card in the space, before it is created, and waits for the address there. A demand
// that no network meets is rejected without a change.
func TestAStartWiresTheContainer(t *testing.T) {
	var mu sync.Mutex
	var posted []string
	polls := 0
	c := answeredBy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		name := ""
		if len(posted) > 0 {
			name = between(posted[0], `"name":"`, `"`)
		}
		answer := lxdLists[r.URL.Path]
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/1.0/instances":
			posted = append(posted, string(body))
			answer = "{}"
		case r.Method != http.MethodGet:
			answer = "{}"
		case r.URL.Path == "/1.0/instances":
			answer = "[]"
		case name != "" && strings.HasSuffix(r.URL.Path, "/state"):
			addresses := `{"family":"inet","address":"10.0.0.5","scope":"global"}`
			if polls++; polls > 1 {
				addresses += `,{"family":"inet","address":"10.1.0.5","scope":"global"}`
			}
			answer = `{"network":{"eth0":{"hwaddr":"aa","addresses":[` + addresses + `]}}}`
		case name != "" && strings.HasPrefix(r.URL.Path, "/1.0/instances/"):
			answer = fmt.Sprintf(`{"name":%q,"status":"Running","status_code":103,"expanded_config":{"volatile.eth0.hwaddr":"aa"}}`, name)
		case answer == "":
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"type":"error","error_code":404,"error":"not found"}`)
			return
		}
		fmt.Fprintf(w, `{"type":"sync","status_code":200,"metadata":%s}`, answer)
	}))
	e, p := environOf(t, c), params("0", "n")
	p.Spaces = entity.MachineSpaces{In: []entity.Space{space("elsewhere", subnet("front", "10.9.0.0/24"))}}
	for _, err := range []error{
		e.PrecheckInstance(t.Context(), provider.PrecheckParams{Spaces: p.Spaces}),
		func() error { _, err := e.StartInstance(t.Context(), p); return err }(),
	} {
		if !errors.Is(err, entity.Invalid) || !strings.Contains(err.Error(), `space "elsewhere"`) {
			t.Errorf("got error %v for a space without a network", err)
		}
	}
	if len(posted) > 0 {
		t.Errorf("a rejected start has created %s", posted)
	}
	p.Spaces = entity.MachineSpaces{In: []entity.Space{space("db", subnet("dbnet", "10.1.0.0/24"))}}
	inst, err := e.StartInstance(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(inst.Addresses, []string{"10.0.0.5", "10.1.0.5"}) {
		t.Errorf("the instance has the addresses %v, want also the one in the space", inst.Addresses)
	}
	for _, part := range []string{`"eth1":{"name":"eth1","network":"dbnet","type":"nic"}`, `    name: eth0\n    subnets:\n      - type: dhcp\n`,
		`    name: eth1\n    subnets:\n      - type: dhcp\n`} {
		if !strings.Contains(posted[0], part) {
			t.Errorf("LXD was asked for %s, want %s in it", posted[0], part)
		}
	}
}

// On a real LXD: a container has an address in each space, and none in an excluded one.
func TestContainersAreInTheirSpaces(t *testing.T) {
	c, ctx := tiny(t, nil), within(t)
	ownBridge(t)
	e := environOf(t, c)
	all, err := e.Subnets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var first, second entity.Space
	first.Name, second.Name = "first", "second"
	for _, s := range all {
		if s.Network == testBridge {
			second.Subnets = append(second.Subnets, s)
		} else {
			first.Subnets = append(first.Subnets, s)
		}
	}
	has := func(addresses []string, in entity.Space) bool {
		return slices.ContainsFunc(addresses, func(a string) bool { return entity.SmallestSubnet(in.Subnets, a) >= 0 })
	}
	for name, want := range map[string]entity.MachineSpaces{
		"both": {In: []entity.Space{first, second}}, "second": {In: []entity.Space{second}, Out: []entity.Space{first}},
		"first": {In: []entity.Space{first}, Out: []entity.Space{second}},
	} {
		p := params("0", name)
		p.Spaces = want
		inst, err := e.StartInstance(ctx, p)
		if err != nil {
			t.Fatal(name, err)
		}
		if has(inst.Addresses, first) != (name != "second") || has(inst.Addresses, second) != (name != "first") {
			t.Errorf("%s: the container has the addresses %v; first is %v, second is %v", name, inst.Addresses, first.Subnets, second.Subnets)
		}
		if err := e.StopInstances(ctx, inst.ID); err != nil {
			t.Error(err)
		}
	}
}
