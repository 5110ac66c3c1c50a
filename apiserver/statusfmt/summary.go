package statusfmt

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"juju/state/entity"
)

// Summary writes counts: machines, units and services by status, and exposed services.
func Summary(w io.Writer, m *entity.ModelStatus, _ Options) error {
	var subnets, ports, machines, units, services []string
	for _, one := range m.AllMachines() {
		machines = append(machines, string(one.Status.Status))
		for _, a := range one.Addresses {
			subnets = append(subnets, subnetOf(a))
		}
	}
	for _, u := range allUnits(m) {
		units = append(units, string(u.Workload.Status))
		ports = append(ports, portTexts(u)...)
	}
	exposed := 0
	for _, s := range m.Services {
		services = append(services, string(s.Status.Status))
		if s.Exposed {
			exposed++
		}
	}
	t := &table{right: map[int]bool{0: true}}
	t.add(plain("Running on subnets:", list(subnets))...)
	t.add(plain("Utilizing ports:", list(ports))...)
	for _, kind := range []struct {
		title string
		all   []string
	}{{"# Machines:", machines}, {"# Units:", units}, {"# Applications:", services}} {
		t.add(plain(kind.title, fmt.Sprintf("(%d)", len(kind.all)))...)
		order, count := words(kind.all)
		for _, word := range order {
			t.add(plain(word+":", fmt.Sprint(count[word]))...)
		}
	}
	t.add(plain("exposed", fmt.Sprintf("%d/%d", exposed, len(m.Services)))...)
	return t.write(w, false, 0)
}

// list returns the distinct texts in order, separated by commas.
func list(all []string) string {
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" })
	slices.SortFunc(all, entity.CompareNatural)
	return strings.Join(slices.Compact(all), ", ")
}

// subnetOf returns an address's network: its class in IPv4 or its /64 in IPv6, since the status has no netmasks.
func subnetOf(address string) string {
	ip := net.ParseIP(address)
	if ip == nil {
		return ""
	}
	mask := ip.DefaultMask()
	if mask == nil {
		mask = net.CIDRMask(64, 128)
	}
	return (&net.IPNet{IP: ip.Mask(mask), Mask: mask}).String()
}
