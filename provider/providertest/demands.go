package providertest

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

func testRefusals(t *testing.T, w *world) {
	conflict, err := constraints.Parse("instance-type=big mem=4G")
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]func(*provider.StartParams){
		"placement":   func(p *provider.StartParams) { p.Placement = w.Profile.OtherPlacement },
		"constraints": func(p *provider.StartParams) { p.Constraints = conflict },
		"controller":  func(p *provider.StartParams) { p.Controller = ModelA },
		"model":       func(p *provider.StartParams) { p.Model = ModelB },
		"machine":     func(p *provider.StartParams) { p.MachineID = "../0" },
		"nonce":       func(p *provider.StartParams) { p.Nonce = "" },
	} {
		p := w.params("0", "n")
		bad(&p)
		_, err := w.a.StartInstance(w.ctx, p)
		if err != nil && strings.Contains(err.Error(), "cannot start") {
			t.Errorf("start with a bad %s: %v; that it was a start that failed is for the caller to say", name, err)
		}
		if !errors.Is(err, entity.Invalid) || provider.IsRetryable(err) {
			t.Errorf("start with a bad %s: got error %v, want one that is Invalid", name, err)
		}
	}
	for name, bad := range map[string]provider.PrecheckParams{
		"placement":   {Placement: w.Profile.OtherPlacement},
		"constraints": {Constraints: conflict},
	} {
		if err := w.a.PrecheckInstance(w.ctx, bad); !errors.Is(err, entity.Invalid) {
			t.Errorf("precheck of a bad %s: got error %v, want one that is Invalid", name, err)
		}
	}
	if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{}); err != nil {
		t.Errorf("precheck without demands: %v", err)
	}
	if all := w.list(t, w.a); len(all) != 0 {
		t.Errorf("what was refused is there: %v", all)
	}
	w.agents(t)
}

// A cloud accepts the series that it lists, and no others.
func testSeries(t *testing.T, w *world) {
	have, err := w.a.Series(w.ctx)
	if err != nil || len(have) == 0 || slices.Contains(have, w.Profile.OtherSeries) {
		t.Fatalf("the cloud has series %v (%v), want some that are not %s", have, err, w.Profile.OtherSeries)
	}
	for _, series := range have {
		if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Series: series}); err != nil {
			t.Errorf("precheck of series %s, which the cloud has: %v", series, err)
		}
	}
	err = w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Series: w.Profile.OtherSeries})
	if !errors.Is(err, entity.Invalid) || !strings.Contains(err.Error(), have[0]) {
		t.Errorf("precheck of series %s: got error %v, want one that is Invalid and names what the cloud has",
			w.Profile.OtherSeries, err)
	}
}

// Demands that a cloud may be able to meet, and those that none can. A demand that stands for a limit is
// so small that every host meets it, and differs from what an instance has without it.
var (
	modest = map[string]string{
		constraints.AllocatePublicIP: "true",
		constraints.Container:        "lxd",
		constraints.Cores:            "1",
		constraints.CPUPower:         "7",
		constraints.ImageID:          "i",
		constraints.InstanceRole:     "r",
		constraints.InstanceType:     "c1-m0.25",
		constraints.Mem:              "1200M",
		constraints.RootDisk:         "9000M",
		constraints.RootDiskSource:   "p",
		constraints.Spaces:           "db",
		constraints.Tags:             "fast",
		constraints.VirtType:         "kvm",
		constraints.Zones:            "a",
	}
	impossible = map[string]string{
		constraints.Cores:          "9999",
		constraints.InstanceType:   "huge",
		constraints.Mem:            "500T",
		constraints.RootDisk:       "9999P",
		constraints.RootDiskSource: "nowhere",
		constraints.VirtType:       "abacus",
		constraints.Zones:          "nowhere",
	}
)

// effect returns what a constraint does on the cloud under test.
func (w *world) effect(key string) Effect {
	c := w.Profile.Constraints[key]
	if slices.Contains(w.Otherwise, key) {
		return c.Otherwise
	}
	return c.Effect
}

