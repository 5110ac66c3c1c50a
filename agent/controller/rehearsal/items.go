package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"juju/state"
	"juju/state/entity"
)

// An item is something of a model that has no life: only users add, change or remove it.
type item struct {
	about string // for those that are added
	what  string // may change
	now   string // what that is
}

// itemKinds are the kinds of items, in the order in which plans have them.
var itemKinds = []string{"space", "storage-pool", "disabled-command", "task", "secret"}

// commandSets are what users call the blocks of a model.
var commandSets = map[entity.BlockType]string{
	entity.BlockDestroy: "destroy-model", entity.BlockRemove: "remove-object", entity.BlockChange: "all"}

// items reads a model's items, by kind and name.
func items(ctx context.Context, st *state.State) (map[string]map[string]item, error) {
	all := map[string]map[string]item{}
	for _, kind := range itemKinds {
		all[kind] = map[string]item{}
	}
	spaces, err := st.Settings().Networks().Spaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range spaces {
		var cidrs []string
		for _, subnet := range s.Subnets {
			cidrs = append(cidrs, subnet.CIDR)
		}
		subnets := cmp.Or(strings.Join(slices.Sorted(slices.Values(cidrs)), " "), "none")
		all["space"][s.Name] = item{about: "subnets " + subnets, what: "subnets", now: subnets}
	}
	pools, err := st.Pools().All(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pools {
		var attributes []string
		for _, key := range slices.Sorted(maps.Keys(p.Attributes)) {
			attributes = append(attributes, key+"="+p.Attributes[key])
		}
		text := strings.Join(attributes, " ")
		all["storage-pool"][p.Name] = item{about: strings.TrimSpace("provider " + p.Provider + " " + text), what: "attributes",
			now: cmp.Or(text, "none")}
	}
	blocks, err := st.Blocks().All(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range blocks {
		all["disabled-command"][commandSets[b.Type]] = item{about: b.Message, what: "message", now: b.Message}
	}
	operations, _, err := st.Tasks().Operations(ctx, func(entity.Operation) bool { return true }, 0)
	if err != nil {
		return nil, err
	}
	for _, o := range operations {
		for _, t := range o.Tasks {
			what := "action " + t.Name
			if t.Name == entity.CommandTask {
				what = "a command"
			}
			on := entity.ReceiverTag(t.Receiver)
			all["task"][t.ID] = item{about: fmt.Sprintf("%s on %s %s", what, on.Kind, on.ID), what: "status", now: string(t.Status)}
		}
	}
	secrets, err := st.Secrets().List(ctx, state.SecretFilter{}, true)
	if err != nil {
		return nil, err
	}
	for _, s := range secrets {
		owner := "the model"
		if s.Owner.Kind != entity.KindModel {
			owner = s.Owner.ID
		}
		all["secret"][s.ID] = item{about: strings.TrimSpace("of " + owner + " " + s.Label), what: "access",
			now: cmp.Or(strings.Join(s.Readers(), " "), "none")}
	}
	return all, nil
}

// ofItems returns what has changed in the items since another view.
func (v *view) ofItems(was *view) (changes []entity.PlannedChange) {
	for _, kind := range itemKinds {
		changes = append(changes, differences(kind, was.items[kind], v.items[kind], func(i item) string { return i.about },
			func(a, b item) []string { return change(a.what, a.now, b.now) })...)
	}
	return changes
}
