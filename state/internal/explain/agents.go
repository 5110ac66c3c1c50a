package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/internal/profiles"
	"juju/state/internal/rollout"
	"juju/state/modelconfig"
)

// unit explains what a unit is waiting for.
func (x *explainer) unit(ctx context.Context, u modeldb.Unit, depth int) error {
	tag := entity.UnitTag(u.Name)
	if u.Life == entity.Dying {
		n, err := x.barred(ctx, ofUnit(u), entity.Dead, depth)
		if err != nil {
			return err
		}
		return x.unitAgent(ctx, u, depth, n > 0)
	}
	if u.Life == entity.Dead {
		by := u.Deployer()
		x.add(entity.Reason{Depth: depth, Of: tag.String(), By: by.String(), Since: u.Since,
			Text: fmt.Sprintf("unit %q is dead: the agent of %s must remove it", u.Name, nameOf(by))})
		return nil
	}
	svc, err := x.db.Service(ctx, u.Service)
	if err != nil {
		return err
	}
	if svc.Life != entity.Alive {
		x.add(entity.Reason{Depth: depth, Of: tag.String(), By: tag.String(), Since: svc.Since,
			Text: fmt.Sprintf("service %q is dying: the agent of unit %q, or the cleaner, must set the unit dying",
				u.Service, u.Name)})
		return nil
	}
	if err := x.awaitedStorage(ctx, u, depth); err != nil {
		return err
	}
	if err := x.outside(ctx, u, svc, depth); err != nil {
		return err
	}
	if depth == 0 { // below its service that is said already
		why, user, err := rollout.Holds(svc, u, func() (string, error) {
			return once(x.ailing, svc.Name, func() (string, error) { return rollout.Ailing(ctx, x.db, svc) })
		})
		if err != nil {
			return err
		}
		reason := entity.Reason{Of: tag.String(), By: entity.ByController, Text: why}
		if user {
			reason.By, reason.Since, reason.Hint = entity.ByUser, svc.Rollout.Since, svc.Rollout.Public().Ways(svc.Name)
		}
		if why != "" {
			x.add(reason)
		}
		if err := x.unitSecrets(ctx, u, depth); err != nil {
			return err
		}
	}
	return x.unitAgent(ctx, u, depth, false)
}

// unitAgent explains what the agent of a unit that is not Dead is waiting for, or must do.
func (x *explainer) unitAgent(ctx context.Context, u modeldb.Unit, depth int, barred bool) error {
	tag := entity.UnitTag(u.Name)
	shown, err := x.db.StatusDoc(ctx, modeldb.WorkloadKey(u.Name))
	if err != nil {
		return err
	}
	workload := shown.Mended()
	reason := entity.Reason{Depth: depth, Of: tag.String(), By: tag.String(), Since: u.Since}
	switch {
	case workload.Status == entity.StatusError && !(u.Life == entity.Dying && u.Strength > entity.Plain):
		reason.By, reason.Since = entity.ByUser, workload.Since
		reason.Text = fmt.Sprintf("unit %q: %s", u.Name, workload.Explained())
		if reason.Hint, err = x.waysOut(ctx, u); err != nil {
			return err
		}
		if u.Resolved != entity.ResolvedNone {
			reason.By, reason.Hint = tag.String(), ""
			reason.Text += "; it is resolved, and its agent must continue"
		}
	case !u.Started:
		return x.undeployed(ctx, u, depth)
	case u.Life == entity.Alive:
		for _, holds := range []func(context.Context, modeldb.Unit, int) (bool, error){x.held, x.unprofiled} {
			if held, err := holds(ctx, u, depth); err != nil || held {
				return err
			}
		}
		if by := u.Deployer(); depth == 0 && by.Kind == entity.KindMachine {
			m, err := x.db.Machine(ctx, by.ID)
			if err != nil {
				return err
			}
			if err := x.halted(ctx, m, depth); err != nil {
				return err
			}
		}
		agent, err := x.db.Status(ctx, modeldb.UnitKey(u.Name))
		if err != nil {
			return err
		}
		if agent.Status != entity.StatusExecuting && agent.Status != entity.StatusFailed {
			if depth == 0 && !shown.Unset { // below another entity, what the unit's agent must do matters more
				x.workload(u, workload)
			}
			return nil
		}
		reason = working(u, agent, depth)
	case barred:
		reason.Text = fmt.Sprintf("the agent of unit %q must leave its relations and see its subordinates gone", u.Name)
	case u.Forced():
		reason.Text = fmt.Sprintf("the agent of unit %q must set it dead, without running hooks", u.Name)
	default:
		reason.Text = fmt.Sprintf("the agent of unit %q must run its last hooks and set it dead", u.Name)
	}
	x.add(reason)
	if u.Life == entity.Dying && u.Started {
		agent, err := x.db.Status(ctx, modeldb.UnitKey(u.Name))
		if err != nil {
			return err
		}
		if agent.Status == entity.StatusExecuting || agent.Status == entity.StatusFailed {
			x.add(working(u, agent, depth+1))
		}
	}
	return x.uprooted(ctx, u, depth+1)
}

