package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/doc/tools/verify"
	"juju/provider"
)

// The UUIDs of the test models.
const (
	ModelA = "a0000000-0000-4000-8000-000000000000"
	ModelB = "b0000000-0000-4000-8000-000000000000"
)

// Harness is an empty cloud to test.
type Harness struct {
	// Profile describes the cloud; Run checks it.
	Profile Profile
	// Controller is a UUID that is unique among all tests and concurrent test runs on the host.
	Controller string
	// Open opens a model of Controller.
	Open provider.Open
	// Agents returns the running agents as "MODEL/MACHINE", in any order.
	Agents func(t *testing.T) []string
	// Expanded returns the configuration and devices that the instance has, by whatever profiles. Kept returns the names of
	// the profiles of charms that the cloud has for the controller. They are nil if no instance can have profiles.
	Expanded func(t *testing.T, id string) provider.Profile
	Kept     func(t *testing.T) []string
	// Otherwise lists the constraints that have the effect Constraint.Otherwise on this cloud.
	Otherwise []string
	// Tools are the agent binaries to start instances with, if the cloud needs any.
	Tools map[string]provider.Tools
}

// cases are the tests of every cloud. Each sentence is a row of doc/providers.md.
var cases = []struct {
	name, sentence string
	test           func(*testing.T, *world)
}{
	{"StartedIsListed", "A started instance has an id, an address and hardware, and every controller process lists it " +
		"with its tags.", testStartedIsListed},
	{"RepeatedStartIsOneInstance", "Repeating a start with the same nonce returns the existing instance.",
		testRepeatedStart},
	{"AnotherNonceIsAnotherInstance", "A start with another nonce creates another instance; each can be stopped separately.",
		testAnotherNonce},
	{"ManyAtOnce", "Instances start and stop concurrently, each with its own address.", testManyAtOnce},
	{"StopTwiceAndUnknown", "Stopping an instance stops its agent; stopping one that does not exist is not an error.", testStop},
	{"StopLeavesTheOthers", "Stopping an instance leaves the others alone, whatever their names.", testStopLeavesTheOthers},
	{"StartAfterStop", "After a stop, the same machine can be started again with the same nonce.", testStartAfterStop},
	{"ModelsApart", "A model neither sees nor stops the instances of another.", testModelsApart},
	{"Rejections", "Machines of another controller or model, bad placements and contradictory constraints are rejected " +
		"permanently; nothing is created.", testRejections},
	{"Series", "The series that the cloud lists are accepted; others are rejected with an error that lists them.",
		testSeries},
	{"Constraints", "Each constraint has the effect in the table below, both before a machine is recorded and when it starts.",
		testConstraints},
	{"Zones", "An instance starts in the requested zone and is listed with it; a zone placement leaves only that zone to " +
		"choose from.", testZones},
	{"Subnets", "The cloud lists subnets, each once with an id of its own and the network that it is part of; the addresses of " +
		"instances are in them.", testSubnets},
	{"Spaces", "An instance has an address in each space that is demanded, and none in those that are excluded; what the cloud's " +
		"networks don't permit is rejected, before a machine is recorded and when it starts, and names the space.", testSpaces},
	{"Containers", "A container is a separate instance in its machine's zone; it can't be started without that machine.",
		testContainers},
	{"CancelledStartLeavesNothing", "A cancelled start leaves nothing behind and can be repeated.", testCancelledStart},
	{"Storage", "Creating, attaching, detaching and destroying a filesystem can be repeated, and its attachments can be " +
		"queried.", testStorage},
	{"Pools", "Storage pools can have the attributes that the cloud knows, and no others.", testPools},
	{"Import", "Another model can import a released filesystem with its data, repeatedly; one that is in use, belongs to " +
		"another model or does not exist is rejected.", testImport},
	{"Firewall", "From outside, only the ports that the model's rules open can be reached; rules are removed with their " +
		"instance.", testFirewall},
	{"Profiles", "An instance has the LXD profiles of charms from its start, or gets them while it runs, in place of those that it " +
		"had; a profile goes with the last instance that has it.", testProfiles},
	{"DestroyModel", "Destroying a model stops its instances and no others, and can be repeated.", testDestroy},
	{"DestroyController", "Destroying a controller stops the instances of all its models.", testDestroyController},
}

