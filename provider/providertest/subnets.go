package providertest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"juju/provider"
	"juju/state/entity"
)

func testSubnets(t *testing.T, w *world) {
	all, err := w.a.Subnets(w.ctx)
	if err != nil || len(all) == 0 {
		t.Fatalf("got subnets %v (%v), want some", all, err)
	}
	ids := map[string]bool{}
	for _, s := range all {
		if normal, err := entity.NormalCIDR(s.CIDR); err != nil || normal != s.CIDR {
			t.Errorf("subnet %q is not in its canonical form: %s (%v)", s.CIDR, normal, err)
		}
		if s.ProviderID == "" || s.Network == "" || ids[s.ProviderID] {
			t.Errorf("subnet %s has the id %q in network %q, want an id of its own in a network", s.CIDR, s.ProviderID, s.Network)
		}
		ids[s.ProviderID] = true
	}
	inOrder := func(a, b entity.Subnet) int { return entity.CompareCIDRs(a.CIDR, b.CIDR) }
	if once := slices.CompactFunc(slices.Clone(all), func(a, b entity.Subnet) bool { return a.CIDR == b.CIDR }); len(once) < len(all) ||
		!slices.IsSortedFunc(all, inOrder) {
		t.Errorf("got subnets %v, want each once and in order", all)
	}
	i := w.start(t, w.a, "0", "n")
	if err := w.a.StopInstances(w.ctx, i.ID); err != nil {
		t.Error(err)
	}
	for _, address := range i.Addresses {
		if entity.SmallestSubnet(all, address) < 0 {
			t.Errorf("address %s of an instance is in none of %v", address, all)
		}
	}
}

func testSpaces(t *testing.T, w *world) {
	all, err := w.a.Subnets(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	every, none := entity.Space{ID: "1", Name: "every", Subnets: all}, entity.Space{ID: "2", Name: "none"}
	elsewhere := entity.Space{ID: "3", Name: "elsewhere", Subnets: []entity.Subnet{{CIDR: "203.0.113.0/24", Network: all[0].Network}}}
	p := w.params("0", "n")
	p.Spaces = entity.MachineSpaces{In: []entity.Space{every}, Out: []entity.Space{none, elsewhere}}
	if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Spaces: p.Spaces}); err != nil {
		t.Errorf("precheck of the space with all subnets: %v", err)
	}
	inst, err := w.a.StartInstance(w.ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	w.stop(t, w.a, inst.ID)
	if !slices.ContainsFunc(inst.Addresses, func(a string) bool { return entity.SmallestSubnet(all, a) >= 0 }) {
		t.Errorf("the instance has the addresses %v, want one in %v", inst.Addresses, all)
	}
	for name, want := range map[string]entity.MachineSpaces{
		"none": {In: []entity.Space{every, none}}, "elsewhere": {In: []entity.Space{elsewhere}}, "every": {Out: []entity.Space{none, every}},
	} {
		err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Spaces: want})
		p.Nonce, p.Spaces = "n"+name, want
		_, err2 := w.a.StartInstance(w.ctx, p)
		for _, err := range []error{err, err2} {
			if !errors.Is(err, entity.Invalid) || provider.IsRetryable(err) || !strings.Contains(err.Error(), strconv.Quote(name)) {
				t.Errorf("got error %v for a demand that no network meets, want one that is Invalid and names the space %s", err, name)
			}
		}
	}
	if all := w.list(t, w.a); len(all) != 0 {
		t.Errorf("rejected starts have created %v", all)
	}
}
