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

// leaveHostsBound is how long the agents of hosts may take to leave them.
const leaveHostsBound = time.Minute

// AsksAboutHosts is the part of a question that names the hosts which agents are about to leave.
const AsksAboutHosts = "Its agents are removed from these hosts of yours: %s.\n"

// A hostsAPI has the agents of hosts leave them.
type hostsAPI interface {
	wait.StatusAPI
	DestroyMachines(ctx context.Context, how entity.Destruction, ids ...string) ([]error, entity.DestroyInfo, error)
}

// lentHosts are the hosts that users have added to a controller's models. With the controller goes
// what tells their agents to leave.
type lentHosts struct {
	session    *cli.Session
	controller string
	// machines are the manual machines, by the qualified names of their models.
	machines map[string][]entity.MachineStatus
}

// NewHosts returns the hosts of a controller, of which none is known yet.
func NewHosts(s *cli.Session, controller string) *lentHosts {
	return &lentHosts{s, controller, map[string][]entity.MachineStatus{}}
}

// FindHosts asks a controller for the hosts that have its agents.
func FindHosts(ctx context.Context, s *cli.Session, name string, ctrl *store.Controller) (*lentHosts, error) {
	h := NewHosts(s, name)
	if ctrl == nil || !clouds.Of(ctrl.Cloud).TakesHosts() {
		return h, nil
	}
	return h, cli.EachModel(ctx, s, name, ctrl, h.Find)
}

// Find asks a model for its hosts.
func (h *lentHosts) Find(ctx context.Context, model string, api wait.StatusAPI) error {
	status, err := api.Status(ctx)
	if err != nil {
		return err
	}
	for _, m := range status.AllMachines() {
		if !entity.IsManualInstance(m.InstanceID) {
			continue
		}
		if !entity.IsValidMachine(m.ID) { // it becomes a part of a command that users run as root
			return entity.Errorf(entity.Invalid, "it names a machine %q, which can't be the id of one", m.ID)
		}
		h.machines[model] = append(h.machines[model], m)
	}
	return nil
}

// Names names the hosts.
func (h *lentHosts) Names() string {
	var all []string
	for _, model := range slices.Sorted(maps.Keys(h.machines)) {
		for _, m := range h.machines[model] {
			all = append(all, hostOf(m))
		}
	}
	return strings.Join(all, ", ")
}

// hostOf is a manual machine's host, as its user has named it.
func hostOf(m entity.MachineStatus) string {
	return cmp.Or(m.SSH, strings.TrimPrefix(m.InstanceID, entity.ManualInstance("")))
}

// isAway reports whether a manual machine's agent hears nothing. One that was lost just now still counts as
// started.
func isAway(m entity.MachineStatus) bool { return m.Status.Status != entity.StatusStarted }

// A leaving is the agent of a machine that is to leave its host.
type leaving struct {
	away bool  // it hears nothing
	has  bool  // it has left
	why  error // its machine can't be destroyed
}

// Leave destroys the machines, so that their agents leave the hosts, and waits for it. It says which
// agents are left, and what removes each.
func (h *lentHosts) Leave(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, leaveHostsBound, fmt.Errorf("gave up after %v", leaveHostsBound))
	defer cancel()
	for _, model := range slices.Sorted(maps.Keys(h.machines)) {
		agents := map[string]*leaving{}
		for _, m := range h.machines[model] {
			agents[m.ID] = &leaving{away: isAway(m)}
		}
		err := cli.InModel(ctx, h.session, h.controller, model, func(api hostsAPI) error { return leaveModel(ctx, api, agents) })
		for _, m := range h.machines[model] {
			a := agents[m.ID]
			if a.has {
				continue
			}
			why := ""
			if err := cmp.Or(a.why, err); err != nil {
				why = fmt.Sprintf(" (%v)", err)
			}
			h.session.Note("The agent of machine %s on host %s has not left%s. To remove it, run there as root: %s", m.ID,
				hostOf(m), why, UninstallCommand(m.ID))
		}
	}
}

// NoteAway names the hosts whose agents do not hear that their machines were destroyed. The controller,
// which stays, tells them when they return.
func (h *lentHosts) NoteAway() {
	for _, model := range slices.Sorted(maps.Keys(h.machines)) {
		for _, m := range h.machines[model] {
			if isAway(m) {
				h.session.Note("The agent of machine %s on host %s is away. It leaves the host when it reaches the controller "+
					"again; to remove it at once, run there as root: %s", m.ID, hostOf(m), UninstallCommand(m.ID))
			}
		}
	}
}

// leaveModel destroys manual machines of a model, and notes which of their agents have left. It waits for all but
// those that are away, and those whose machines can't be destroyed.
func leaveModel(ctx context.Context, api hostsAPI, agents map[string]*leaving) error {
	ids := slices.SortedFunc(maps.Keys(agents), entity.CompareNatural)
	errs, _, err := api.DestroyMachines(ctx, entity.Destruction{Strength: entity.Force}, ids...)
	if err != nil {
		return err
	}
	for i, one := range errs[:min(len(errs), len(ids))] {
		if !entity.IsNotFound(one) { // else someone has just destroyed it
			agents[ids[i]].why = one
		}
	}
	changes := wait.WatchChanges(ctx, api.WatchStatus, 0)
	for {
		status, err := api.Status(ctx)
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, m := range status.AllMachines() {
			there[m.ID] = true
		}
		waits := false
		for id, a := range agents {
			a.has = !there[id] && !a.away
			waits = waits || there[id] && !a.away && a.why == nil
		}
		if !waits {
			return nil
		}
		changes.Next(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// UninstallCommand is the command that removes the agent of a manual machine from its host.
func UninstallCommand(machine string) string {
	return ssh.ToolsDir(machine) + "/jujud uninstall " + install.AgentDir(machine)
}
