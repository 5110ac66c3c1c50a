package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"gopkg.in/mgo.v2/bson"

	"juju/charm"
	"juju/state/entity"
	"juju/state/entity/sshkey"
	"juju/state/internal/modeldb"
	"juju/state/modelconfig"
	"juju/state/mongo"
)

// ParseModelConfig converts a user's settings to their stored form.
func ParseModelConfig(given map[string]string) (map[string]string, error) {
	config, err := modelconfig.Parse(given)
	if err != nil {
		return nil, err
	}
	if series, ok := config[modelconfig.DefaultSeries]; ok && !charm.IsValidSeries(series) {
		return nil, entity.InvalidSeries(series)
	}
	if keys, ok := config[modelconfig.AuthorizedKeys]; ok {
		all, err := sshkey.ParseAll(keys)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", modelconfig.AuthorizedKeys, err)
		}
		config[modelconfig.AuthorizedKeys] = sshkey.Join(all)
	}
	return config, nil
}

// Settings are the settings and constraints of a model as a whole.
type Settings struct{ st *State }

// Settings returns the model's settings.
func (st *State) Settings() Settings { return Settings{st} }

// Config returns all settings of the model, with the source of each value.
func (s Settings) Config(ctx context.Context) (modelconfig.Config, error) {
	doc, err := s.st.db.Model(ctx)
	return doc.Settings(), err
}

// Sequences returns the next number of each sequence by which the model numbers what it has.
func (s Settings) Sequences(ctx context.Context) (map[string]int, error) {
	var docs []struct {
		Name    string `bson:"_id"`
		Counter int    `bson:"counter"`
	}
	err := s.st.db.All(ctx, modeldb.SequenceC, nil, &docs)
	next := map[string]int{}
	for _, d := range docs {
		next[d.Name] = d.Counter
	}
	return next, err
}

