package wait

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// DestroyFlags are the flags of every destroy command.
type DestroyFlags struct {
	force, lenient, noWait bool
	timeout                time.Duration
	machines               bool // --destroy-machines
	storage                bool // --destroy-storage
}

func (f *DestroyFlags) Add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.lenient, "lenient", false, "skip failed hooks")
	f.AddForce(cmd, "run no more hooks, finish without the agents after --timeout, and wait for completion")
}

// AddForce adds --force, with its help, and the flags that go with it.
func (f *DestroyFlags) AddForce(cmd *cobra.Command, help string) {
	cmd.Flags().BoolVar(&f.force, "force", false, help)
	cmd.Flags().DurationVar(&f.timeout, "timeout", entity.ForceTimeout, "how long --force waits for the agents")
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "with --force, do not wait for the agents, whatever --timeout is")
}

// AddMachines adds the flag --destroy-machines to a command that destroys units.
func (f *DestroyFlags) AddMachines(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.machines, "destroy-machines", false,
		"also destroy the machines created for these units, if nothing is left on them")
}

// AddStorage adds the flag --destroy-storage to a command that destroys units.
func (f *DestroyFlags) AddStorage(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.storage, "destroy-storage", false, "also destroy the units' storage")
}

// NoteStorage prints what happens to storage, in Juju's words.
func NoteStorage(s *cli.Session, info entity.DestroyInfo) {
	for _, id := range info.DestroyedStorage {
		s.Note("- will remove storage %s", id)
	}
	for _, id := range info.DetachedStorage {
		s.Note("- will detach storage %s", id)
	}
}

// NoteLeft lists the machines that are left without units.
func (f *DestroyFlags) NoteLeft(s *cli.Session, command string, left entity.MachinesLeft) {
	ids := slices.Compact(slices.SortedFunc(slices.Values(left.Machines), entity.CompareNatural))
	with := fmt.Sprintf("; next time: juju %s --destroy-machines", command)
	if f.machines {
		with = "" // users added these machines
	}
	switch {
	case len(ids) == 1:
		s.Note("Machine %s is left without units. To destroy it: juju destroy-machine %[1]s%s", ids[0], with)
	case len(ids) > 1:
		s.Note("Machines %s are left without units. To destroy them: juju destroy-machine %s%s", strings.Join(ids, ", "),
			strings.Join(ids, " "), with)
	}
	if left.Uncounted && !f.machines {
		s.Note("Some machines will be left without units. To destroy them too: juju %s --destroy-machines", command)
	}
}

// Read returns the destruction specified by the flags.
func (f *DestroyFlags) Read(cmd *cobra.Command) (entity.Destruction, error) {
	how, err := f.strength(cmd)
	how.Machines, how.Storage = f.machines, f.storage
	return how, err
}

func (f *DestroyFlags) strength(cmd *cobra.Command) (entity.Destruction, error) {
	changed := cmd.Flags().Changed
	switch {
	case f.force && f.lenient:
		return entity.Destruction{}, cli.Usagef("--force and --lenient are mutually exclusive: --force skips all hooks")
	case !f.force && changed("timeout"):
		return entity.Destruction{}, cli.Usagef("--timeout is only used with --force")
	case !f.force && f.noWait:
		return entity.Destruction{}, cli.Usagef("--no-wait without --force not valid")
	case f.timeout < 0:
		return entity.Destruction{}, cli.Usagef("--timeout must not be negative, got %v", f.timeout)
	case f.timeout > entity.MaxTimeout:
		return entity.Destruction{}, cli.Usagef("--timeout must not be more than %v, got %v", entity.MaxTimeout, f.timeout)
	case f.lenient:
		return entity.Destruction{Strength: entity.Lenient}, nil
	case f.noWait: // also with --timeout, which scripts written for Juju give besides
		return entity.Destruction{Strength: entity.Force}, nil
	case f.force:
		return entity.Destruction{Strength: entity.Force, Timeout: f.timeout}, nil
	}
	return entity.Destruction{}, nil
}

// Gone is the condition for a destroy command with --wait.
func Gone(command string, names []string) Condition {
	return Condition{Names: names, Gone: true, command: command}
}

type EndAPI interface {
	ExplainAPI
	watchStatusAPI
}