// waysOut describes how a user can deal with a unit's failed hook, and the consequences of each way.
func (x *explainer) waysOut(ctx context.Context, u modeldb.Unit) (string, error) {
	name := u.Name
	ways := []string{"run the hook again: juju resolved " + name, "skip it: juju resolved --no-retry " + name}
	svc, err := x.db.Service(ctx, u.Service)
	if err != nil {
		return "", err
	}
	if url := svc.CharmOf(u); u.CharmURL != "" && url != u.CharmURL && u.Life == entity.Alive {
		ways[0] = "run the hook of the old charm again, and then upgrade: juju resolved " + name
		ways = append(ways, fmt.Sprintf("run it from charm %s, without upgrade-charm: juju upgrade-charm %s --force-units, "+
			"with its --path, --switch or --revision, and then juju resolved %s", url, u.Service, name))
	}
	if u.Life != entity.Alive && u.Principal == "" {
		ways = append(ways, "skip every hook that fails: juju destroy-unit --lenient "+name,
			"run no hook at all, and leave behind what stop would remove: juju destroy-unit --force "+name)
	}
	return strings.Join(ways, "; "), nil
}

// working describes what a unit's agent is doing, such as a hook that never exits, or what it failed to do.
func working(u modeldb.Unit, agent entity.Status, depth int) entity.Reason {
	text := cmp.Or(agent.Message, "its agent is at work")
	if agent.Status == entity.StatusFailed {
		text = "its agent has failed: " + agent.Message
	}
	tag := entity.UnitTag(u.Name).String()
	reason := entity.Reason{Depth: depth, Of: tag, By: tag, Text: fmt.Sprintf("unit %q: %s", u.Name, text), Since: agent.Since}
	switch {
	case agent.Status == entity.StatusFailed:
	case strings.Contains(text, lockHeld):
		reason.Hint = fmt.Sprintf("wait until that ends; or let hooks of %s run beside others: add it to the model's setting %s", u.Service, modelconfig.LockExempt)
	default:
		reason.Hint = "wait until that ends; or see what it does: juju debug-log --replay --no-tail -i " + tag
		if u.Life == entity.Dying && u.Principal == "" && u.Strength != entity.Force {
			reason.Hint += "; or end it, and run no more hooks: juju destroy-unit --force " + u.Name
		}
	}
	return reason
}

// lockHeld is in the message of an agent that waits for the hooks of other units on its machine.
const lockHeld = "the machine lock is held"

// workload returns what the charm of a unit that runs no hook reports, if it is waiting for something.
func (x *explainer) workload(u modeldb.Unit, s entity.Status) {
	reason := entity.Reason{Of: entity.UnitTag(u.Name).String(), By: entity.ByCharm, Since: s.Since,
		Text: fmt.Sprintf("unit %q says that it is %s", u.Name, s.Status)}
	switch s.Status {
	case entity.StatusBlocked:
		reason.By, reason.Hint = entity.ByUser, unblocks(u, s.Message)
	case entity.StatusWaiting, entity.StatusMaintenance:
	default:
		return
	}
	if s.Message != "" {
		reason.Text += ": " + s.Message
	}
	x.add(reason)
}

// unblocks says what a user can do about a unit that is blocked: what its charm says, if that is a command. It is quoted, so
// that no page offers to run what a charm has made up.
func unblocks(u modeldb.Unit, said string) string {
	if _, command, ok := strings.Cut(said, "juju "); ok {
		command, _, _ = strings.Cut(command, "`")
		return fmt.Sprintf("do what its charm says: %q", "juju "+strings.TrimRight(command, ` .;:,'")`))
	}
	return fmt.Sprintf("give its charm what it asks for, with juju config %s, juju integrate or juju attach-resource; or see what it has logged: "+
		"juju debug-log --replay --no-tail -i %s", u.Service, entity.UnitTag(u.Name))
}

// uprooted explains what the machine of a Dying unit is waiting for, if the instance on which the unit's
// agent ran was lost.
func (x *explainer) uprooted(ctx context.Context, u modeldb.Unit, depth int) error {
	by := u.Deployer()
	if u.Life != entity.Dying || by.Kind != entity.KindMachine {
		return nil
	}
	m, err := x.db.Machine(ctx, by.ID)
	if err != nil || m.InstanceID != "" || m.Life == entity.Dead {
		return err
	}
	return x.machineStart(ctx, m, depth)
}

