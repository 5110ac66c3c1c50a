package apiserver

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/constraints"
	"juju/state/entity"
)

// Requests of agents are checked against the limits first. The error names the limit. A wrong
// time is replaced by the server's.
func TestLimitsOfAgentsRequests(t *testing.T) {
	w := newWorld(t).populate()
	u0, m0 := entity.UnitTag("mysql/0"), entity.MachineTag("0")
	unit := w.raw(w.modelPath()).login(u0, w.passwords[u0], nonce)
	machine := w.raw(w.modelPath()).login(m0, w.passwords[m0], nonce)
	manager := w.rawMemory(w.modelPath()).login(entity.MachineTag("0"), w.manager, "controller")
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
		who           *rawConn
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
		admin := w.dial(w.adminInfo(w.st.UUID()))
		shown, err := admin.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if at := shown.Services[0].Units[0].Workload.Since; at.Before(before) || at.After(time.Now().Add(time.Minute)) {
			t.Errorf("set at %s is shown as set at %v", since, at)
		}
	}
}

// Every text, list and time in every request has a limit.
func TestEveryRequestHasLimits(t *testing.T) {
	for _, r := range routes() {
		zero, err := r.Handler.Decode(nil)
		if err != nil {
			t.Fatal(err)
		}
		name := r.Facade + "." + r.Method
		if reflect.TypeOf(zero) == reflect.TypeFor[facades.None]() {
			continue
		}
		fillings := 0
		each := func(what string, filling filler) {
			p := reflect.New(reflect.TypeOf(zero)).Elem()
			if n := filling.fill(p, 0); n > 0 {
				fillings += n
				if err := params.Check(p.Interface()); entity.KindOf(err) != entity.Invalid {
					t.Errorf("%s takes %s: %v", name, what, err)
				}
			}
		}
		each("a text of 6 MiB", filler{text: strings.Repeat("x", 6<<20)})
		each("a NUL", filler{text: "a\x00b"})
		each("what is not UTF-8", filler{text: "a\xffb"})
		each("a time that can't be written", filler{time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
		if fillings == 0 && !slices.Contains([]string{"Bundle.ExportBundle", "Controller.DestroyController", "Controller.RemoveBlocks",
			"Storage.ListStorageDetails", "CrossModelRelations.End", "CrossModelRelations.Members", "Resources.ListPendingResources"}, name) {
			t.Errorf("%s: nothing was tried", name)
		}
	}
}

// A filler sets a value wherever a request can have one of its type.
type filler struct {
	text string
	time time.Time
}

func (f filler) fill(v reflect.Value, depth int) (n int) {
	if depth > 8 || !v.CanSet() {
		return 0
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		// The server sets the time of a status.
		if !f.time.IsZero() {
			v.Set(reflect.ValueOf(f.time))
			return 1
		}
	case v.Type() == reflect.TypeFor[entity.Status]() && f.text == "":
	case v.Type() == reflect.TypeFor[constraints.Value](): // has a syntax of its own
	case v.Kind() == reflect.String:
		if f.text != "" {
			v.SetString(f.text)
			return 1
		}
	case v.Kind() == reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		if n = f.fill(p.Elem(), depth+1); n > 0 {
			v.Set(p)
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() != reflect.Uint8:
		one := reflect.New(v.Type().Elem()).Elem()
		if n = f.fill(one, depth+1); n > 0 {
			v.Set(reflect.Append(reflect.MakeSlice(v.Type(), 0, 1), one))
		}
	case v.Kind() == reflect.Map:
		one, key := reflect.New(v.Type().Elem()).Elem(), reflect.New(v.Type().Key()).Elem()
		if n = f.fill(one, depth+1); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, one)
		}
	case v.Kind() == reflect.Interface && v.NumMethod() == 0:
		if f.text != "" {
			v.Set(reflect.ValueOf(f.text))
			return 1
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			n += f.fill(v.Field(i), depth+1)
		}
	}
	return n
}
