package machines

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"juju/agent/install"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/store"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

// uninstallTimeout is how long the agents on users' hosts may take to uninstall themselves.
const uninstallTimeout = time.Minute

// HostsWarning is the part of a confirmation prompt that lists the hosts from which agents are removed.
const HostsWarning = "Its agents are removed from these hosts: %s.\n"

type hostsAPI interface {
	wait.StatusAPI
	DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
}

// Hosts are the hosts that users added to a controller's models. Once the controller is destroyed, nothing tells their
// agents to uninstall themselves.
type Hosts struct {
	session    *cli.Session
	controller string
	// machines are the manual machines, by qualified model name.
	machines map[string][]entity.MachineStatus
}

// NewHosts returns a controller's hosts, initially none.
func NewHosts(s *cli.Session, controller string) *Hosts {
	return &Hosts{s, controller, map[string][]entity.MachineStatus{}}
}

// FindHosts finds the hosts in all models of a controller.
func FindHosts(ctx context.Context, s *cli.Session, name string, ctrl *store.Controller) (*Hosts, error) {
	h := NewHosts(s, name)
	if ctrl == nil || !clouds.Of(ctrl.Cloud).TakesHosts() {
		return h, nil
	}
	return h, cli.EachModel(ctx, s, name, ctrl, h.Find)
}

// Find finds the hosts in a model.
func (h *Hosts) Find(ctx context.Context, model string, api wait.StatusAPI) error {
	status, err := api.Status(ctx)
	if err != nil {
		return err
	}
	for _, m := range status.AllMachines() {
		if !entity.IsManualInstance(m.InstanceID) {
			continue
		}
		if !entity.IsValidMachine(m.ID) { // it becomes part of a command that users run as root
			return entity.Errorf(entity.Invalid, "it returned the invalid machine id %q", m.ID)
		}
		h.machines[model] = append(h.machines[model], m)
	}
	return nil
}

// Names lists the hosts.
func (h *Hosts) Names() string {
	var all []string
	for _, model := range slices.Sorted(maps.Keys(h.machines)) {
		for _, m := range h.machines[model] {
			all = append(all, hostOf(m))
		}
	}
	return strings.Join(all, ", ")
}

// hostOf returns a manual machine's host, as given by its user.
func hostOf(m entity.MachineStatus) string {
	return cmp.Or(m.SSH, strings.TrimPrefix(m.InstanceID, entity.ManualInstance("")))
}

// isDisconnected reports whether a manual machine's agent has lost its connection. Until that is detected, the machine
// is still started.
func isDisconnected(m entity.MachineStatus) bool { return m.Status.Status != entity.StatusStarted }

// An uninstall is the state of an agent that is to uninstall itself.
type uninstall struct {
	disconnected bool
	done         bool
	err          error // why its machine can't be destroyed
}

// Leave destroys the machines, so that their agents uninstall themselves, and waits until they have. It lists the
// agents that remain, and how to remove them.
func (h *Hosts) Leave(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, uninstallTimeout, fmt.Errorf("gave up after %v", uninstallTimeout))
	defer cancel()
	for _, model := range slices.Sorted(maps.Keys(h.machines)) {
		agents := map[string]*uninstall{}
		for _, m := range h.machines[model] {
			agents[m.ID] = &uninstall{disconnected: isDisconnected(m)}
		}
		err := cli.InModel(ctx, h.session, h.controller, model, func(api hostsAPI) error {
			return leaveModel(ctx, api, agents)
		})
		for _, m := range h.machines[model] {
			a := agents[m.ID]
			if a.done {
				continue
			}
			why := ""
			if err := cmp.Or(a.err, err); err != nil {
				why = fmt.Sprintf(" (%v)", err)
			}
			h.session.Note("The agent of machine %s is still on host %s%s. To remove it, run there as root: %s", m.ID,
				hostOf(m), why, UninstallCommand(m.ID))
		}
	}
}

// NoteDisconnected lists the hosts whose agents are disconnected. They uninstall themselves when they reconnect to the
// controller, which remains.
func (h *Hosts) NoteDisconnected() {
	for _, model := range slices.Sorted(maps.Keys(h.machines)) {
		for _, m := range h.machines[model] {
			if isDisconnected(m) {
				h.session.Note("The agent of machine %s on host %s is disconnected. It is removed when it reconnects to the "+
					"controller. To remove it at once, run there as root: %s", m.ID, hostOf(m), UninstallCommand(m.ID))
			}
		}
	}
}

// leaveModel destroys manual machines of a model, and records which of their agents have uninstalled themselves. It does
// not wait for disconnected agents, nor for those whose machines can't be destroyed.
func leaveModel(ctx context.Context, api hostsAPI, agents map[string]*uninstall) error {
	ids := entity.NaturalKeys(agents)
	errs, _, err := api.DestroyMachines(ctx, entity.Destruction{Strength: entity.Force}, ids...)
	if err != nil {
		return err
	}
	for i, one := range errs[:min(len(errs), len(ids))] {
		if !entity.IsNotFound(one) { // else it was just destroyed
			agents[ids[i]].err = one
		}
	}
	changes := wait.WatchChanges(ctx, api.WatchStatus, 0)
	for {
		status, err := api.Status(ctx)
		if err != nil {
			return err
		}
		exists := map[string]bool{}
		for _, m := range status.AllMachines() {
			exists[m.ID] = true
		}
		waiting := false
		for id, a := range agents {
			a.done = !exists[id] && !a.disconnected
			waiting = waiting || exists[id] && !a.disconnected && a.err == nil
		}
		if !waiting {
			return nil
		}
		changes.Next(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// UninstallCommand returns the command that removes a manual machine's agent from its host.
func UninstallCommand(machine string) string {
	return ssh.ToolsDir(machine) + "/jujud uninstall " + install.AgentDir(machine)
}
