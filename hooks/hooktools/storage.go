package hooktools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"

	"juju/state/entity"
)

var storageListInfo = commandInfo{
	args:    "[<storage-name>]",
	purpose: "List the storage that is attached to the unit.",
	details: `With a name, list only the instances of this store of the charm's. The ids can be
given to storage-get.
`,
	examples: []string{"storage-list", "storage-list data --format json"},
	make:     func() command { return &storageList{} },
}

type storageList struct {
	out   outputFlags
	store string
}

func (t *storageList) flags(flags *pflag.FlagSet) { t.out.add(flags) }

func (t *storageList) init(_ Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if len(args) > 0 {
		t.store, args = args[0], args[1:]
	}
	return checkEmpty(args)
}

func (t *storageList) run(_ context.Context, run *toolRun) error {
	ids := []string{}
	for id := range run.hook.AttachedStorage() {
		if t.store == "" || entity.StoreOf(id) == t.store {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, entity.CompareNatural)
	return t.out.write(run, ids)
}

var storageGetInfo = commandInfo{
	args:    "[<key>]",
	purpose: "Print information about a storage instance.",
	details: `The keys are kind, location and size. Without a key, print all of them. The instance
is the one that -s names, else the one that the hook is about.
`,
	examples: []string{"storage-get -s data/0 location", "storage-get -s data/0 --format yaml"},
	make:     func() command { return &storageGet{} },
}

// storageFlag is the option that names a storage instance. As in Juju it has no longer name, and its
// default, which --help prints, is the instance that the hook is about.
const storageFlag = "s"

type storageGet struct {
	out outputFlags
	id  string
	key string
}

func (t *storageGet) flags(flags *pflag.FlagSet) {
	flags.StringVarP(&t.id, storageFlag, storageFlag, "", "the `id` of the instance")
	t.out.add(flags)
}

func (t *storageGet) init(hook Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	if t.id == "" {
		t.id = hook.HookStorage()
	}
	switch {
	case t.id == "":
		return errors.New("no storage instance specified")
	case !entity.IsValidStorage(t.id):
		return fmt.Errorf("invalid storage ID %q", t.id)
	}
	if len(args) > 0 {
		t.key, args = args[0], args[1:]
	}
	return checkEmpty(args)
}

func (t *storageGet) run(_ context.Context, run *toolRun) error {
	s, ok := run.hook.AttachedStorage()[t.id]
	if !ok {
		return entity.Errorf(entity.NotFound, "storage %q not found", t.id)
	}
	values := map[string]any{"kind": entity.StorageKind, "location": s.Location, "size": s.Size}
	if t.key == "" {
		return t.out.write(run, values)
	}
	value, ok := values[t.key]
	if !ok {
		return fmt.Errorf("invalid storage attribute %q", t.key)
	}
	return t.out.write(run, value)
}

var storageAddInfo = commandInfo{
	args:    "<storage-name>[=<count>] ...",
	purpose: "Ask for more storage instances.",
	details: `They are added once the hook has succeeded, with the pool and size that the service
was deployed with. The unit then runs the hook <storage-name>-storage-attached for
each.
`,
	examples: []string{"storage-add data", "storage-add data=2 cache"},
	make:     func() command { return &storageAdd{} },
}

type storageAdd struct{ counts map[string]uint64 }

func (t *storageAdd) flags(flags *pflag.FlagSet) { addIgnoredFormat(flags) }

func (t *storageAdd) init(_ Context, args []string) error {
	if len(args) == 0 {
		return errors.New("storage add requires a storage directive")
	}
	all, err := entity.ParseStorage(args, false)
	if err != nil {
		return err
	}
	t.counts = map[string]uint64{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		if c.Size > 0 || c.Pool != "" {
			return fmt.Errorf("only count can be specified for %q", name)
		}
		t.counts[name] = c.Count
	}
	return nil
}

func (t *storageAdd) run(_ context.Context, run *toolRun) error { return run.hook.AddStorage(t.counts) }
