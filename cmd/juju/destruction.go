package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/state/entity"
)

// destroyFlags are the flags of every command that destroys something.
type destroyFlags struct {
	force, lenient, noWait bool
	timeout                time.Duration
	machines               bool // of units and services
}

func (f *destroyFlags) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.lenient, "lenient", false, "skip failed hooks")
	cmd.Flags().BoolVar(&f.force, "force", false,
		"run no more hooks, finish without the agents after --timeout, and wait until it is done")
	cmd.Flags().DurationVar(&f.timeout, "timeout", entity.ForceTimeout, "how long --force waits for the agents")
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "with --force, do not wait for the agents, as --timeout 0")
}

// machinesFlag gives a command that destroys units the flag that destroys machines too.
func (f *destroyFlags) machinesFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.machines, "destroy-machines", false, "also destroy the machines created for these units, if nothing is left on them")
}

// tellLeft names the machines that stay with nothing on them.
func (f *destroyFlags) tellLeft(s *session, command string, left entity.MachinesLeft) {
	ids := slices.Compact(slices.SortedFunc(slices.Values(left.Machines), entity.CompareNatural))
	with := fmt.Sprintf("; next time: juju %s --destroy-machines", command)
	if f.machines {
		with = "" // a user has added them
	}
	switch {
	case len(ids) == 1:
		s.note("Machine %s is left without units. To destroy it: juju destroy-machine %[1]s%s", ids[0], with)
	case len(ids) > 1:
		s.note("Machines %s are left without units. To destroy them: juju destroy-machine %s%s", strings.Join(ids, ", "), strings.Join(ids, " "), with)
	}
	if left.Uncounted && !f.machines {
		s.note("Some machines will be left without units. To destroy them too: juju %s --destroy-machines", command)
	}
}

// read returns what the flags come to.
func (f *destroyFlags) read(cmd *cobra.Command) (entity.Destruction, error) {
	how, err := f.strength(cmd)
	how.Machines = f.machines
	return how, err
}

func (f *destroyFlags) strength(cmd *cobra.Command) (entity.Destruction, error) {
	changed := cmd.Flags().Changed
	switch {
	case f.force && f.lenient:
		return entity.Destruction{}, usagef("--force and --lenient are mutually exclusive: --force skips all hooks")
	case !f.force && changed("timeout"):
		return entity.Destruction{}, usagef("--timeout is only used with --force")
	case !f.force && f.noWait:
		return entity.Destruction{}, usagef("--no-wait without --force not valid")
	case f.noWait && changed("timeout"):
		return entity.Destruction{}, usagef("--no-wait and --timeout are mutually exclusive")
	case f.timeout < 0:
		return entity.Destruction{}, usagef("--timeout must not be negative, got %v", f.timeout)
	case f.timeout > entity.MostTimeout:
		return entity.Destruction{}, usagef("--timeout must not be more than %v, got %v", entity.MostTimeout, f.timeout)
	case f.lenient:
		return entity.Destruction{Strength: entity.Lenient}, nil
	case f.noWait:
		return entity.Destruction{Strength: entity.Force}, nil
	case f.force:
		return entity.Destruction{Strength: entity.Force, Timeout: f.timeout}, nil
	}
	return entity.Destruction{}, nil
}

// gone is the end that a destruction by a command waits for.
func gone(command string, names []string) until {
	return until{names: names, gone: true, command: command}
}

// cloudTime is how long a cloud may take, after the timeout, to stop an instance,
// and what else may take a moment.
const cloudTime = 90 * time.Second

// explainAgain is how long an explanation is relied on while the model's status does not
// change. It also rests on the time, on what agents say of their workers, and on the
// members of relations, which the watch of the status does not cover.
const explainAgain = 5 * time.Second

// end waits, of a destruction with force, until what the names mean is gone, and
// says what is left of it outside of the controller's reach. Other destructions
// are not waited for. Each name is as explain takes it. It waits for the timeout and the
// cloud's time, and the cloud's again whenever fewer things bar an end than ever, for
// containers are stopped one after another.
func (s *session) end(ctx context.Context, api interface {
	explainAPI
	watchStatusAPI
}, how entity.Destruction, names ...string) error {
	if how.Strength != entity.Force {
		return nil
	}
	var p *progress
	defer func() { p.done() }()
	var left []error
	begin := time.Now()
	end := begin.Add(how.Timeout + cloudTime)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes := watchChanges(watching, api, explainAgain)
	for _, name := range names {
		waiting, fewest := name, -1 // not known yet
		for {
			bounded, cancel := context.WithDeadline(ctx, end)
			e, err := explained(bounded, api, name)
			late := bounded.Err() != nil
			cancel()
			if errors.Is(err, entity.NotFound) || err == nil && e.Life == entity.Alive {
				break // another has taken the name, if there is one
			}
			if err != nil && !late {
				return err
			}
			if err == nil && e.Life == entity.Gone {
				left = append(left, leftOver(e)...)
				break
			}
			if err == nil {
				waiting = name
				bars := len(e.Reasons)
				if bars > 0 {
					waiting = e.Reasons[bars-1].Text
				}
				if more := time.Now().Add(cloudTime); bars < fewest && more.After(end) {
					end = more
				}
				if fewest < 0 || bars < fewest {
					fewest = bars
				}
			}
			if p == nil {
				p = s.progress("Waiting for %s", waiting)
			} else {
				p.say("Waiting for %s", waiting)
			}
			bounded, cancel = context.WithDeadline(ctx, end)
			changes.next(bounded)
			cancel()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !time.Now().Before(end) {
				return entity.WithHint(fmt.Errorf("gave up after %v: still waiting for %s", time.Since(begin).Round(time.Second), waiting),
					"To see why: juju explain %s", name)
			}
		}
	}
	return errors.Join(left...)
}

func explained(ctx context.Context, api explainAPI, name string) (entity.Explanation, error) {
	all, _, err := api.Explain(ctx, strings.Fields(name)...)
	if err != nil {
		return entity.Explanation{}, err
	}
	if len(all) != 1 {
		return entity.Explanation{}, entity.Errorf(entity.NotFound, "%q not found", name)
	}
	return all[0], nil
}

// leftOver makes errors of what a destruction has left behind: somebody has to
// look after it.
func leftOver(e entity.Explanation) (all []error) {
	for _, r := range e.Leftovers {
		all = append(all, entity.WithHint(fmt.Errorf("%s is gone, but %s is left in %s: %s", e.Name, r.What, r.Where, r.Why), "%s", r.How))
	}
	return all
}
