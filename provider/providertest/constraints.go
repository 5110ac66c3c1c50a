package providertest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"juju/provider"
	"juju/state/constraints"
	"juju/state/entity"
)

func testRejections(t *testing.T, w *world) {
	conflict, err := constraints.Parse("instance-type=big mem=4G")
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]func(*provider.StartParams){
		"placement":   func(p *provider.StartParams) { p.Placement = w.Profile.BadPlacement },
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
			t.Errorf("start with a bad %s: got error %v, want only the reason: the caller adds \"cannot start\"", name, err)
		}
		if !errors.Is(err, entity.Invalid) || provider.IsRetryable(err) {
			t.Errorf("start with a bad %s: got error %v, want one that is Invalid", name, err)
		}
	}
	for name, bad := range map[string]provider.PrecheckParams{
		"placement":   {Placement: w.Profile.BadPlacement},
		"constraints": {Constraints: conflict},
	} {
		if err := w.a.PrecheckInstance(w.ctx, bad); !errors.Is(err, entity.Invalid) {
			t.Errorf("precheck of a bad %s: got error %v, want one that is Invalid", name, err)
		}
	}
	if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{}); err != nil {
		t.Errorf("precheck without constraints: %v", err)
	}
	if all := w.list(t, w.a); len(all) != 0 {
		t.Errorf("rejected starts have created %v", all)
	}
	w.agents(t)
}

func testSeries(t *testing.T, w *world) {
	have, err := w.a.Series(w.ctx)
	if err != nil || len(have) == 0 || slices.Contains(have, w.Profile.BadSeries) {
		t.Fatalf("got series %v (%v), want some, without %s", have, err, w.Profile.BadSeries)
	}
	for _, series := range have {
		if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Series: series}); err != nil {
			t.Errorf("precheck of available series %s: %v", series, err)
		}
	}
	err = w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Series: w.Profile.BadSeries})
	if !errors.Is(err, entity.Invalid) || !strings.Contains(err.Error(), have[0]) {
		t.Errorf("precheck of series %s: got error %v, want one that is Invalid and lists the series",
			w.Profile.BadSeries, err)
	}
}

// Constraint values that a cloud may be able to meet, and values that none can. Modest limits are met
// by every host, and differ from an instance's defaults.
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

// effect returns the effect of a constraint on the cloud under test.
func (w *world) effect(key string) Effect {
	c := w.Profile.Constraints[key]
	if slices.Contains(w.Otherwise, key) {
		return c.Otherwise
	}
	return c.Effect
}

func parse(t *testing.T, text string) constraints.Value {
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
		ignored, err := rules.Check(parse(t, text))
		if err != nil || slices.Contains(ignored, key) != (effect == Ignored || effect == Unlimited) {
			t.Errorf("%s: the cloud ignores %q (%v); its profile says: %s", text, ignored, err, effect)
		}
		if effect != ChosenAtStart && (effect != Chosen || len(have) > 0) {
			if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Constraints: parse(t, text)}); err != nil {
				t.Errorf("precheck of %s: %v; its profile says: %s", text, err, effect)
			}
		}
		switch effect {
		case Limit, Given:
			limits = append(limits, text)
		case Chosen, Checked, Unlimited, Ignored, InSpaces, NoEffect, ChosenAtStart:
		default:
			t.Errorf("the profile has no effect for %s", key)
		}
		if effect.rejects() {
			w.testImpossible(t, key, rules, effect)
		} else if value := impossible[key]; value != "" {
			if err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Constraints: parse(t, key+"="+value)}); err != nil {
				t.Errorf("precheck of %s=%s: %v; its profile says: %s", key, value, err, effect)
			}
		}
	}
	if all := w.list(t, w.a); len(all) != 0 {
		t.Errorf("rejected starts have created %v", all)
	}
	if len(limits) == 0 {
		return
	}
	p := w.params("0", "n")
	p.Constraints = parse(t, strings.Join(limits, " "))
	inst, err := w.a.StartInstance(w.ctx, p)
	if err != nil {
		t.Fatalf("start with %s: %v", p.Constraints, err)
	}
	for key, got := range map[string]uint64{constraints.Cores: inst.Hardware.Cores,
		constraints.Mem: inst.Hardware.Mem, constraints.RootDisk: inst.Hardware.RootDisk} {
		if want := p.Constraints.Number(key); want != 0 && got != want {
			t.Errorf("an instance started with %s has %s", p.Constraints, inst.Hardware)
		}
	}
	w.stop(t, w.a, inst.ID)
}

// rejects reports whether impossible values are rejected.
func (e Effect) rejects() bool {
	return e == Limit || e == Chosen || e == Checked || e == Unlimited || e == ChosenAtStart
}

// testImpossible checks that an impossible value is rejected permanently.
func (w *world) testImpossible(t *testing.T, key string, rules constraints.Rules, effect Effect) {
	t.Helper()
	text := key + "=" + impossible[key]
	if key == constraints.Arch {
		text = key + "=s390x"
		if slices.Contains(rules.Values[key], "s390x") {
			text = key + "=riscv64"
		}
	}
	err := w.a.PrecheckInstance(w.ctx, provider.PrecheckParams{Constraints: parse(t, text)})
	if effect != ChosenAtStart && !errors.Is(err, entity.Invalid) {
		t.Errorf("precheck of %s: got error %v, want one that is Invalid; its profile says: %s", text, err, effect)
	}
	p := w.params("0", "n")
	p.Constraints = parse(t, text)
	if _, err := w.a.StartInstance(w.ctx, p); !errors.Is(err, entity.Invalid) || provider.IsRetryable(err) {
		t.Errorf("start with %s: got error %v, want one that is Invalid; its profile says: %s", text, err, effect)
	}
}