// CloudTime is how long after the timeout the cloud may take to stop an instance.
const CloudTime = 90 * time.Second

// explainEvery is how often End reads an explanation again while the model's status does not change. An explanation also
// depends on time, agents' workers and units in relations, which the status watch does not cover.
const explainEvery = 5 * time.Second

// End waits, after a destruction with force, until the named entities are removed. It returns an error for what they
// left in the cloud. Names are as for explain.
//
// It waits for the timeout and CloudTime, and for CloudTime again whenever the number of reasons reaches a new minimum,
// because containers are stopped one after another.
func End(ctx context.Context, s *cli.Session, api EndAPI, how entity.Destruction, names ...string) error {
	if how.Strength != entity.Force {
		return nil
	}
	var p *cli.Progress
	defer func() { p.Done() }()
	var left []error
	begin := time.Now()
	end := begin.Add(how.Timeout + CloudTime)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes := WatchChanges(watching, api.WatchStatus, explainEvery)
	for at, name := range names {
		waiting, why, fewest := name, "", -1 // not yet known
		s.WaitsFor("Destruction of %s continues. To check it: juju explain %[1]s", name)
		for {
			bounded, cancel := context.WithDeadline(ctx, end)
			e, err := explained(bounded, api, name)
			late := bounded.Err() != nil
			cancel()
			if errors.Is(err, entity.NotFound) || err == nil && e.Life == entity.Alive {
				break // removed, and the name may have been reused
			}
			if err != nil && !late {
				return err
			}
			if err == nil && e.Life == entity.Gone {
				left = append(left, leftOver(e)...)
				break
			}
			if err == nil {
				waiting, why = name, e.Life.String()
				reasons := len(e.Reasons)
				if reasons > 0 {
					why = e.Reasons[reasons-1].Text
					waiting = name + ": " + why
				}
				if more := time.Now().Add(CloudTime); reasons < fewest && more.After(end) {
					end = more
				}
				if fewest < 0 || reasons < fewest {
					fewest = reasons
				}
			}
			if text, all := "Waiting for "+waiting, awaited(names, at, why); p == nil {
				p = s.Await(text, all)
			} else {
				p.Await(text, all)
			}
			bounded, cancel = context.WithDeadline(ctx, end)
			changes.Next(bounded)
			cancel()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !time.Now().Before(end) {
				return entity.WithHint(fmt.Errorf("gave up after %v: still waiting for %s",
					time.Since(begin).Round(time.Second), waiting),
					"To see why: juju explain %s", name)
			}
		}
	}
	p.Await("", awaited(names, len(names), ""))
	return errors.Join(left...)
}

// awaited says of named entities that those before a number are removed, and why the one there is not.
func awaited(names []string, number int, why string) (all []cli.Awaited) {
	for i, name := range names {
		a := cli.Awaited{Name: name, Done: i < number}
		if a.Done {
			a.Text = "removed"
		} else if i == number {
			a.Text = why
		}
		all = append(all, a)
	}
	return all
}

func explained(ctx context.Context, api ExplainAPI, name string) (entity.Explanation, error) {
	all, _, err := api.Explain(ctx, strings.Fields(name)...)
	if err != nil {
		return entity.Explanation{}, err
	}
	if len(all) != 1 {
		return entity.Explanation{}, entity.Errorf(entity.NotFound, "%q not found", name)
	}
	return all[0], nil
}

// leftOver returns an error for each thing that a forced destruction left in the cloud, which a user must clean up.
func leftOver(e entity.Explanation) (all []error) {
	for _, r := range e.Leftovers {
		err := fmt.Errorf("%s is removed, but %s is left in %s: %s", e.Name, r.What, r.Where, r.Why)
		all = append(all, entity.WithHint(err, "%s", r.How))
	}
	return all
}

type ExplainAPI interface {
	Explain(ctx context.Context, words ...string) (all []entity.Explanation, more int, err error)
}

// CausesOf returns the reasons of an explanation on which someone must act.
func CausesOf(e entity.Explanation) (causes []entity.Reason) {
	for i, r := range e.Reasons {
		if r.By != "" && (i+1 == len(e.Reasons) || e.Reasons[i+1].Depth <= r.Depth) {
			causes = append(causes, r)
		}
	}
	return causes
}
