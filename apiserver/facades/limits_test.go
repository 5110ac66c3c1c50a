package facades_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"juju/state/entity"
)

// Requests of agents are checked against the limits first. The error names the limit. A wrong
// time is replaced by the server's.
func TestLimitsOfAgentsRequests(t *testing.T) {
	w := newWorld(t).populate()
	u0, m0 := entity.UnitTag("mysql/0"), entity.MachineTag("0")
	unit := w.agent(u0)
	machine := w.agent(m0)
	manager := w.manager()
	status := func(word, message string, data any) map[string]any {
		return map[string]any{"status": word, "message": message, "data": data}
	}
	deep := any("x")
	for range 9 {
		deep = map[string]any{"a": deep}
	}
	settings := func(key, value string) map[string]any {
		return map[string]any{"relations": map[string]any{"0": map[string]string{key: value}}}
	}
	ports := func(list ...map[string]any) map[string]any { return map[string]any{"open-ports": list} }
	var many []map[string]any
	for i := range 1001 {
		many = append(many, map[string]any{"from": 1 + i, "to": 1 + i, "protocol": "tcp"})
	}
	instance := func(id, nonce string, addresses ...string) map[string]any {
		return map[string]any{"id": id, "nonce": nonce, "addresses": addresses}
	}
	addresses := make([]string, 257)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("10.0.%d.%d", i/256, i%256)
	}
	for _, c := range []struct {
		who           *caller
		subject       entity.Tag
		method, field string
		value         any
		want          string
	}{
		{unit, u0, "Uniter.SetUnitStatus", "status", status("active", strings.Repeat("x", 7_900_000), nil),
			"status message: 7900000 bytes, the limit is 16384"},
		{unit, u0, "Uniter.SetUnitStatus", "status", status("active", "a\x00b", nil),
			"status message: it contains a NUL character"},
		{unit, u0, "Uniter.SetUnitStatus", "status", status("active", "", map[string]any{"a\x00\x10b": "x"}),
			"status data: it contains a NUL character"},
		{unit, u0, "Uniter.SetUnitStatus", "status", status("active", "", deep), "status data: 9 levels, the limit is 8"},
		{unit, u0, "Uniter.SetUnitStatus", "status", status("active", "", map[string]any{"a": strings.Repeat("x", 70_000)}),
			"the limit is 65536"},
		{unit, u0, "Uniter.SetUnitStatus", "status", status("happy", "", nil),
			`cannot set invalid status "happy", expected one of [maintenance`},
		{unit, u0, "Uniter.SetAgentStatus", "status", status("active", "", nil),
			`cannot set invalid status "active", expected one of [allocating`},
		{unit, u0, "Uniter.CommitHook", "changes", settings("a", strings.Repeat("x", 2<<20)),
			"settings of a unit in a relation: 2097169 bytes, the limit is 2097152"},
		{unit, u0, "Uniter.CommitHook", "changes", settings("", "x"), "name of a setting: it is empty"},
		{unit, u0, "Uniter.CommitHook", "changes", settings(strings.Repeat("k", 2000), "x"),
			"name of a setting: 2000 bytes, the limit is 1024"},
		{unit, u0, "Uniter.CommitHook", "changes", map[string]any{"charm-state": map[string]any{"": "x"}},
			"name of a setting: it is empty"},
		{unit, u0, "Uniter.CommitHook", "changes", map[string]any{"charm-state": map[string]any{
			"a": strings.Repeat("x", 2<<20)}}, "charm state of a unit: 2097169 bytes, the limit is 2097152"},
		{unit, u0, "Uniter.CommitHook", "changes", map[string]any{"drop-state": []string{""}},
			"name of a setting: it is empty"},
		{unit, u0, "Uniter.CommitHook", "changes", ports(many...),
			"open port ranges of a unit: 1001 ranges, the limit is 1000"},
		{unit, u0, "Uniter.CommitHook", "changes", ports(map[string]any{"from": 0, "to": 70000, "protocol": "tcp"}),
			"port range bounds must be between 1 and 65535"},
		{unit, u0, "Uniter.SetCharm", "url", "local:" + strings.Repeat("x", 5000), "text: 5006 bytes, the limit is 4096"},
		{unit, u0, "Uniter.RequestReboot", "boot", "", "no boot specified"},
		{unit, u0, "Uniter.RequestReboot", "boot", strings.Repeat("b", 256), "name of a boot: 256 bytes, the limit is 255"},
		{machine, m0, "Machiner.SetMachineStatus", "status", status("executing", "", nil), "cannot set invalid status"},
		{machine, m0, "Machiner.SetMachineAddresses", "addresses", []string{"10.0.0.1 evil"},
			"is neither an IP address nor a host name"},
		{machine, m0, "Machiner.SetMachineAddresses", "addresses", addresses,
			"addresses of a machine: 257 addresses, the limit is 256"},
		{manager, m0, "Provisioner.SetProvisioned", "instance", instance(strings.Repeat("i", 300), "n"),
			"instance id: 300 bytes, the limit is 255"},
		{manager, m0, "Provisioner.SetProvisioned", "instance", instance("i\n0", "n"), "contains a control character"},
		{manager, m0, "Provisioner.SetProvisioned", "instance", instance("i", "n\x00"), "nonce: it contains a NUL character"},
		{manager, m0, "Provisioner.SetInstanceStatus", "status", status(strings.Repeat("w", 65), "", nil),
			"status: 65 bytes, the limit is 64"},
	} {
		facade, method, _ := strings.Cut(c.method, ".")
		err := c.who.call(facade, 1, method, map[string]any{"tag": c.subject.String(), c.field: c.value}).Err()
		if entity.KindOf(err) != entity.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.300v, want %s", c.method, err, c.want)
		}
	}
	before := time.Now().Add(-time.Minute)
	for _, since := range []string{"9999-12-31T23:59:59-23:00", "2200-01-01T00:00:00Z", "1500-01-01T00:00:00Z"} {
		said := status("active", "up", nil)
		said["since"] = since
		if err := unit.call("Uniter", 1, "SetUnitStatus",
			map[string]any{"tag": u0.String(), "status": said}).Err(); err != nil {
			t.Fatal(err)
		}
		admin := w.admin().client()
		shown, err := admin.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if at := shown.Services[0].Units[0].Workload.Since; at.Before(before) || at.After(time.Now().Add(time.Minute)) {
			t.Errorf("set at %s is shown as set at %v", since, at)
		}
	}
}