func demand(t *testing.T, text string) constraints.Value {
	t.Helper()
	c, err := constraints.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func testConstraints(t *testing.T, w *world) {
	rules, err := w.a.ConstraintRules(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var limits []string
	for _, key := range constraints.Keys() {
		text := key + "=" + modest[key]
		have := rules.Values[key]
		if len(have) > 0 {
			text = key + "=" + have[0]
		}
		effect := w.effect(key)
		ignored, err := rules.Check(demand(t, text))
		if err != nil || slices.Contains(ignored, key) != (effect == Ignored || effect == Unlimited) {
			t.Errorf("of %s the cloud ignores %q (%v); its profile says: %s", text, ignored, err, effect)
		}
		if effect != ChosenAtStart && (effect != Chosen || len(have) > 0) {
			if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Constraints: demand(t, text)}); err != nil {
				t.Errorf("precheck of %s: %v; its profile says: %s", text, err, effect)
			}
		}
		switch effect {
		case Limit, Given:
			limits = append(limits, text)
		case Chosen, Checked, Unlimited, Ignored, NoEffect, ChosenAtStart:
		default:
			t.Errorf("the profile does not say what %s does", key)
		}
		if refusedAtOnce(effect) || effect == ChosenAtStart {
			w.testImpossible(t, key, rules, effect)
		} else if value := impossible[key]; value != "" {
			if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Constraints: demand(t, key+"="+value)}); err != nil {
				t.Errorf("precheck of %s=%s: %v; its profile says: %s", key, value, err, effect)
			}
		}
	}
	if all := w.list(t, w.a); len(all) != 0 {
		t.Errorf("what was refused is there: %v", all)
	}
	if len(limits) == 0 {
		return
	}
	p := w.params("0", "n")
	p.Constraints = demand(t, strings.Join(limits, " "))
	inst, err := w.a.StartInstance(w.ctx, p)
	if err != nil {
		t.Fatalf("start with %s: %v", p.Constraints, err)
	}
	for key, has := range map[string]uint64{constraints.Cores: inst.Hardware.Cores,
		constraints.Mem: inst.Hardware.Mem, constraints.RootDisk: inst.Hardware.RootDisk} {
		if want := p.Constraints.Number(key); want != 0 && has != want {
			t.Errorf("started with %s, the instance has %s", p.Constraints, inst.Hardware)
		}
	}
	w.stop(t, w.a, inst.ID)
}

// refusedAtOnce reports whether a demand that can't be met is refused before a machine is recorded.
func refusedAtOnce(e Effect) bool { return e == Limit || e == Chosen || e == Checked || e == Unlimited }

// testImpossible checks that a demand that can't be met is refused for good.
func (w *world) testImpossible(t *testing.T, key string, rules constraints.Rules, effect Effect) {
	t.Helper()
	text := key + "=" + impossible[key]
	if key == constraints.Arch {
		text = key + "=s390x"
		if slices.Contains(rules.Values[key], "s390x") {
			text = key + "=riscv64"
		}
	}
	err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Constraints: demand(t, text)})
	if effect != ChosenAtStart && !errors.Is(err, entity.Invalid) {
		t.Errorf("precheck of %s: got error %v, want one that is Invalid; its profile says: %s", text, err, effect)
	}
	p := w.params("0", "n")
	p.Constraints = demand(t, text)
	if _, err := w.a.StartInstance(w.ctx, p); !errors.Is(err, entity.Invalid) || provider.IsRetryable(err) {
		t.Errorf("start with %s: got error %v, want one that is Invalid; its profile says: %s", text, err, effect)
	}
}