// undeployed explains why a unit's agent has not started yet, or why a Dying unit whose agent never started has not
// been removed.
func (x *explainer) undeployed(ctx context.Context, u modeldb.Unit, depth int) error {
	tag, by := entity.UnitTag(u.Name), u.Deployer()
	reason := entity.Reason{Depth: depth, Of: tag.String(), By: by.String(), Since: u.Since,
		Text: fmt.Sprintf("the agent of unit %q has not come up: the agent of %s must start it", u.Name, nameOf(by))}
	if u.Life == entity.Dying {
		reason.Text = fmt.Sprintf("the agent of unit %q never came up: the agent of %s must remove the unit", u.Name,
			nameOf(by))
	}
	if by.Kind != entity.KindMachine {
		x.add(reason)
		return nil
	}
	m, err := x.db.Machine(ctx, by.ID)
	if err != nil {
		return err
	}
	status, err := x.db.Status(ctx, modeldb.MachineKey(by.ID))
	if err != nil {
		return err
	}
	// The agent of a machine whose instance failed to start has not come up either.
	reason.Starting = !m.IsManager() && (status.Status == entity.StatusPending || m.InstanceID == "")
	x.add(reason)
	if x.seen[by] || m.Life != entity.Alive {
		return nil
	}
	x.seen[by] = true
	return x.machineStart(ctx, m, depth+1)
}

// machine explains what a machine is waiting for.
func (x *explainer) machine(ctx context.Context, m modeldb.Machine, depth int) error {
	tag := entity.MachineTag(m.ID)
	if m.Life == entity.Alive {
		x.upgrade(m, depth)
		return x.machineStart(ctx, m, depth)
	}
	if m.Life == entity.Dying {
		n, err := x.barred(ctx, ofMachine(m), entity.Dead, depth)
		if err != nil || n > 0 {
			return err
		}
	}
	reason := entity.Reason{Depth: depth, Of: tag.String(), By: entity.ByProvisioner, Since: m.Since}
	switch {
	case m.InstanceID == "":
		reason.Text = fmt.Sprintf("machine %s has no instance: the provisioner must remove it", m.ID)
	case m.Life == entity.Dying:
		reason.By = tag.String()
		reason.Text = fmt.Sprintf("the agent of machine %s must set it dead", m.ID)
	case entity.IsManualInstance(m.InstanceID):
		reason.By = tag.String()
		reason.Text = fmt.Sprintf("machine %s is dead: its agent must leave the host, and then the provisioner remove it",
			m.ID)
	default:
		reason.Text = fmt.Sprintf("machine %s is dead: the provisioner must stop instance %s and remove it", m.ID,
			m.InstanceID)
		said, err := x.db.Status(ctx, modeldb.InstanceKey(m.ID))
		if err != nil && !entity.IsNotFound(err) {
			return err
		}
		if said.Status == entity.StatusError {
			reason.Text += "; the cloud says: " + said.Message
			reason.Hint, _ = said.Data["hint"].(string)
		}
	}
	x.add(reason)
	return nil
}

// upgrade explains what an upgrade of the machine's operating system is waiting for.
func (x *explainer) upgrade(m modeldb.Machine, depth int) {
	if m.Upgrade == nil {
		return
	}
	up := entity.SeriesUpgrade{To: m.Upgrade.To, Completing: m.Upgrade.Completing, Waiting: m.Upgrade.Waiting}
	reason := entity.Reason{Depth: depth, Of: entity.MachineTag(m.ID).String(), Since: m.Upgrade.Since,
		Text: fmt.Sprintf("machine %s: %s", m.ID, up)}
	if len(up.Waiting) > 0 {
		reason.By = entity.UnitTag(up.Waiting[0]).String()
	} else {
		reason.By = entity.ByUser
		reason.Hint = "upgrade its operating system, then: juju upgrade-machine " + m.ID + " complete"
	}
	x.add(reason)
}

// held explains, and reports, that a unit does nothing because its machine's operating system is upgraded.
func (x *explainer) held(ctx context.Context, u modeldb.Unit, depth int) (bool, error) {
	id, err := x.db.MachineOf(ctx, u)
	if err != nil || id == "" {
		return false, err
	}
	m, err := x.db.Machine(ctx, id)
	if err != nil || m.Upgrade == nil || slices.Contains(m.Upgrade.Waiting, u.Name) {
		return false, err
	}
	x.upgrade(m, depth)
	return true, nil
}

