package facades

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"juju/apiserver/params"
	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
)

const (
	// maxExplained limits how many entities are explained in one reply.
	maxExplained = 100
	// maxAway limits how many disconnected agents an explanation names.
	maxAway = 10
)

// explain explains the named entities, or without names every entity that has something to explain. It adds
// disconnected agents and failing workers to what state knows.
func explain(ctx context.Context, c *Caller, p params.Explain) (params.ExplainResults, error) {
	results := params.ExplainResults{Explanations: []entity.Explanation{}}
	disks, explainer := c.Presence.FullDisks(c.Model.UUID()), c.Model.Explainer()
	var tags []entity.Tag
	if len(p.Words) > 0 {
		tag, err := c.Model.FindEntity(ctx, p.Words...)
		if err != nil {
			return params.ExplainResults{}, err
		}
		tags = append(tags, tag)
	} else {
		agents, err := c.Model.Agents().Started(ctx, entity.Tag{})
		if err != nil {
			return params.ExplainResults{}, err
		}
		for _, tag := range agents {
			if _, _, away := c.Presence.Missing(c.Model.UUID(), tag); away ||
				len(c.Presence.Failures(c.Model.UUID(), tag)) > 0 || !disks[tag].IsZero() {
				tags = append(tags, tag)
			}
		}
		unsettled, err := c.Model.Unsettled(ctx)
		if err != nil {
			return params.ExplainResults{}, err
		}
		known := map[entity.Tag]bool{}
		for _, tag := range tags {
			known[tag] = true
		}
		tags = append(tags, slices.DeleteFunc(unsettled, func(t entity.Tag) bool { return known[t] })...)
		results.More = max(0, len(tags)-maxExplained)
		tags = tags[:len(tags)-results.More]
		results.Explanations = append(results.Explanations, explainWorkers(c)...)
	}
	for _, tag := range tags {
		e, err := explainer.Explain(ctx, tag)
		if errors.Is(err, entity.NotFound) && len(p.Words) == 0 {
			continue // removed in the meantime
		}
		if err != nil {
			return params.ExplainResults{}, err
		}
		if err := errors.Join(explainAgents(ctx, c, tag, &e), explainDisks(ctx, c, disks, tag, &e)); err != nil {
			return params.ExplainResults{}, err
		}
		if len(p.Words) == 0 && len(e.Reasons) == 0 {
			continue
		}
		results.Explanations = append(results.Explanations, e)
	}
	return results, nil
}

// explainWorkers explains which of the controller's workers are failing: those of the model and, for superusers, those
// that serve all models.
func explainWorkers(c *Caller) (all []entity.Explanation) {
	add := func(name string, tag entity.Tag, failures []entity.WorkerFailure) {
		e := entity.Explanation{Tag: tag.String(), Name: name}
		for _, t := range failures {
			e.Reasons = append(e.Reasons, failing(tag.String(), 0, "", t))
		}
		if len(e.Reasons) > 0 {
			e.Reasons[len(e.Reasons)-1].Hint = hintFor(entity.Reason{By: entity.ByProvisioner})
			all = append(all, e)
		}
	}
	if c.ControllerAccess == controller.AccessSuperuser {
		add("controller", entity.Tag{Kind: entity.KindController, ID: c.Controller.UUID()},
			c.workerFailures(""))
	}
	add("model "+c.Model.Name(), entity.ModelTag(c.Model.UUID()), c.workerFailures(c.Model.UUID()))
	return all
}

// workerFailures returns which of the controller's own workers for a model are failing, or for "" which of the workers
// that serve all models.
func (b *Backend) workerFailures(model string) []entity.WorkerFailure {
	if b.Failures == nil {
		return nil
	}
	return b.Failures(model)
}

// failing returns the reason for a worker that keeps failing.
func failing(of string, depth int, whose string, t entity.WorkerFailure) entity.Reason {
	return entity.Reason{Depth: depth, Of: of, Since: t.Since,
		Text: fmt.Sprintf("worker %q%s keeps failing: %s", t.Worker, whose, t.Error)}
}

