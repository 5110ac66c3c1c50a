package provisioner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/provider"
	"juju/provider/dummytest"
	"juju/state/entity"
)

// A dummy is a cloud with zones. A start takes a second, before which the instance is not listed. It notes the starts of instances as "1 in a" and "1/lxd/0 in a on
// dummy-1".
type dummy struct {
	*dummytest.Cloud
	provider.Environ

	mu     sync.Mutex
	starts []string
	refuse func(p provider.StartParams) error
	hidden []string // machines whose instances are starting
	lists  int      // how often the instances were listed
}

func newDummy(t *testing.T, zones ...string) *dummy {
	d := &dummy{}
	d.Cloud = dummytest.New(func(_ context.Context, p provider.StartParams) (func(), error) {
		d.hide(p.MachineID)
		time.Sleep(time.Second)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.hidden = slices.DeleteFunc(d.hidden, func(id string) bool { return id == p.MachineID })
		start := fmt.Sprintf("%s in %s", p.MachineID, p.Zone)
		if p.Parent != "" {
			start += " on " + p.Parent
		}
		d.starts = append(d.starts, start)
		if d.refuse != nil {
			return nil, d.refuse(p)
		}
		return func() {}, nil
	})
	d.SetZones(zones...)
	var err error
	if d.Environ, err = d.Open(t.Context(), provider.Config{Controller: "c", Model: "m"}); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *dummy) hide(machine string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hidden = append(d.hidden, machine)
}

func (d *dummy) Instances(ctx context.Context) ([]provider.Instance, error) {
	all, err := d.Environ.Instances(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists++
	return slices.DeleteFunc(all, func(in provider.Instance) bool { return slices.Contains(d.hidden, in.MachineID) }), err
}

func (d *dummy) use(c *Config) { c.Environ = d }

// took returns the starts since it was last called, sorted, and forgets them.
func (d *dummy) took() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.starts)
	all := strings.Join(d.starts, ", ")
	d.starts = nil
	return all
}

func (d *dummy) lose(t *testing.T, id string) {
	t.Helper()
	if !d.Lose(id) {
		t.Fatalf("the cloud has no instance %s", id)
	}
}

// The machines of each of two services are spread over the zones, although all start together. A
// machine that a user places is where it is placed, and the next one of its service is elsewhere.
func TestMachinesOfAServiceAreSpreadOverZones(t *testing.T) {
	model, cloud := newModel(), newDummy(t, "a", "b", "c")
	one, two := []string{"1", "2", "3", "7", "8"}, []string{"4", "5", "6"}
	model.group = map[string][]string{}
	for _, ids := range [][]string{one, two} {
		for _, id := range ids {
			model.group[id] = slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == id })
		}
	}
	for id := range model.group {
		if id < "7" {
			model.machines[id] = pending(id)
		}
	}
	story(t, model, nil, cloud.use, func(t *testing.T) {
		after(5 * time.Second)
		all := cloud.took()
		for _, ids := range [][]string{one[:3], two} {
			var in []string
			for _, id := range ids {
				_, zone, _ := strings.Cut(all, id+" in ")
				in = append(in, zone[:1])
			}
			if slices.Sort(in); !slices.Equal(in, []string{"a", "b", "c"}) {
				t.Errorf("machines %v are in zones %v: %s", ids, in, all)
			}
		}
		// Zone a has two of the service's machines, but the fewest of the model's.
		for id, zone := range map[string]string{"7": "a", "91": "b", "92": "b", "93": "c", "94": "c"} {
			placed := pending(id)
			placed.Placement = "zone=" + zone
			model.set(placed)
		}
		after(5 * time.Second)
		model.set(pending("8"))
		after(5 * time.Second)
		if got := cloud.took(); got != "7 in a, 8 in b, 91 in b, 92 in b, 93 in c, 94 in c" {
			t.Errorf("it started %s", got)
		}
		if got := model.zones["8"]; got != "b" {
			t.Errorf("the zone on record is %q", got)
		}
	})
}

// A start lists no instances, which a cloud with zones would do as often as it has machines. That a
// listing lacks starts that it may have missed does not matter.
func TestStartsInZonesListNothing(t *testing.T) {
	const n = 60
	lists := map[int]int{}
	for _, zones := range [][]string{nil, {"a", "b", "c"}} {
		model, cloud := newModel(), newDummy(t, zones...)
		for i := range n {
			id := strconv.Itoa(i)
			model.machines[id] = pending(id)
		}
		story(t, model, nil, cloud.use, func(t *testing.T) {
			after(time.Minute)
			all := cloud.took()
			for _, zone := range zones {
				if in := strings.Count(all, " in "+zone); in != n/len(zones) {
					t.Errorf("%d machines of %d are in zone %s", in, n, zone)
				}
			}
		})
		lists[len(zones)] = cloud.lists
	}
	if lists[3] != lists[0] || lists[0] == 0 {
		t.Errorf("the instances were listed %d times with zones, and %d times without", lists[3], lists[0])
	}
}

