package hooktools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

var goalStateInfo = commandInfo{
	purpose: "Print the expected units and relations.",
	details: `Print the units of the unit's service and, for each of its endpoints, the services
and units at the other ends, with their statuses, including those that have not joined
yet. A unit that is being removed is dying. A relation is joined, suspended, or broken if
it is being removed. A service of another model has the URL of its offer for a name; who
uses an offer is not listed.
`,
	examples: []string{"goal-state", "goal-state --format json"},
	make:     func() command { return &goalState{} },
}

type goalState struct{ out outputFlags }

func (t *goalState) flags(flags *pflag.FlagSet) {
	flags.StringVar(&t.out.format, "format", "yaml", "print in this `format`: json or yaml")
	flags.StringVarP(&t.out.file, "output", "o", "", "write to this `file` instead of the standard output")
}

func (t *goalState) init(hook Context, args []string) error {
	if t.out.format == "smart" {
		return &optionError{"format", t.out.format, fmt.Sprintf("unknown format %q", t.out.format)}
	}
	if err := t.out.check(); err != nil {
		return err
	}
	return checkEmpty(args)
}

// A shownGoal is an entity.GoalStatus as charms know it.
type shownGoal struct {
	Status string `json:"status" yaml:"status"`
	Since  string `json:"since,omitempty" yaml:"since,omitempty"`
}

func (t *goalState) run(ctx context.Context, run *toolRun) error {
	goal, err := run.hook.GoalState(ctx)
	if err != nil {
		return err
	}
	shown := func(goals map[string]entity.GoalStatus) map[string]shownGoal {
		all := map[string]shownGoal{}
		for name, g := range goals {
			s := shownGoal{Status: g.Status}
			if !g.Since.IsZero() {
				s.Since = g.Since.UTC().Format(time.DateTime) + "Z"
			}
			all[name] = s
		}
		return all
	}
	relations := map[string]map[string]shownGoal{}
	for endpoint, goals := range goal.Relations {
		relations[endpoint] = shown(goals)
	}
	return t.out.write(run, map[string]any{"units": shown(goal.Units), "relations": relations})
}

var credentialGetInfo = commandInfo{
	purpose: "Print the credential of the cloud.",
	details: `Print how to use the cloud: its type, endpoint and credential. It fails unless a user
trusts the service: juju trust SERVICE. On the cloud local, and on an LXD that is
reached by a socket, no credential is needed, and its auth-type is "empty".
`,
	examples: []string{"credential-get", "credential-get --format json"},
	make:     func() command { return &credentialGet{} },
}

type credentialGet struct{ out outputFlags }

func (t *credentialGet) flags(flags *pflag.FlagSet) { t.out.add(flags) }

func (t *credentialGet) init(_ Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *credentialGet) run(ctx context.Context, run *toolRun) error {
	spec, err := run.hook.CloudSpec(ctx)
	if errors.Is(err, entity.Unauthorized) {
		return entity.WithHint(errors.New("cannot access cloud credentials: permission denied"),
			"the service is not trusted with them; a user can trust it: juju trust %s", entity.UnitService(run.hook.UnitName()))
	}
	if err != nil {
		return fmt.Errorf("cannot access cloud credentials: %w", err)
	}
	return t.out.write(run, spec)
}

var relationModelGetInfo = commandInfo{
	purpose: "Print the model that the other service of a relation is in.",
	details: `Print the UUID of the model. In a relation hook, the relation is that hook's unless
another is given.
`,
	examples: []string{"relation-model-get", "relation-model-get -r db:0"},
	make:     func() command { return &relationModelGet{} },
}

type relationModelGet struct {
	relation relationFlag
	out      outputFlags
}

func (t *relationModelGet) flags(flags *pflag.FlagSet) {
	t.relation.add(flags)
	t.out.add(flags)
}

func (t *relationModelGet) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if err := t.relation.resolve(hook); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *relationModelGet) run(_ context.Context, run *toolRun) error {
	return t.out.write(run, map[string]string{"uuid": run.hook.RelationModel(t.relation.id)})
}
