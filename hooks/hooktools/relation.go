package hooktools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"juju/charm/safeyaml"
	"juju/state/entity"
)

// relationFlag is the flag that names the relation.
type relationFlag struct {
	value string
	id    int
}

func (r *relationFlag) add(flags *pflag.FlagSet) {
	flags.StringVarP(&r.value, "relation", "r", "",
		"the `relation`, as name:id or id; in a relation hook, by default the hook's")
}

// resolve finds the relation, which must be one that the unit is in.
func (r *relationFlag) resolve(hook Context) error {
	if r.value == "" {
		id, ok := hook.HookRelation()
		if !ok {
			return entity.WithHint(errors.New("no relation id specified"),
				"outside relation hooks, name one of relation-ids with -r")
		}
		r.id = id
		return nil
	}
	name, number, named := strings.Cut(r.value, ":")
	if !named {
		name, number = "", r.value
	}
	id, err := strconv.Atoi(number)
	if err != nil {
		return &optionError{"relation", r.value, "invalid relation id"}
	}
	if is, ok := hook.RelationName(id); !ok || named && is != name {
		return &optionError{"relation", r.value, "relation not found"}
	}
	r.id = id
	return nil
}

var relationGetInfo = commandInfo{
	args:    "[<key>|-] [<unit>]",
	purpose: "Print the settings of a unit in a relation.",
	details: `Print the value that the unit has set for the key or, if the key is - or not
given, all its settings. In a hook about a remote unit, that is the default unit.
A key that is not set prints nothing; that is no error.

With --app, print what the leader of a service has set for all of it: by default of
the service at the other end, which is the default also in a relation hook that is
about no unit. The settings of the unit's own service are for its leader only.

The settings of the hook's own unit and service include what the hook has set so
far.
`,
	examples: []string{"relation-get host", "relation-get - mysql/0", "relation-get --app - mysql",
		"relation-get -r db:7 host mysql/0"},
	make: func() command { return &relationGet{} },
}

type relationGet struct {
	relation relationFlag
	out      outputFlags
	app      bool
	key      string
	of       string // a unit, or a service with app
}

func (t *relationGet) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.app, "app", false, "get the settings of the service, not of a unit")
	t.relation.add(flags)
	t.out.add(flags)
}

func (t *relationGet) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if err := t.relation.resolve(hook); err != nil {
		return err
	}
	if len(args) > 0 {
		if args[0] != "-" {
			t.key = args[0]
		}
		args = args[1:]
	}
	if len(args) > 0 {
		t.of, args = args[0], args[1:]
		if err := t.check(); err != nil {
			return err
		}
		return checkEmpty(args)
	}
	if t.of = hook.RemoteUnit(); t.of == "" || t.app {
		t.app, t.of = true, ""
		if id, ok := hook.HookRelation(); ok {
			t.of = hook.RelationService(id)
		}
	}
	if t.of == "" {
		return errors.New("no unit or application specified")
	}
	return nil
}

// check checks the unit or service that the arguments name.
func (t *relationGet) check() error {
	switch {
	case t.app && entity.IsValidUnit(t.of):
		t.of = entity.UnitService(t.of)
	case t.app && !entity.IsValidService(t.of):
		return fmt.Errorf("invalid application name %q", t.of)
	case t.app:
	case entity.IsValidService(t.of):
		return fmt.Errorf("expected unit name, got application name %q", t.of)
	case !entity.IsValidUnit(t.of):
		return entity.InvalidUnit(t.of)
	}
	return nil
}

func (t *relationGet) run(ctx context.Context, run *toolRun) error {
	settings, err := run.hook.RelationSettings(ctx, t.relation.id, t.of)
	if err != nil {
		return err
	}
	if t.key == "" {
		return t.out.write(run, settings)
	}
	if value, ok := settings[t.key]; ok {
		return t.out.write(run, value)
	}
	return t.out.write(run, nil)
}

var relationSetInfo = commandInfo{
	args:    "<key>=<value> [<key>=<value> ...]",
	purpose: "Set the settings of the hook's unit in a relation.",
	details: `An empty value deletes the key. Arguments override the settings in the file, a
YAML map.

With --app, set something for the whole service. Only its leader can do this. If it
is replaced before the hook ends, the hook fails.

The other units see the changes once the hook has succeeded. If the hook fails,
nothing is changed.
`,
	examples: []string{"relation-set host=10.0.0.7 port=3306", "relation-set --app name=blog",
		"relation-set -r db:7 user=",
		`echo "user: wp" | relation-set --file -`},
	make: func() command { return &relationSet{} },
}

