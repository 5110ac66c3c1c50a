package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"juju/agent"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
	"juju/worker/provisioner"
)

// modelOutcomes are the cells of models, in which the obstacle is one of an entity in the
// model. An error of the provider is also an obstacle to the end of the model itself.
var modelOutcomes = map[string]outcome{
	neverCame: {ends: entity.Force, culprit: "machine", by: culpritAgent},
	agentGone: {ends: entity.Force, culprit: "db", by: culpritAgent},
	hookFails: {ends: entity.Lenient, culprit: "db", by: culpritUser},
	noStop:    {ends: entity.Force, culprit: "machine", by: culpritMaster},
	neighbour: {ends: entity.Lenient, culprit: "site", by: culpritUser},
}

// A modelCell is a model with a site and a database, whose machine is 0.
type modelCell struct {
	*system
	outcome
	st        *state.State
	obstacle  string
	strengths []entity.Strength
	instance  string // of machine 0
}

func (c *modelCell) String() string {
	return fmt.Sprintf("%s: %s, %v", c.st.Name(), c.obstacle, c.strengths)
}

// Models in the matrix are gone, with their databases and instances; or they are there, were
// not forced, and the obstacle in them is named.
func TestDestructionMatrixOfModels(t *testing.T) {
	s := newSystem(t, Options{Retry: 100 * time.Millisecond, Provisioner: provisioner.Config{
		Retry: 200 * time.Millisecond, ScanInterval: 300 * time.Millisecond, LostAfter: 200 * time.Millisecond}})
	s.keepsLog()
	var all []*modelCell
	first := rand.IntN(2)
	for i, obstacle := range obstacles {
		o := modelOutcomes[obstacle]
		for from := entity.Plain; from <= entity.Force; from++ {
			if from == entity.Lenient && (testing.Short() || o.ends == entity.Force && !soaks()) {
				continue
			}
			if testing.Short() && (from == entity.Force) == ((i+first)%2 == 0) {
				continue // every second obstacle begins with force
			}
			c := &modelCell{system: s, outcome: o, obstacle: obstacle}
			for strength := from; strength <= max(from, o.ends); strength++ {
				c.strengths = append(c.strengths, strength)
			}
			var err error
			c.st, err = s.c.ctrl.AddModel(s.ctx,
				controller.AddModelParams{Name: fmt.Sprintf("m%d", len(all)), Owner: statetest.Admin, Series: "jammy"})
			s.ok(err)
			c.build()
			all = append(all, c)
		}
	}
	s.settleModels("built", all, (*modelCell).unready)
	for _, c := range all {
		c.obstruct()
	}
	s.settleModels("obstructed", all, (*modelCell).unobstructed)
	for i := range 3 {
		for j, c := range all {
			if i == 0 && j == len(all)-1 {
				// The other models are all half-way.
				s.stop()
				s.start()
			}
			if i < len(c.strengths) {
				s.ok(s.c.ctrl.DestroyModel(s.ctx, c.st.UUID(), entity.Destruction{Strength: c.strengths[i], Timeout: forceTimeout}))
			}
		}
		s.settleModels(fmt.Sprintf("destroyed for the %d. time", i+1), all, func(c *modelCell) string {
			if i >= len(c.strengths) {
				return ""
			}
			return c.unended(c.Context(), c.strengths[i])
		})
	}
}

// settleModels is settle for models.
func (s *system) settleModels(what string, all []*modelCell, missing func(*modelCell) string) {
	s.Helper()
	settle(s, what, all, func() error { return nil }, missing)
}

func (c *modelCell) tell() string {
	st, err := c.c.ctrl.Model(c.ctx, c.st.UUID())
	if err != nil {
		return fmt.Sprintf("%v: %v", c, err)
	}
	return fmt.Sprintf("%v: %s", c, c.history(st, "db/0", "site/0"))
}

func (c *modelCell) build() {
	c.Helper()
	fails := map[string][2]string{hookFails: {"db", "stop"}, neighbour: {"site", "db-relation-broken"}}[c.obstacle]
	for _, service := range []string{"db", "site"} {
		p := state.AddMachineParams{}
		if service == "db" {
			p.Placement.Directive = map[string]string{neverCame: absent, noStart: "attic"}[c.obstacle]
		}
		m, err := c.st.AddMachine(c.ctx, p)
		c.ok(err)
		var files []string
		if fails[0] == service {
			files = []string{"hooks/" + fails[1], "#!/bin/sh\nexit 1\n"}
		}
		_, err = c.st.AddService(c.ctx, state.AddServiceParams{Name: service, Units: 1, Placement: statetest.To(m.ID()),
			CharmURL: statetest.Charm(c.T, c.st, metadata[service], files...)})
		c.ok(err)
	}
	_, err := c.st.AddRelation(c.ctx, "site", "db")
	c.ok(err)
}