// Run tests a cloud. Each test gets its own Harness from newHarness.
func Run(t *testing.T, newHarness func(t *testing.T) Harness) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t)
			if why := h.Profile.Skips[c.name]; why != "" {
				t.Skip(why)
			}
			ctx, cancel := context.WithTimeout(t.Context(), verify.Patience)
			defer cancel()
			w := &world{Harness: h, ctx: ctx}
			w.a = w.open(t, ModelA)
			c.test(t, w)
		})
	}
}

// world is a Harness with model A open.
type world struct {
	Harness
	ctx context.Context
	a   provider.Environ
}

func (w *world) open(t *testing.T, model string) provider.Environ {
	t.Helper()
	e, err := w.Open(w.ctx, provider.Config{Controller: w.Controller, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *world) start(t *testing.T, e provider.Environ, machine, nonce string) provider.Instance {
	t.Helper()
	inst, err := e.StartInstance(w.ctx, w.params(machine, nonce))
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

func (w *world) params(machine, nonce string) provider.StartParams {
	return provider.StartParams{MachineID: machine, Nonce: nonce, AgentConfig: []byte("secret of " + machine),
		Tools: w.Tools}
}

func (w *world) list(t *testing.T, e provider.Environ) []provider.Instance {
	t.Helper()
	all, err := e.Instances(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// agents checks which agents are running.
func (w *world) agents(t *testing.T, want ...string) {
	t.Helper()
	got := w.Agents(t)
	slices.Sort(got)
	if diff := cmp.Diff(want, got,
		cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		t.Errorf("running agents (-want +got):\n%s", diff)
	}
}

func (w *world) stop(t *testing.T, e provider.Environ, ids ...string) {
	t.Helper()
	if err := e.StopInstances(w.ctx, ids...); err != nil {
		t.Fatal(err)
	}
}

func testStartedIsListed(t *testing.T, w *world) {
	if all := w.list(t, w.a); len(all) != 0 {
		t.Fatalf("a new cloud has %v", all)
	}
	inst := w.start(t, w.a, "7", "n")
	if inst.ID == "" || len(inst.Addresses) == 0 || inst.Hardware.Arch == "" {
		t.Errorf("got %+v, want an ID, an address and the hardware", inst)
	}
	if inst.Controller != w.Controller || inst.Model != ModelA || inst.MachineID != "7" || inst.Nonce != "n" {
		t.Errorf("got %+v, want its tags", inst)
	}
	if diff := cmp.Diff([]provider.Instance{inst}, w.list(t, w.a)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
	// A restarted controller knows only what the cloud tells it.
	if diff := cmp.Diff([]provider.Instance{inst}, w.list(t, w.open(t, ModelA))); diff != "" {
		t.Errorf("listed by another Environ (-want +got):\n%s", diff)
	}
	w.agents(t, ModelA+"/7")
	w.stop(t, w.a, inst.ID)
}

func testRepeatedStart(t *testing.T, w *world) {
	first := w.start(t, w.a, "0", "n")
	if diff := cmp.Diff(first, w.start(t, w.a, "0", "n")); diff != "" {
		t.Errorf("repeated start (-first +second):\n%s", diff)
	}
	if all := w.list(t, w.a); len(all) != 1 {
		t.Errorf("got %v, want one instance", all)
	}
	w.agents(t, ModelA+"/0")
	w.stop(t, w.a, first.ID)
}

func testAnotherNonce(t *testing.T, w *world) {
	first, second := w.start(t, w.a, "0", "n1"), w.start(t, w.a, "0", "n2")
	if first.ID == second.ID {
		t.Errorf("starts with different nonces both returned %s", first.ID)
	}
	// The first is a stray: stopping it must not affect the second.
	w.stop(t, w.a, first.ID)
	if diff := cmp.Diff([]provider.Instance{second}, w.list(t, w.a)); diff != "" {
		t.Errorf("after the stray was stopped (-want +got):\n%s", diff)
	}
	w.agents(t, ModelA+"/0")
	w.stop(t, w.a, second.ID)
}

func testManyAtOnce(t *testing.T, w *world) {
	const machines, callers = 4, 2
	var wg sync.WaitGroup
	for m := range machines {
		for range callers {
			wg.Go(func() {
				if _, err := w.a.StartInstance(w.ctx, w.params(fmt.Sprint(m), "n")); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	all := w.list(t, w.a)
	ids, addresses := []string{}, map[string]bool{}
	for _, inst := range all {
		ids = append(ids, inst.ID)
		addresses[inst.Addresses[0]] = true
	}
	if len(all) != machines || len(addresses) != machines {
		t.Errorf("got %d instances with %d addresses, want %d of each", len(all), len(addresses), machines)
	}
	w.agents(t, ModelA+"/0", ModelA+"/1", ModelA+"/2", ModelA+"/3")
	for range callers {
		wg.Go(func() {
			if err := w.a.StopInstances(w.ctx, ids...); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all := w.list(t, w.a); len(all) != 0 {
		t.Errorf("got %v after all were stopped", all)
	}
	w.agents(t)
}

func testStop(t *testing.T, w *world) {
	inst := w.start(t, w.a, "0", "n")
	w.stop(t, w.a)
	w.agents(t, ModelA+"/0")
	w.stop(t, w.a, inst.ID, inst.ID)
	w.agents(t)
	w.stop(t, w.a, inst.ID)
	w.stop(t, w.a, "never-was", "../"+ModelB, "")
}

func testStopLeavesTheOthers(t *testing.T, w *world) {
	one, two := w.start(t, w.a, "1", "n"), w.start(t, w.a, "11", "n")
	w.stop(t, w.a, one.ID)
	w.agents(t, ModelA+"/11")
	w.stop(t, w.a, two.ID)
}

func testStartAfterStop(t *testing.T, w *world) {
	w.stop(t, w.a, w.start(t, w.a, "0", "n").ID)
	inst := w.start(t, w.a, "0", "n")
	w.agents(t, ModelA+"/0")
	w.stop(t, w.a, inst.ID)
	w.agents(t)
}

func testModelsApart(t *testing.T, w *world) {
	b := w.open(t, ModelB)
	inA, inB := w.start(t, w.a, "0", "n"), w.start(t, b, "0", "n")
	if inA.Addresses[0] == inB.Addresses[0] {
		t.Errorf("two running instances share %s", inA.Addresses[0])
	}
	w.stop(t, w.a, inB.ID) // an instance of another model
	w.agents(t, ModelA+"/0", ModelB+"/0")
	w.stop(t, w.a, inA.ID)
	if diff := cmp.Diff([]provider.Instance{inB}, w.list(t, b)); diff != "" {
		t.Errorf("the other model (-want +got):\n%s", diff)
	}
	w.stop(t, b, inB.ID)
}

func testCancelledStart(t *testing.T, w *world) {
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := w.a.StartInstance(ctx, w.params("0", "n")); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	if all := w.list(t, w.a); len(all) != 0 {
		t.Errorf("got %v after a cancelled start", all)
	}
	w.agents(t)
	inst := w.start(t, w.a, "0", "n")
	w.agents(t, ModelA+"/0")
	w.stop(t, w.a, inst.ID)
}

func testDestroy(t *testing.T, w *world) {
	b := w.open(t, ModelB)
	w.start(t, w.a, "0", "n")
	w.start(t, w.a, "1", "n")
	inB := w.start(t, b, "0", "n")
	for range 2 {
		if err := w.a.Destroy(w.ctx); err != nil {
			t.Fatal(err)
		}
		if all := w.list(t, w.a); len(all) != 0 {
			t.Errorf("got %v after the model was destroyed", all)
		}
		w.agents(t, ModelB+"/0")
	}
	w.stop(t, b, inB.ID)
}

func testDestroyController(t *testing.T, w *world) {
	b := w.open(t, ModelB)
	w.start(t, w.a, "0", "n")
	w.start(t, b, "0", "n")
	for range 2 {
		if err := b.DestroyController(w.ctx, false); err != nil {
			t.Fatal(err)
		}
		w.agents(t)
	}
	if all := append(w.list(t, w.a), w.list(t, b)...); len(all) != 0 {
		t.Errorf("got %v after the controller was destroyed", all)
	}
}
