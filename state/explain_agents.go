package state

import (
	"fmt"
	"strings"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// unit says what a unit waits for.
func (x *explainer) unit(u *Unit, depth int) error {
	tag := entity.UnitTag(u.doc.Name)
	if u.doc.Life == entity.Dying {
		n, err := x.barred(u, entity.Dead, depth)
		if err != nil {
			return err
		}
		return x.unitAgent(u, depth, n > 0)
	}
	if u.doc.Life == entity.Dead {
		by := u.doc.Deployer()
		x.add(entity.Reason{Depth: depth, Of: tag.String(), By: by.String(), Since: u.doc.Since,
			Text: fmt.Sprintf("unit %q is dead: the agent of %s must remove it", u.doc.Name, nameOf(by))})
		return nil
	}
	svc, err := x.st.Service(x.ctx, u.doc.Service)
	if err != nil {
		return err
	}
	if svc.doc.Life != entity.Alive {
		x.add(entity.Reason{Depth: depth, Of: tag.String(), By: tag.String(), Since: svc.doc.Since,
			Text: fmt.Sprintf("service %q is dying: the agent of unit %q, or the cleaner, must set the unit dying",
				u.doc.Service, u.doc.Name)})
		return nil
	}
	if err := x.awaitedStorage(u, depth); err != nil {
		return err
	}
	return x.unitAgent(u, depth, false)
}

// unitAgent says what the agent of a unit that is not Dead waits for, or has to do.
func (x *explainer) unitAgent(u *Unit, depth int, barred bool) error {
	tag := entity.UnitTag(u.doc.Name)
	shown, err := x.st.db.StatusDoc(modeldb.WorkloadKey(u.doc.Name))
	if err != nil {
		return err
	}
	workload := shown.Mended()
	reason := entity.Reason{Depth: depth, Of: tag.String(), By: tag.String(), Since: u.doc.Since}
	switch {
	case workload.Status == entity.StatusError && !(u.doc.Life == entity.Dying && u.doc.Strength > entity.Plain):
		reason.By, reason.Since = entity.ByUser, workload.Since
		reason.Text = fmt.Sprintf("unit %q: %s", u.doc.Name, workload.Explained())
		if reason.Hint, err = x.waysOut(u); err != nil {
			return err
		}
		if u.doc.Resolved != entity.ResolvedNone {
			reason.By, reason.Hint = tag.String(), ""
			reason.Text += "; it is resolved, and its agent must continue"
		}
	case !u.doc.Started:
		return x.undeployed(u, depth)
	case u.doc.Life == entity.Alive:
		if by := u.doc.Deployer(); depth == 0 && by.Kind == entity.KindMachine {
			m, err := x.st.Machine(x.ctx, by.ID)
			if err != nil {
				return err
			}
			if err := x.halted(m, depth); err != nil {
				return err
			}
		}
		agent, err := x.st.db.Status(modeldb.UnitKey(u.doc.Name))
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
		reason.Text = fmt.Sprintf("the agent of unit %q must leave its relations and see its subordinates gone", u.doc.Name)
	case u.doc.Forced():
		reason.Text = fmt.Sprintf("the agent of unit %q must set it dead, without running hooks", u.doc.Name)
	default:
		reason.Text = fmt.Sprintf("the agent of unit %q must run its last hooks and set it dead", u.doc.Name)
	}
	x.add(reason)
	if u.doc.Life == entity.Dying && u.doc.Started {
		agent, err := x.st.db.Status(modeldb.UnitKey(u.doc.Name))
		if err != nil {
			return err
		}
		if agent.Status == entity.StatusExecuting || agent.Status == entity.StatusFailed {
			x.add(working(u, agent, depth+1))
		}
	}
	return x.uprooted(u, depth+1)
}

// waysOut says what a user can do about a failed hook of a unit, and what each costs.
func (x *explainer) waysOut(u *Unit) (string, error) {
	name := u.doc.Name
	ways := []string{"run the hook again: juju resolved " + name, "skip it: juju resolved --no-retry " + name}
	svc, err := x.st.Service(x.ctx, u.doc.Service)
	if err != nil {
		return "", err
	}
	if url := svc.doc.CharmURL; u.doc.CharmURL != "" && url != u.doc.CharmURL && u.doc.Life == entity.Alive {
		ways[0] = "run the hook of the old charm again, and then upgrade: juju resolved " + name
		ways = append(ways, fmt.Sprintf("run it from charm %s, without upgrade-charm: juju upgrade-charm %s --force-units, "+
			"with its --path, --switch or --revision, and then juju resolved %s", url, u.doc.Service, name))
	}
	if u.doc.Life != entity.Alive && u.doc.Principal == "" {
		ways = append(ways, "skip every hook that fails: juju destroy-unit --lenient "+name,
			"run no hook at all, and leave behind what stop would remove: juju destroy-unit --force "+name)
	}
	return strings.Join(ways, "; "), nil
}

// working says what a unit's agent is doing, such as a hook that never ends, or what it
// failed to do.
func working(u *Unit, agent entity.Status, depth int) entity.Reason {
	text := orElse(agent.Message, "its agent is at work")
	if agent.Status == entity.StatusFailed {
		text = "its agent has failed: " + agent.Message
	}
	tag := entity.UnitTag(u.doc.Name).String()
	return entity.Reason{Depth: depth, Of: tag, By: tag, Text: fmt.Sprintf("unit %q: %s", u.doc.Name, text),
		Since: agent.Since}
}

// workload says what the charm of a unit that runs no hook reports, if it waits for
// something.
func (x *explainer) workload(u *Unit, s entity.Status) {
	reason := entity.Reason{Of: entity.UnitTag(u.doc.Name).String(), By: entity.ByCharm, Since: s.Since,
		Text: fmt.Sprintf("unit %q says that it is %s", u.doc.Name, s.Status)}
	switch s.Status {
	case entity.StatusBlocked:
		reason.By = entity.ByUser
	case entity.StatusWaiting, entity.StatusMaintenance:
	default:
		return
	}
	if s.Message != "" {
		reason.Text += ": " + s.Message
	}
	x.add(reason)
}

// uprooted says what the machine of a Dying unit waits for, if the instance of the unit's
// agent was lost.
func (x *explainer) uprooted(u *Unit, depth int) error {
	by := u.doc.Deployer()
	if u.doc.Life != entity.Dying || by.Kind != entity.KindMachine {
		return nil
	}
	m, err := x.st.Machine(x.ctx, by.ID)
	if err != nil || m.doc.InstanceID != "" || m.doc.Life == entity.Dead {
		return err
	}
	return x.machineStart(m, depth)
}

// undeployed says why the agent of a unit has not come up yet, or why a Dying unit whose
// agent never came up is still there.
func (x *explainer) undeployed(u *Unit, depth int) error {
	tag, by := entity.UnitTag(u.doc.Name), u.doc.Deployer()
	reason := entity.Reason{Depth: depth, Of: tag.String(), By: by.String(), Since: u.doc.Since,
		Text: fmt.Sprintf("the agent of unit %q has not come up: the agent of %s must start it", u.doc.Name, nameOf(by))}
	if u.doc.Life == entity.Dying {
		reason.Text = fmt.Sprintf("the agent of unit %q never came up: the agent of %s must remove the unit", u.doc.Name,
			nameOf(by))
	}
	if by.Kind != entity.KindMachine {
		x.add(reason)
		return nil
	}
	m, err := x.st.Machine(x.ctx, by.ID)
	if err != nil {
		return err
	}
	status, err := x.st.db.Status(modeldb.MachineKey(by.ID))
	if err != nil {
		return err
	}
	// The agent of a machine whose instance could not be started has not come up either.
	reason.Starting = !m.IsManager() && (status.Status == entity.StatusPending || m.doc.InstanceID == "")
	x.add(reason)
	if x.seen[by] || m.doc.Life != entity.Alive {
		return nil
	}
	x.seen[by] = true
	return x.machineStart(m, depth+1)
}

// machine says what a machine waits for.
func (x *explainer) machine(m *Machine, depth int) error {
	tag := entity.MachineTag(m.doc.ID)
	if m.doc.Life == entity.Alive {
		return x.machineStart(m, depth)
	}
	if m.doc.Life == entity.Dying {
		n, err := x.barred(m, entity.Dead, depth)
		if err != nil || n > 0 {
			return err
		}
	}
	reason := entity.Reason{Depth: depth, Of: tag.String(), By: entity.ByProvisioner, Since: m.doc.Since}
	switch {
	case m.doc.InstanceID == "":
		reason.Text = fmt.Sprintf("machine %s has no instance: the provisioner must remove it", m.doc.ID)
	case m.doc.Life == entity.Dying:
		reason.By = tag.String()
		reason.Text = fmt.Sprintf("the agent of machine %s must set it dead", m.doc.ID)
	case entity.IsManualInstance(m.doc.InstanceID):
		reason.By = tag.String()
		reason.Text = fmt.Sprintf("machine %s is dead: its agent must leave the host, and then the provisioner remove it",
			m.doc.ID)
	default:
		reason.Text = fmt.Sprintf("machine %s is dead: the provisioner must stop instance %s and remove it", m.doc.ID,
			m.doc.InstanceID)
		said, err := x.st.db.Status(modeldb.InstanceKey(m.doc.ID))
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

// machineStart says why a machine that needs an instance has not started yet.
func (x *explainer) machineStart(m *Machine, depth int) error {
	tag := entity.MachineTag(m.doc.ID)
	status, err := x.st.db.Status(modeldb.MachineKey(m.doc.ID))
	if err != nil {
		return err
	}
	reason := entity.Reason{Depth: depth, Of: tag.String(), Since: status.Since}
	switch {
	case status.Status == entity.StatusError:
		reason.By, reason.Text = entity.ByUser, fmt.Sprintf("machine %s: %s", m.doc.ID, status.Message)
		retry := "juju retry-provisioning " + m.doc.ID
		own, err := x.st.db.Constraints(modeldb.MachineKey(m.doc.ID))
		if err != nil {
			return err
		}
		if reason.Hint = retry; own != "" { // which may be what the cloud can't meet
			reason.Hint = fmt.Sprintf(`%s; with others in place of its constraints (%s): %[1]s --constraints "KEY=VALUE ..."`,
				retry, own)
		}
		if advice, _ := status.Data["hint"].(string); advice != "" {
			reason.Hint = strings.TrimSuffix(advice, ".") + "; then: " + reason.Hint
		}
	case m.doc.InstanceID == "":
		reason.By = entity.ByProvisioner
		reason.Text = fmt.Sprintf("machine %s has no instance: the provisioner must start one", m.doc.ID)
		if status.Message != "" {
			reason.Text += " (" + status.Message + ")"
		}
	case status.Status == entity.StatusPending && !m.IsManager():
		reason.By, reason.Starting = tag.String(), true
		reason.Text = fmt.Sprintf("the agent of machine %s has not come up on instance %s", m.doc.ID, m.doc.InstanceID)
		x.add(reason)
		return x.halted(m, depth+1)
	default:
		return x.halted(m, depth)
	}
	x.add(reason)
	return nil
}

// halted says that a machine cannot act, if the cloud says that its instance does not run.
func (x *explainer) halted(m *Machine, depth int) error {
	said, err := x.st.db.Status(modeldb.InstanceKey(m.doc.ID))
	if entity.IsNotFound(err) || err == nil && (said.Status == "" || said.Status == modeldb.InstanceRuns) {
		return nil
	}
	if err != nil {
		return err
	}
	tag := entity.MachineTag(m.doc.ID).String()
	if said.Status == entity.StatusMissing {
		x.add(entity.Reason{Depth: depth, Of: tag, By: entity.ByProvisioner, Since: said.Since,
			Text: fmt.Sprintf("instance %s of machine %s is missing: the cloud does not list it, and the provisioner must "+
				"replace it unless it comes back within a minute", m.doc.InstanceID, m.doc.ID)})
		return nil
	}
	x.add(entity.Reason{Depth: depth, Of: tag, By: entity.ByUser, Since: said.Since,
		Text: fmt.Sprintf("instance %s of machine %s is %s", m.doc.InstanceID, m.doc.ID, said.Status),
		Hint: "start it in the cloud, or give it up: juju destroy-machine --force " + m.doc.ID})
	return nil
}

// nameOf returns the name that users know a tag's entity by.
func nameOf(tag entity.Tag) string {
	if tag.IsZero() {
		return "its machine"
	}
	return string(tag.Kind) + " " + tag.ID
}