// A listing may lack the starts that went on when it began, so these count all the same, until one that began
// later says where the instances are.
func TestAListingOlderThanAStart(t *testing.T) {
	z := zones{starts: map[string]zoneStart{}}
	among := []string{"a", "b"}
	for _, c := range []struct {
		machine, want string
		list          bool // a listing begins and ends before the next start
	}{{"1", "a", true}, {"2", "b", true}, {"3", "a", false}} {
		if got := z.choose(c.machine, []string{"1"}, among); got != c.want {
			t.Errorf("machine %s goes to zone %s, want %s", c.machine, got, c.want)
		}
		if c.list {
			z.listing()
			z.end(c.machine, true)
			z.list(nil)
		}
	}
	z.list([]provider.Instance{{MachineID: "4", Zone: "a"}, {MachineID: "5", Zone: "b"}})
	if got := z.choose("4", nil, among); got != "a" { // its earlier instance is gone
		t.Errorf("machine 4 goes to zone %s, want a", got)
	}
}

// An instance that can't be started in one zone is started in the next. The error of a machine that
// can be started in none is the one that may pass.
func TestAZoneThatFailsIsPassedOver(t *testing.T) {
	model, cloud := newModel(), newDummy(t, "a", "b", "c")
	var mu sync.Mutex
	full := map[string]error{"a": errors.New("no room in a")}
	cloud.refuse = func(p provider.StartParams) error {
		mu.Lock()
		defer mu.Unlock()
		return full[p.Zone]
	}
	set := func(zone string, err error) {
		mu.Lock()
		defer mu.Unlock()
		full[zone] = err
	}
	story(t, model, nil, cloud.use, func(t *testing.T) {
		model.set(pending("1"))
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-2 pending")
		if got := cloud.took(); got != "1 in a, 1 in b" {
			t.Errorf("it started %s", got)
		}
		set("b", errors.New("no room in b"))
		set("c", provider.Retryable(errors.New("c is busy")))
		placed := pending("3")
		placed.Placement = "zone=a" // without another zone
		model.set(placed)
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-2 pending", "3 alive error")
		cloud.took()
		model.set(pending("2"))
		after(5 * time.Second)
		if got := cloud.took(); got != "2 in a, 2 in b, 2 in c" {
			t.Errorf("it started %s", got)
		}
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-2 pending", "2 alive pending", "3 alive error")
		set("c", nil)
		after(15 * time.Second)
		if got := model.zones["2"]; got != "c" {
			t.Errorf("machine 2 is in zone %q, want c", got)
		}
		// Machines whose start has failed are in no zone.
		placed.ID = "4"
		model.set(placed)
		after(5 * time.Second)
		set("a", nil)
		model.set(pending("5"))
		after(5 * time.Second)
		if got := model.zones["5"]; got != "a" {
			t.Errorf("machine 5 is in zone %q, want a", got)
		}
	})
}

func container(id string) entity.MachineInfo {
	return entity.MachineInfo{ID: id, Container: "lxd", Status: entity.StatusPending}
}

// A container waits for its machine, and starts on it. It is an instance of its own: it outlives
// its machine's, and is replaced if it is lost, and stopped when it is Dead.
func TestLifeOfAContainer(t *testing.T) {
	host := pending("1")
	host.Status = entity.StatusError
	model, cloud := newModel(host, container("1/lxd/0")), newDummy(t, "a", "b")
	story(t, model, nil, cloud.use, func(t *testing.T) {
		after(5 * time.Second)
		expect(t, model, "1 alive error", "1/lxd/0 alive pending")
		host.Status = entity.StatusPending
		model.set(host)
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-1 pending", "1/lxd/0 alive dummy-2 pending")
		if got := cloud.took(); got != "1 in a, 1/lxd/0 in a on dummy-1" {
			t.Errorf("it started %s", got)
		}
		cloud.lose(t, "dummy-1")
		after(4 * time.Minute)
		if got := cloud.took(); got != "1 in b" {
			t.Errorf("without its machine's instance: it started %s", got)
		}
		cloud.lose(t, "dummy-2")
		after(4 * time.Minute)
		if got := cloud.took(); got != "1/lxd/0 in b on dummy-3" {
			t.Errorf("without the container's instance: it started %s", got)
		}
		dead := model.machine("1/lxd/0")
		dead.Life = entity.Dead
		model.set(dead)
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-3 pending")
		all, err := cloud.Instances(t.Context())
		if err != nil || len(all) != 1 {
			t.Errorf("instances are %+v (%v), want that of the machine", all, err)
		}
	})
}

// The instance of a container's machine is lost before the container starts. That is no error of the
// container's: it starts when the machine has another.
func TestAContainerWhoseMachineIsLost(t *testing.T) {
	model, cloud := newModel(pending("1")), newDummy(t)
	story(t, model, nil, cloud.use, func(t *testing.T) {
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-1 pending")
		cloud.lose(t, "dummy-1")
		model.set(container("1/lxd/0"))
		after(4 * time.Minute)
		expect(t, model, "1 alive dummy-2 pending", "1/lxd/0 alive dummy-3 pending")
	})
}

// What a cloud says of a container that it can't start is its status, and a retry starts it.
func TestAContainerThatDoesNotStart(t *testing.T) {
	model, cloud := newModel(pending("1")), newDummy(t)
	story(t, model, nil, cloud.use, func(t *testing.T) {
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-1 pending")
		cloud.refuse = func(provider.StartParams) error { return errors.New("no room") }
		model.set(container("1/lxd/0"))
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-1 pending", "1/lxd/0 alive error")
		if got := model.message("1/lxd/0"); !strings.HasSuffix(got, "no room") {
			t.Errorf("users are told %q", got)
		}
		cloud.refuse = nil
		model.set(container("1/lxd/0"))
		after(5 * time.Second)
		expect(t, model, "1 alive dummy-1 pending", "1/lxd/0 alive dummy-3 pending")
	})
}