type relationSet struct {
	relation relationFlag
	app      bool
	file     string
	settings map[string]string
}

func (t *relationSet) flags(flags *pflag.FlagSet) {
	t.relation.add(flags)
	flags.BoolVar(&t.app, "app", false, "set the settings of the service, not of the unit; only its leader can")
	flags.StringVar(&t.file, "file", "", "read settings from this YAML `file`, or - for the standard input")
	addIgnoredFormat(flags)
}

func (t *relationSet) init(hook Context, args []string) error {
	if err := t.relation.resolve(hook); err != nil {
		return err
	}
	var err error
	t.settings, err = keyValues(args)
	return err
}

// keyValues parses arguments such as "user=wp" and "password=".
func keyValues(args []string) (map[string]string, error) {
	settings := make(map[string]string, len(args))
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf(`expected "key=value", got %q`, arg)
		}
		if _, ok := settings[key]; ok {
			return nil, fmt.Errorf("key %q specified more than once", key)
		}
		settings[key] = value
	}
	return settings, nil
}

// settingsFile reads the YAML map of texts that --file names; "" is an empty one.
func settingsFile(run *toolRun, file string) (map[string]string, error) {
	settings := map[string]string{}
	if file == "" {
		return settings, nil
	}
	name := file
	if name == "-" {
		name = "standard input"
	}
	data, err := run.read(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read settings: %w", err)
	}
	if err := safeyaml.Unmarshal(data, &settings, safeyaml.Hook); err != nil {
		return nil, fmt.Errorf("cannot read settings: %s: %w", name, err)
	}
	for key := range settings {
		if key == "" || strings.ContainsRune(key, 0) {
			return nil, fmt.Errorf("cannot read settings: %s: invalid key %q", name, key)
		}
	}
	if settings == nil { // the document was "null"
		settings = map[string]string{}
	}
	return settings, nil
}

func (t *relationSet) run(ctx context.Context, run *toolRun) error {
	settings, err := settingsFile(run, t.file)
	if err != nil {
		return err
	}
	maps.Copy(settings, t.settings)
	if t.app {
		return run.hook.SetServiceRelationSettings(ctx, t.relation.id, settings)
	}
	return run.hook.SetRelationSettings(t.relation.id, settings)
}

var relationIDsInfo = commandInfo{
	args:    "[<endpoint>]",
	purpose: "List the ids of the relations of one of the charm's endpoints.",
	details: `In a relation hook, the default endpoint is that of the hook's relation. The list
is empty if the endpoint has no relations, or the charm does not have it.
`,
	examples: []string{"relation-ids", "relation-ids db"},
	make:     func() command { return &relationIDs{} },
}

type relationIDs struct {
	out      outputFlags
	endpoint string
}

func (t *relationIDs) flags(flags *pflag.FlagSet) { t.out.add(flags) }

func (t *relationIDs) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if id, ok := hook.HookRelation(); ok {
		t.endpoint, _ = hook.RelationName(id)
	}
	if len(args) > 0 {
		t.endpoint, args = args[0], args[1:]
	}
	if t.endpoint == "" {
		return errors.New("no endpoint name specified")
	}
	return checkEmpty(args)
}

func (t *relationIDs) run(ctx context.Context, run *toolRun) error {
	return t.out.write(run, run.hook.RelationIDs(t.endpoint))
}

var relationListInfo = commandInfo{
	purpose: "List the remote units in a relation.",
	details: `A unit is listed from its relation-joined hook on, but no longer in its
relation-departed hook. With --app, print the service at the other end instead.
`,
	examples: []string{"relation-list", "relation-list --app", "relation-list -r db:7 --format json"},
	make:     func() command { return &relationList{} },
}

type relationList struct {
	relation relationFlag
	app      bool
	out      outputFlags
}

func (t *relationList) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.app, "app", false, "print the service at the other end")
	t.relation.add(flags)
	t.out.add(flags)
}

func (t *relationList) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if err := t.relation.resolve(hook); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *relationList) run(ctx context.Context, run *toolRun) error {
	if t.app {
		return t.out.write(run, run.hook.RelationService(t.relation.id))
	}
	return t.out.write(run, append([]string{}, run.hook.RelationMembers(t.relation.id)...))
}
