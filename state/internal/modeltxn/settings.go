package modeltxn

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/limits"
)

// Settings reads the settings of a key, with their keys unescaped.
func (db *DB) Settings(ctx context.Context, key string) (modeldb.Settings, error) {
	var doc modeldb.Settings
	err := db.Get(ctx, modeldb.SettingsC, key, &doc, fmt.Sprintf("settings %q", key))
	doc.Settings = modeldb.UnescapeKeys(doc.Settings)
	return doc, err
}

// SettingsIn reads the settings of the units and services in a relation.
func (db *DB) SettingsIn(ctx context.Context, relation int) (docs []modeldb.Settings, err error) {
	err = db.All(ctx, modeldb.SettingsC, bson.D{{"relation", relation}}, &docs)
	for i := range docs {
		docs[i].Settings = modeldb.UnescapeKeys(docs[i].Settings)
	}
	return docs, err
}

// SettingsAtOnce is how many settings of units, each up to its limit, are read at once where there may be thousands.
const SettingsAtOnce = 64

// SettingsOf reads the settings of some units and services in a relation, by name. Those without settings are missing.
func (db *DB) SettingsOf(ctx context.Context, relation int, names ...string) (map[string]map[string]string, error) {
	keys, all := make([]string, len(names)), map[string]map[string]string{}
	byKey := map[string]string{}
	for i, name := range names {
		keys[i] = modeldb.RelationSettingsKey(relation, name)
		byKey[keys[i]] = name
	}
	var docs []modeldb.Settings
	err := db.All(ctx, modeldb.SettingsC, bson.D{{"_id", bson.D{{"$in", keys}}}}, &docs)
	for _, d := range docs {
		d.Settings = modeldb.UnescapeKeys(d.Settings)
		all[byKey[d.ID]] = d.Texts()
	}
	return all, err
}

// PutSettings merges changes into settings as ChangeSettings does, or, if there are none, inserts begin with
// the changes. It reports whether any value changes.
func (db *DB) PutSettings(ctx context.Context, o *Ops, begin modeldb.Settings,
	changes map[string]any) (changed bool, err error) {
	before := o.Len()
	doc, err := db.Settings(ctx, begin.ID)
	if entity.IsNotFound(err) {
		doc, err = begin, nil
		doc.Absent = true
	}
	if err == nil {
		err = o.ChangeSettings(doc, changes)
	}
	return o.Len() > before, err
}

// EmptyDeletes returns changes of settings in which an empty value deletes its key.
func EmptyDeletes(values map[string]string) map[string]any {
	changes := make(map[string]any, len(values))
	for k, v := range values {
		if changes[k] = v; v == "" {
			changes[k] = nil
		}
	}
	return changes
}

// ChangeSettings adds the operation that merges changes into settings that were just read, or inserts absent
// ones; a nil value deletes its key. It asserts the version, and adds nothing if no value changes. The error
// is entity.Invalid for names that can't be stored and for settings that exceed the limit.
func (o *Ops) ChangeSettings(doc modeldb.Settings, changes map[string]any) error {
	set, unset := bson.M{}, bson.M{}
	after := map[string]any{}
	maps.Copy(after, doc.Settings)
	maps.Copy(after, changes)
	for k := range changes {
		if err := limits.CheckSettingsKey(k); err != nil {
			return err
		}
	}
	// Settings that exceed the limit may still shrink.
	if size := SettingsSize(after); size > SettingsSize(doc.Settings) {
		if err := doc.Limit().Check(size); err != nil {
			return err
		}
	}
	for k, v := range changes {
		was, had := doc.Settings[k]
		field := "settings." + modeldb.EscapeKey(k)
		switch {
		case v == nil && had:
			unset[field] = 1
		case v != nil && (!had || !reflect.DeepEqual(was, v)):
			set[field] = v
		}
	}
	if len(set)+len(unset) == 0 {
		return nil
	}
	if doc.Absent {
		maps.DeleteFunc(after, func(_ string, v any) bool { return v == nil })
		doc.Settings, doc.Version = modeldb.EscapeKeys(after), 1
		o.Insert(modeldb.SettingsC, doc.ID, doc)
		return nil
	}
	update := bson.D{{"$inc", bson.D{{"version", 1}}}}
	if len(set) > 0 {
		update = append(update, bson.DocElem{Name: "$set", Value: set})
	}
	if len(unset) > 0 {
		update = append(update, bson.DocElem{Name: "$unset", Value: unset})
	}
	o.Update(modeldb.SettingsC, doc.ID, bson.D{{"version", doc.Version}}, update)
	return nil
}

// SettingsSize returns the size that counts towards the limit.
func SettingsSize(settings map[string]any) (size int) {
	for k, v := range settings {
		if v == nil {
			continue // deleted
		}
		text, _ := v.(string)
		size += limits.SettingSize(k, text)
	}
	return size
}
