package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
)

// ModelDefaults returns the settings that new models get unless their creator says otherwise.
func (c *Controller) ModelDefaults(ctx context.Context) (map[string]string, error) {
	var doc controllerDoc
	err := c.db.Get(ctx, controllerC, controllerC, &doc, "controller")
	return doc.Defaults, err
}

// SetModelDefaults changes these settings atomically: the values in set are as users write them, and the keys in reset
// are removed. Models that exist keep what they have.
func (c *Controller) SetModelDefaults(ctx context.Context, set map[string]string, reset []string) error {
	fail := func(err error) error { return fmt.Errorf("cannot change model defaults: %w", err) }
	values, err := state.ParseModelConfig(set)
	if err != nil {
		return fail(err)
	}
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(values)), reset) {
		if key == modelconfig.AuthorizedKeys {
			return fail(entity.WithHint(entity.Errorf(entity.Invalid, "%s can't have a default", key),
				"Each new model gets the keys of the client that creates it. For a model: juju add-ssh-key"))
		}
		if _, ok := values[key]; ok && slices.Contains(reset, key) {
			return fail(entity.Errorf(entity.Invalid, "cannot set and reset key %q simultaneously", key))
		}
	}
	err = c.db.Change(ctx, func(o *mongo.Ops) error {
		var doc controllerDoc
		if err := c.db.Get(ctx, controllerC, controllerC, &doc, "controller"); err != nil {
			return err
		}
		after := maps.Clone(doc.Defaults)
		if after == nil {
			after = map[string]string{}
		}
		maps.Copy(after, values)
		maps.DeleteFunc(after, func(key, _ string) bool { return slices.Contains(reset, key) })
		if maps.Equal(after, doc.Defaults) {
			return mongo.ErrNothing
		}
		if err := modelconfig.CheckProxies(after, nil); err != nil {
			return err
		}
		o.Update(controllerC, controllerC, mongo.Unadvanced("defaultsversion", doc.DefaultsVersion),
			bson.D{{"$set", bson.D{{"defaults", after}, {"defaultsversion", doc.DefaultsVersion + 1}}}})
		return nil
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

// withDefaults returns the settings of a new model: the given ones, and the defaults.
func (c *Controller) withDefaults(ctx context.Context, given map[string]string) (map[string]string, error) {
	defaults, err := c.ModelDefaults(ctx)
	if err != nil || len(defaults) == 0 {
		return given, err
	}
	config := maps.Clone(defaults)
	maps.Copy(config, given)
	return config, modelconfig.CheckProxies(config, nil)
}