// unprofiled explains, and reports, that a unit does not deploy its charm because its machine does not have the charm's LXD
// profile.
func (x *explainer) unprofiled(ctx context.Context, u modeldb.Unit, depth int) (bool, error) {
	id, err := x.db.MachineOf(ctx, u)
	if err != nil || id == "" {
		return false, err
	}
	m, err := x.db.Machine(ctx, id)
	if err != nil || m.Profiles == nil {
		return false, err
	}
	svc, err := x.db.Service(ctx, u.Service)
	if err != nil || svc.CharmOf(u) == u.CharmURL {
		return false, err
	}
	name, err := profiles.Awaited(ctx, x.db, u, svc, m)
	if err != nil || name == "" {
		return false, err
	}
	reason := entity.Reason{Depth: depth, Of: entity.UnitTag(u.Name).String(), By: entity.ByController,
		Text: fmt.Sprintf("unit %q gets charm %q once machine %s has LXD profile %s", u.Name, svc.CharmOf(u), id, name)}
	if m.Profiles.Failed != "" {
		reason.By = entity.ByUser
		reason.Text += ", which the cloud does not give it: " + m.Profiles.Failed
		reason.Hint = fmt.Sprintf("mend that in LXD: it is tried again within minutes; or upgrade to a charm with another profile: "+
			"juju upgrade-charm %s", svc.Name)
	}
	x.add(reason)
	return true, nil
}

// machineStart explains why a machine that needs an instance has not started yet.
func (x *explainer) machineStart(ctx context.Context, m modeldb.Machine, depth int) error {
	tag := entity.MachineTag(m.ID)
	status, err := x.db.Status(ctx, modeldb.MachineKey(m.ID))
	if err != nil {
		return err
	}
	needs := ""
	if m.InstanceID == "" {
		needs, err = once(x.needs, m.ID, func() (string, error) { return x.demands(ctx, m) })
		if err != nil {
			return err
		}
	}
	reason := entity.Reason{Depth: depth, Of: tag.String(), Since: status.Since}
	switch {
	case status.Status == entity.StatusError:
		reason.By, reason.Text = entity.ByUser, fmt.Sprintf("machine %s: %s%s", m.ID, status.Message, needs)
		retry := "juju retry-provisioning " + m.ID
		own, err := x.db.Constraints(ctx, modeldb.MachineKey(m.ID))
		if err != nil {
			return err
		}
		if reason.Hint = retry; own != "" { // its constraints may be what the cloud can't meet
			reason.Hint = fmt.Sprintf(`%s; with others in place of its constraints (%s): %[1]s --constraints "KEY=VALUE ..."`,
				retry, own)
		}
		if advice, _ := status.Data["hint"].(string); advice != "" {
			reason.Hint = strings.TrimSuffix(advice, ".") + "; then: " + reason.Hint
		}
	case m.InstanceID == "":
		reason.By = entity.ByProvisioner
		reason.Text = fmt.Sprintf("machine %s has no instance: the provisioner must start one", m.ID)
		if status.Message != "" {
			reason.Text += " (" + status.Message + ")"
		}
		reason.Text += needs
	case status.Status == entity.StatusPending && !m.IsManager():
		reason.By, reason.Starting = tag.String(), true
		reason.Text = fmt.Sprintf("the agent of machine %s has not come up on instance %s", m.ID, m.InstanceID)
		x.add(reason)
		return x.halted(ctx, m, depth+1)
	default:
		return x.halted(ctx, m, depth)
	}
	x.add(reason)
	return nil
}

// halted explains that a machine can't act, if the cloud reports that its instance is not running.
func (x *explainer) halted(ctx context.Context, m modeldb.Machine, depth int) error {
	said, err := x.db.Status(ctx, modeldb.InstanceKey(m.ID))
	if entity.IsNotFound(err) || err == nil && (said.Status == "" || said.Status == modeldb.InstanceRuns) {
		return nil
	}
	if err != nil {
		return err
	}
	tag := entity.MachineTag(m.ID).String()
	if said.Status == entity.StatusMissing {
		x.add(entity.Reason{Depth: depth, Of: tag, By: entity.ByProvisioner, Since: said.Since,
			Text: fmt.Sprintf("instance %s of machine %s is missing: the cloud does not list it, and the provisioner must "+
				"replace it unless it comes back within a minute", m.InstanceID, m.ID)})
		return nil
	}
	x.add(entity.Reason{Depth: depth, Of: tag, By: entity.ByUser, Since: said.Since,
		Text: fmt.Sprintf("instance %s of machine %s is %s", m.InstanceID, m.ID, said.Status),
		Hint: "start it in the cloud, or give it up: juju destroy-machine --force " + m.ID})
	return nil
}

// nameOf returns the name that users know a tag's entity by.
func nameOf(tag entity.Tag) string {
	if tag.IsZero() {
		return "its machine"
	}
	return string(tag.Kind) + " " + tag.ID
}
