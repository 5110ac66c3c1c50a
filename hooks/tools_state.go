package hooks

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

// A stateBuffer is what a hook sees of what the charm keeps in the controller, and how the hook has
// changed that.
type stateBuffer struct {
	now  entity.CharmState // as if the buffer were committed; nil until it was read
	size int               // of now, as the limit counts it
	set  entity.CharmState
	drop map[string]bool
}

func newStateBuffer(kept entity.CharmState) stateBuffer {
	b := stateBuffer{now: entity.CharmState{}, set: entity.CharmState{}, drop: map[string]bool{}}
	maps.Copy(b.now, kept)
	for k, v := range b.now {
		b.size += entity.SettingSize(k, v)
	}
	return b
}

// put sets keys, all or none. What the controller would not take is refused at once: at the
// commit the hook is over, and can't say what was wrong.
func (b *stateBuffer) put(values entity.CharmState) error {
	if err := values.Check(); err != nil {
		return err
	}
	size := b.size
	for k, v := range values {
		if old, ok := b.now[k]; ok {
			size -= entity.SettingSize(k, old)
		}
		size += entity.SettingSize(k, v)
	}
	if size > b.size { // what exceeds the limit already may shrink
		if err := entity.LimitCharmState.Check(size); err != nil {
			return err
		}
	}
	b.size = size
	for k, v := range values {
		b.now[k], b.set[k] = v, v
		delete(b.drop, k)
	}
	return nil
}

// remove deletes a key; one that is not there is no error.
func (b *stateBuffer) remove(key string) {
	old, ok := b.now[key]
	if !ok {
		return
	}
	b.size -= entity.SettingSize(key, old)
	delete(b.now, key)
	delete(b.set, key)
	b.drop[key] = true
}

func (b *stateBuffer) addTo(changes *entity.HookChanges) {
	if len(b.set) > 0 {
		changes.CharmState = maps.Clone(b.set)
	}
	changes.DropState = slices.Sorted(maps.Keys(b.drop))
}

// withState calls f with what the charm keeps, after reading it.
func (c *Context) withState(ctx context.Context, f func(*stateBuffer) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.now == nil {
		ctx, cancel := context.WithTimeout(ctx, backendTimeout)
		defer cancel()
		kept, err := c.backend.CharmState(ctx, c.unit)
		if err != nil {
			return fmt.Errorf("cannot read the charm's state: %w", err)
		}
		c.kept = newStateBuffer(kept)
	}
	return f(&c.kept)
}

var stateGetInfo = commandInfo{
	args:    "[<key>|-]",
	purpose: "Print what the charm keeps in the controller for the unit.",
	details: `Print the value of the key or, if the key is - or not given, all of them. A key that
was not set prints nothing; with --strict, that is an error.
`,
	examples: []string{"state-get", "state-get schema --strict"},
	make:     func() command { return &stateGet{} },
}

type stateGet struct {
	out    outputFlags
	strict bool
	key    string
}

func (t *stateGet) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&t.strict, "strict", false, "fail if the key was not set")
	t.out.add(flags)
}

func (t *stateGet) init(_ *Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if len(args) == 0 {
		return nil
	}
	if args[0] != "-" {
		t.key = args[0]
	}
	return checkEmpty(args[1:])
}

func (t *stateGet) run(ctx context.Context, run *toolRun) error {
	var value any
	err := run.hook.withState(ctx, func(b *stateBuffer) error {
		if t.key == "" {
			value = maps.Clone(b.now)
			return nil
		}
		text, ok := b.now[t.key]
		if !ok && t.strict {
			return fmt.Errorf("%q not found", t.key)
		}
		value = text
		return nil
	})
	if err != nil {
		return err
	}
	return t.out.write(run, value)
}

var stateSetInfo = commandInfo{
	args:    "<key>=<value> [<key>=<value> ...]",
	purpose: "Keep something in the controller for the unit.",
	details: `Only this unit's hooks can read it, and it goes with the unit. Arguments override
what is in the file, a YAML map of texts.

It is kept once the hook has succeeded. If the hook fails, nothing is changed. A unit
can keep 2 MiB.
`,
	examples: []string{"state-set schema=3", `echo "user: wp" | state-set --file -`},
	make:     func() command { return &stateSet{} },
}

type stateSet struct {
	file   string
	values map[string]string
}

func (t *stateSet) flags(flags *pflag.FlagSet) {
	flags.StringVar(&t.file, "file", "", "read keys and values from this YAML `file`, or - for the standard input")
}

func (t *stateSet) init(_ *Context, args []string) (err error) {
	t.values, err = keyValues(args)
	return err
}

func (t *stateSet) run(ctx context.Context, run *toolRun) error {
	values, err := settingsFile(run, t.file)
	if err != nil {
		return err
	}
	maps.Copy(values, t.values)
	if len(values) == 0 {
		return nil
	}
	if err := run.hook.withState(ctx, func(b *stateBuffer) error { return b.put(values) }); err != nil {
		return fmt.Errorf("cannot set the charm's state: %w", err)
	}
	return nil
}

var stateDeleteInfo = commandInfo{
	args:    "<key>",
	purpose: "Delete a key of what the charm keeps in the controller.",
	details: `It is deleted once the hook has succeeded. A key that was not set is no error.
`,
	examples: []string{"state-delete schema"},
	make:     func() command { return &stateDelete{} },
}

type stateDelete struct{ key string }

func (t *stateDelete) flags(*pflag.FlagSet) {}

func (t *stateDelete) init(_ *Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no key specified")
	}
	t.key = args[0]
	return checkEmpty(args[1:])
}

func (t *stateDelete) run(ctx context.Context, run *toolRun) error {
	return run.hook.withState(ctx, func(b *stateBuffer) error {
		b.remove(t.key)
		return nil
	})
}