// explainAgents adds to an explanation which of the agents that must act are disconnected, and which of their workers,
// or of the controller's workers that must act, are failing.
func explainAgents(ctx context.Context, c *Caller, tag entity.Tag, e *entity.Explanation) error {
	p, model := c.Presence, c.Model.UUID()
	named := map[entity.Tag]bool{}
	var reasons []entity.Reason
	fails := func(of string, depth int, agent entity.Tag) {
		for _, t := range p.Failures(model, agent) {
			reasons = append(reasons, failing(of, depth, " of "+nameOf(agent), t))
			reasons[len(reasons)-1].By = agent.String()
		}
	}
	for _, r := range e.Reasons {
		agent, err := entity.ParseTag(r.By)
		if err != nil || agent.Kind != entity.KindMachine && agent.Kind != entity.KindUnit {
			reasons = append(reasons, r)
			for _, t := range c.workerFailures(model) {
				if t.Worker == r.By {
					reasons = append(reasons, failing(r.Of, r.Depth+1, "", t))
					reasons[len(reasons)-1].By = r.By
				}
			}
			continue
		}
		// An agent that has never started has not been lost.
		if since, silent, away := p.Missing(model, agent); away && !r.Starting {
			word := "has been disconnected"
			if silent {
				word = "has not responded"
			}
			r.Text += fmt.Sprintf("; that agent %s since %s", word, since.UTC().Format(time.RFC3339))
			if r.Hint == "" {
				r.Hint = awayHint(e, agent, silent)
			}
			named[agent] = true
		}
		reasons = append(reasons, r)
		if !named[agent] {
			fails(r.Of, r.Depth+1, agent)
			named[agent] = len(p.Failures(model, agent)) > 0
		}
	}
	agents, err := c.Model.Agents().Started(ctx, tag)
	if err != nil {
		return err
	}
	away := 0
	for _, agent := range agents {
		if named[agent] {
			continue
		}
		since, silent, isAway := p.Missing(model, agent)
		switch {
		case !isAway:
			fails(agent.String(), 0, agent)
			continue
		case away == maxAway:
			reasons = append(reasons, entity.Reason{Of: e.Tag, Text: "more agents are not connected"})
		case away < maxAway:
			text := "is not connected"
			if silent {
				text = "does not respond"
			}
			reasons = append(reasons, entity.Reason{Of: agent.String(), By: agent.String(), Since: since,
				Text: fmt.Sprintf("the agent of %s %s", nameOf(agent), text), Hint: awayHint(e, agent, silent)})
		}
		away++
	}
	if n := len(reasons); n > 0 && reasons[n-1].Hint == "" {
		reasons[n-1].Hint = hintFor(reasons[n-1])
	}
	e.Reasons = reasons
	return nil
}

// explainDisks adds to an explanation which machines of the entity have a full disk, up to maxAway. Of a machine it also
// tells that its disk is nearly full, which stops no unit yet.
func explainDisks(ctx context.Context, c *Caller, disks map[entity.Tag]entity.FullDisk, tag entity.Tag,
	e *entity.Explanation) error {
	if len(disks) == 0 {
		return nil
	}
	machines, err := c.Model.Agents().Machines(ctx, tag)
	if err != nil {
		return err
	}
	named := 0
	for _, m := range machines {
		disk := disks[m]
		if disk.IsZero() || !disk.Stops && tag != m {
			continue
		}
		if named == maxAway {
			e.Reasons = append(e.Reasons, entity.Reason{Of: e.Tag, By: entity.ByUser, Text: "the disks of more machines are full"})
			break
		}
		named++
		e.Reasons = append(e.Reasons, entity.Reason{Of: m.String(), By: entity.ByUser, Text: fmt.Sprintf("machine %s: %v", m.ID, disk),
			Hint: fmt.Sprintf("make room on the disk of %s (df -h, du -xh); what waits for it then goes on by itself", disk.Dir)})
	}
	return nil
}

// nameOf returns the user-visible name of an agent's entity.
func nameOf(agent entity.Tag) string { return string(agent.Kind) + " " + agent.ID }

// signals says how to handle a process that does not respond.
const signals = "kill -CONT resumes it if it is stopped, kill -KILL makes it restart"

// awayHint returns a hint for an agent that is disconnected or does not respond.
func awayHint(e *entity.Explanation, agent entity.Tag, silent bool) string {
	switch {
	case e.Life != entity.Alive && e.Strength != entity.Force:
		return forceHint(e.Name)
	case silent && agent.Kind == entity.KindUnit:
		return fmt.Sprintf("on its machine, ps ax | grep %s finds its process: "+signals, agent)
	case silent:
		return "on the machine, ps ax | grep machine-agent finds its process: " + signals
	}
	return hintFor(entity.Reason{By: agent.String()})
}

// hintFor returns what a user can do about a reason for which others must act: wait, and look.
func hintFor(r entity.Reason) string {
	switch r.By {
	case entity.ByProvisioner, entity.ByCleaner:
		return "it is tried again by itself; to see what fails: juju debug-log --replay --no-tail -m " +
			state.ControllerModel + " -l WARNING"
	}
	tag, err := entity.ParseTag(cmp.Or(r.By, r.Of))
	if err != nil {
		tag, err = entity.ParseTag(r.Of)
	}
	if err == nil && (tag.Kind == entity.KindUnit || tag.Kind == entity.KindMachine) {
		return "wait for it; or see what it does: juju debug-log --replay --no-tail -i " + tag.String()
	}
	return "wait for it; or see what else there is: juju status"
}

// forceHint returns the command that destroys the named entity with force. A relation of a service with itself is
// destroyed with the service.
func forceHint(named string) string {
	kind, name, _ := strings.Cut(named, " ")
	if service, _, ok := strings.Cut(name, ":"); ok && kind == string(entity.KindRelation) &&
		!strings.Contains(name, " ") {
		kind, name = string(entity.KindService), service
	}
	return "juju destroy-" + kind + " --force " + name
}