// SetConfig changes settings of the model atomically. The values in set are as users write them; the keys in reset are
// reset to their defaults. Settings of a Dying model can be changed too, since they still apply to its activities.
func (s Settings) SetConfig(ctx context.Context, set map[string]string, reset []string) error {
	values, err := ParseModelConfig(set)
	if err != nil {
		return fmt.Errorf("cannot change model config: %w", err)
	}
	for i, key := range reset {
		if key == modelconfig.DefaultBase {
			key = modelconfig.DefaultSeries
			reset = slices.Clone(reset)
			reset[i] = key
		}
		if _, ok := values[key]; ok {
			return entity.Errorf(entity.Invalid, "cannot set and reset key %q simultaneously", key)
		}
	}
	token := uuid.NewString()
	err = s.st.change(ctx, func(o *ops) error {
		doc, err := s.st.db.Model(ctx)
		if err != nil {
			return err
		}
		if doc.Life == entity.Dead {
			return entity.Errorf(entity.NotAlive, "model %q is dead", doc.Name)
		}
		rest, alone := otherProxies(doc.Config, values, reset)
		if err := modelconfig.CheckProxies(values, rest); err != nil {
			return err
		}
		var change bson.D
		var sets, unsets bson.D
		egress := doc.Config[modelconfig.EgressSubnets]
		for _, s := range modelconfig.All {
			was, isSet := doc.Config[s.Key]
			if err := checkFixed(s, doc.Settings()[s.Key].Value, values, reset); err != nil {
				return err
			}
			if value, ok := values[s.Key]; ok && (!isSet || value != was) {
				sets = append(sets, bson.DocElem{Name: "config." + s.Key, Value: value})
			}
			if isSet && slices.Contains(reset, s.Key) {
				unsets = append(unsets, bson.DocElem{Name: "config." + s.Key, Value: 1})
			}
		}
		if len(sets) > 0 {
			change = append(change, bson.DocElem{Name: "$set", Value: sets})
		}
		if len(unsets) > 0 {
			change = append(change, bson.DocElem{Name: "$unset", Value: unsets})
		}
		if len(change) == 0 {
			return mongo.ErrNothing
		}
		if next, ok := values[modelconfig.EgressSubnets]; next != egress &&
			(ok || slices.Contains(reset, modelconfig.EgressSubnets)) {
			id := modeldb.CleanupEgress + "-" + token
			o.Insert(modeldb.CleanupsC, id, modeldb.Cleanup{ID: id, Kind: modeldb.CleanupEgress, Arg: egress})
		}
		// A key is replaced whatever its value was.
		o.Update(modeldb.ModelC, modeldb.ModelC, append(bson.D{{"life", bson.D{{"$ne", entity.Dead}}}}, alone...), change)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot change model config: %w", err)
	}
	return nil
}

// otherProxies returns a model's proxies that do not change, and an assertion of that if another proxy changes, since a
// model can use only one family of proxy settings.
func otherProxies(has, set map[string]string, reset []string) (rest map[string]string, same bson.D) {
	rest = map[string]string{}
	changes := false
	for _, prefix := range []string{"", "juju-"} {
		for _, kind := range modelconfig.ProxyKinds {
			key := prefix + kind + "-proxy"
			if value, ok := set[key]; ok {
				changes = changes || value != ""
			} else if slices.Contains(reset, key) {
				continue
			} else if value, ok := has[key]; ok {
				rest[key] = value
				same = append(same, bson.DocElem{Name: "config." + key, Value: value})
			} else {
				same = append(same, bson.DocElem{Name: "config." + key, Value: bson.D{{"$exists", false}}})
			}
		}
	}
	if !changes {
		same = nil
	}
	return rest, same
}

// checkFixed returns an Invalid error for a change to an immutable setting.
func checkFixed(s modelconfig.Setting, was string, set map[string]string, reset []string) error {
	value, ok := set[s.Key]
	if slices.Contains(reset, s.Key) {
		value, ok = s.Default, true
	}
	if s.Fixed && ok && value != was {
		return entity.Errorf(entity.Invalid, "cannot change %s from %#v to %#v", s.Key, was, value)
	}
	return nil
}

// EditSSHKeys changes the SSH keys of the model's machines to what edit returns. edit is called again after concurrent
// changes.
func (s Settings) EditSSHKeys(ctx context.Context, edit func([]sshkey.Key) ([]sshkey.Key, error)) error {
	return s.st.change(ctx, func(o *ops) error {
		doc, err := s.st.db.Model(ctx)
		if err != nil {
			return err
		}
		if doc.Life == entity.Dead {
			return entity.Errorf(entity.NotAlive, "model %q is dead", doc.Name)
		}
		was, isSet := doc.Config[modelconfig.AuthorizedKeys]
		keys, err := sshkey.ParseAll(was)
		if err != nil {
			return err
		}
		if keys, err = edit(keys); err != nil {
			return err
		}
		text := sshkey.Join(keys)
		if text == was {
			return mongo.ErrNothing
		}
		const field = "config." + modelconfig.AuthorizedKeys
		var same any = bson.D{{"$exists", false}}
		if isSet {
			same = was
		}
		o.Update(modeldb.ModelC, modeldb.ModelC, bson.D{{"life", bson.D{{"$ne", entity.Dead}}}, {field, same}},
			bson.D{{"$set", bson.D{{field, text}}}})
		return nil
	})
}

// Binaries returns the binaries that the model's agents should run; none if they run what the controller had when they
// were started.
func (s Settings) Binaries(ctx context.Context) (entity.Binaries, error) {
	doc, err := s.st.db.Model(ctx)
	return doc.AgentBinaries(), err
}

// SetBinaries changes the binaries that the model's agents should run. The error is entity.Invalid for a downgrade.
func (s Settings) SetBinaries(ctx context.Context, to entity.Binaries) error {
	err := s.st.change(ctx, func(o *ops) error {
		doc, err := s.st.db.Model(ctx)
		if err != nil {
			return err
		}
		was := doc.AgentBinaries()
		asserts := bson.D{{"life", bson.D{{"$ne", entity.Dead}}}}
		switch {
		case doc.Life == entity.Dead:
			return entity.Errorf(entity.NotAlive, "model %q is dead", doc.Name)
		case doc.Binaries != nil && was.Same(to):
			return mongo.ErrNothing
		case doc.Binaries != nil:
			if order, err := entity.CompareVersions(to.Version, was.Version); err != nil {
				return err
			} else if order < 0 {
				return entity.Errorf(entity.Invalid, "its version is %s, and a downgrade is not supported", was.Version)
			}
			asserts = append(asserts, bson.D{{"programs.version", was.Version}, {"programs.sha256", was.SHA256}}...)
		default:
			asserts = append(asserts, bson.DocElem{"programs", bson.D{{"$exists", false}}})
		}
		o.Update(modeldb.ModelC, modeldb.ModelC, asserts, bson.D{{"$set", bson.D{{"programs", modeldb.Binaries{to.Version, to.SHA256}}}}})
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot upgrade model %q to %s: %w", s.st.db.Name, to.Version, err)
	}
	return nil
}