func testStorage(t *testing.T, w *world) {
	inst := w.start(t, w.a, "0", "n")
	for i, pool := range []string{w.Profile.Cloud, entity.PoolRootFS} {
		p := provider.FilesystemParams{Storage: fmt.Sprint("data/", i), Size: 1, Instance: inst.ID,
			Pool: entity.StoragePool{Name: pool, Provider: pool}}
		f, err := w.a.CreateFilesystem(w.ctx, p)
		if err != nil || f.ID == "" || f.Size < p.Size {
			t.Fatalf("pool %s: made %+v (%v)", pool, f, err)
		}
		if again, err := w.a.CreateFilesystem(w.ctx, p); again != f || err != nil {
			t.Errorf("pool %s: made again, it is %+v (%v), want %+v", pool, again, err, f)
		}
		at := provider.AttachmentParams{Filesystem: f.ID, Instance: inst.ID, Mount: fmt.Sprint("/srv/", i)}
		attached := func(at provider.AttachmentParams, want bool) {
			t.Helper()
			if got, err := w.a.IsFilesystemAttached(w.ctx, at); got != want || err != nil {
				t.Errorf("pool %s: attached at %s: %v (%v), want %v", pool, at.Mount, got, err, want)
			}
		}
		attached(at, false)
		for range 2 {
			location, err := w.a.AttachFilesystem(w.ctx, at)
			if err != nil || path.Base(location) != fmt.Sprint(i) {
				t.Errorf("pool %s: attached at %q (%v)", pool, location, err)
			}
		}
		attached(at, true)
		elsewhere := at
		elsewhere.Mount = "/srv/elsewhere"
		attached(elsewhere, false)
		for range 2 {
			if err := w.a.DetachFilesystem(w.ctx, at); err != nil {
				t.Error(err)
			}
		}
		attached(at, false)
		lost := at
		lost.Instance = "lost"
		if _, err := w.a.IsFilesystemAttached(w.ctx, lost); !errors.Is(err, entity.NotProvisioned) {
			t.Errorf("pool %s: on an instance that is not there: error %v", pool, err)
		}
		for range 2 {
			if err := w.a.DestroyFilesystem(w.ctx, f.ID); err != nil {
				t.Error(err)
			}
		}
		if err := w.a.DetachFilesystem(w.ctx, at); err != nil {
			t.Error(err)
		}
	}
	w.stop(t, w.a, inst.ID)
}

func testImport(t *testing.T, w *world) {
	own := entity.StoragePool{Name: w.Profile.Cloud, Provider: w.Profile.Cloud}
	made := func(storage string) string {
		t.Helper()
		f, err := w.a.CreateFilesystem(w.ctx, provider.FilesystemParams{Storage: storage, Size: 2, Pool: own})
		if err != nil {
			t.Fatal(err)
		}
		return f.ID
	}
	b := w.open(t, ModelB)
	refused := func(e provider.Environ, id string, pool entity.StoragePool, kinds ...entity.Kind) {
		t.Helper()
		_, err := e.ImportFilesystem(w.ctx, provider.ImportParams{ID: id, Storage: "data/8", Pool: pool})
		if !slices.Contains(kinds, entity.KindOf(err)) {
			t.Errorf("import of %s from pool %s: got error %v, want one that is %v", id, pool.Name, err, kinds)
		}
	}
	first, kept := made("data/0"), made("data/1")
	id := w.a.ImportID(first)
	// It is of model A, which has not released it: at the path for it there is nothing, or it is in use.
	refused(b, id, own, entity.InUse, entity.NotFound)
	if err := w.a.ReleaseFilesystem(w.ctx, first); err != nil {
		t.Fatal(err)
	}
	refused(b, id, entity.StoragePool{Name: entity.PoolRootFS, Provider: entity.PoolRootFS}, entity.NotSupported)
	for i := range 3 { // a controller that is killed may repeat it for another storage instance
		f, err := b.ImportFilesystem(w.ctx, provider.ImportParams{ID: id, Storage: fmt.Sprint("disk/", i), Pool: own})
		if err != nil || f.ID != id || f.Size == 0 || f.Instance != "" {
			t.Fatalf("imported %+v (%v)", f, err)
		}
	}
	refused(w.a, id, own, entity.InUse)

	inst := w.start(t, b, "0", "n")
	at := provider.AttachmentParams{Filesystem: id, Instance: inst.ID, Mount: "/srv/disk"}
	if _, err := b.AttachFilesystem(w.ctx, at); err != nil {
		t.Error(err)
	}
	if has, err := b.IsFilesystemAttached(w.ctx, at); !has || err != nil {
		t.Errorf("it is attached: %v (%v)", has, err)
	}
	if err := b.DetachFilesystem(w.ctx, at); err != nil {
		t.Error(err)
	}
	w.stop(t, b, inst.ID)

	// Released again, it is anyone's, also the first model's.
	for range 2 {
		if err := b.ReleaseFilesystem(w.ctx, id); err != nil {
			t.Error(err)
		}
	}
	if id = b.ImportID(id); id == "" {
		t.Error("there is no id to import it by")
	}
	if _, err := w.a.ImportFilesystem(w.ctx, provider.ImportParams{ID: id, Storage: "data/7", Pool: own}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := w.a.DestroyFilesystem(w.ctx, id); err != nil {
			t.Error(err)
		}
	}
	refused(b, id, own, entity.NotFound)
	if err := w.a.DestroyFilesystem(w.ctx, kept); err != nil {
		t.Error(err)
	}
}