// unready says what the model still waits for before it can get its obstacle.
func (c *modelCell) unready() string {
	m, err := c.st.Status(c.ctx)
	c.ok(err)
	want := 2
	if c.obstacle == neverCame || c.obstacle == noStart {
		want = 1
	}
	if idle, _ := units(m); idle < want {
		return fmt.Sprintf("%d units are idle: %+v", idle, m.Services)
	}
	if c.instance = m.Machines[0].InstanceID; c.instance == "" && m.Machines[0].Status.Status != entity.StatusError {
		return "machine 0 is not started"
	}
	return ""
}

func (c *modelCell) obstruct() {
	c.Helper()
	switch c.obstacle {
	case agentGone:
		home := c.home(c.st, "0")
		c.host.Hold(func(dir string) bool { return strings.HasPrefix(dir, home) })
	case machineLost:
		c.cloud.Lose(c.instance)
	case noStop:
		c.cloud.Jam(c.instance)
	case neighbour:
		svc, err := c.st.Service(c.ctx, "site")
		c.ok(err)
		c.ok(svc.Destroy(c.ctx, entity.Destruction{}))
	}
}

// home returns the directory of the agent of a model's machine. Machines of several models have the same number.
func (s *system) home(st *state.State, machine string) string {
	s.Helper()
	homes, err := filepath.Glob(filepath.Join(s.machines, machine+"-*"))
	s.ok(err)
	for _, home := range homes {
		if config, err := agent.ReadConfig(agent.Dir(home, entity.MachineTag(machine))); err == nil && config.Model == st.UUID() {
			return home
		}
	}
	s.Fatalf("the agent of machine %s of model %s is not among %v", machine, st.Name(), homes)
	return ""
}

func (c *modelCell) unobstructed() string {
	if c.obstacle != neighbour {
		return ""
	}
	u, err := c.st.Unit(c.ctx, "site/0")
	c.ok(err)
	if status, err := u.Status(c.ctx); err != nil || status.Status != entity.StatusError {
		return fmt.Sprintf("site/0 has not failed (%v)", err)
	}
	return ""
}

// unended says what is still missing after a destruction with a strength.
func (c *modelCell) unended(ctx context.Context, strength entity.Strength) string {
	c.Helper()
	rows, err := c.c.ctrl.Models(c.ctx)
	c.ok(err)
	at := slices.IndexFunc(rows, func(r controller.ModelRow) bool { return r.UUID == c.st.UUID() })
	if strength < c.outcome.ends {
		if at < 0 || rows[at].IsRemoving() {
			c.Errorf("%v: it is gone although something is in the way", c)
			return ""
		}
		return c.unexplained()
	}
	if c.obstacle == noStop && c.instance != "" && (at < 0 || !soaks() && rows[at].IsRemoving()) {
		return c.leftover()
	}
	if at >= 0 {
		return "it is there"
	}
	databases, err := c.c.store.Databases(ctx)
	c.ok(err)
	if slices.Contains(databases, c.st.UUID()) {
		return "its database is left"
	}
	if left := c.instances(c.st); len(left) > 0 {
		return fmt.Sprintf("instances are left: %v", left)
	}
	return ""
}

// unexplained says what is missing from the explanations of the entities in the model.
func (c *modelCell) unexplained() string {
	c.Helper()
	of, by := entity.UnitTag(c.culprit+"/0").String(), c.by
	if c.culprit == "machine" {
		of = "machine-0"
	}
	if by == culpritAgent {
		by = of
	}
	st, err := c.c.ctrl.Model(c.ctx, c.st.UUID())
	c.ok(err)
	tags, err := st.Unsettled(c.ctx)
	c.ok(err)
	var reasons []entity.Reason
	for _, tag := range tags {
		if e, err := st.Explainer().Explain(c.ctx, tag); err == nil {
			reasons = append(reasons, e.Reasons...)
		}
	}
	if !slices.ContainsFunc(reasons, func(r entity.Reason) bool { return r.Of == of && r.By == by }) {
		return fmt.Sprintf("no explanation says that %s must act on %s: %+v", by, of, reasons)
	}
	return ""
}

// leftover removes by hand what the cloud has kept, once nothing else is left. In a soak it
// waits until the controller has given up and said how.
func (c *modelCell) leftover() string {
	c.Helper()
	if soaks() {
		leftovers, err := c.c.ctrl.ModelLeftovers(c.ctx, "")
		c.ok(err)
		at := slices.IndexFunc(leftovers, func(r entity.Leftover) bool { return r.Of == c.st.UUID() })
		if at < 0 {
			return "nothing is said of what is left"
		}
		if leftovers[at].How != "Remove from the cloud what is left of: "+c.instance {
			c.Errorf("%v: of what is left it is said: %+v", c, leftovers[at])
		}
	}
	c.cloud.Lose(c.instance)
	c.instance = ""
	return "it is there"
}
