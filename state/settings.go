package state

import (
	"fmt"
	"maps"
	"reflect"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// A settingsDoc is a map that users or charms write. Version grows with each change of a
// value and with nothing else, so writing the same values wakes no watch.
type settingsDoc struct {
	ID       string `bson:"_id"`
	Relation *int   `bson:"relation,omitempty"` // the relation's number, for the deletion of all of its settings
	// Container is the principal whose scope of a container relation the settings are
	// in.
	Container string         `bson:"container,omitempty"`
	Settings  map[string]any `bson:"settings"`
	Version   int64          `bson:"version"`
	absent    bool           // it is to be inserted
}

func (st *State) settings(key string) (settingsDoc, error) {
	var doc settingsDoc
	err := st.db.Get(settingsC, key, &doc, fmt.Sprintf("settings %q", key))
	doc.Settings = unescapeKeys(doc.Settings)
	return doc, err
}

// texts returns settings whose values are all texts.
func (d settingsDoc) texts() map[string]string {
	texts := make(map[string]string, len(d.Settings))
	for k, v := range d.Settings {
		texts[k], _ = v.(string)
	}
	return texts
}

// limit bounds the settings, well below the store's own limit. A transaction that the
// store refuses to apply would never finish, and block every other on its documents.
func (d settingsDoc) limit() entity.Limit {
	switch kind, _ := lifecycle.ParseKey(d.ID); kind {
	case lifecycle.Relation:
		return entity.LimitRelationSettings
	case lifecycle.Principal: // also of subordinates
		return entity.LimitCharmState
	}
	return entity.LimitServiceSettings
}

// putSettings merges changes into settings as changeSettings does; if there are none, it inserts
// begin with the changes. It reports whether any value changes.
func (st *State) putSettings(o *ops, begin settingsDoc, changes map[string]any) (changed bool, err error) {
	before := o.Len()
	doc, err := st.settings(begin.ID)
	if entity.IsNotFound(err) {
		doc, err = begin, nil
		doc.absent = true
	}
	if err == nil {
		err = o.changeSettings(doc, changes)
	}
	return o.Len() > before, err
}

// emptyDeletes returns changes of settings in which an empty value deletes its key.
func emptyDeletes(values map[string]string) map[string]any {
	changes := make(map[string]any, len(values))
	for k, v := range values {
		if changes[k] = v; v == "" {
			changes[k] = nil
		}
	}
	return changes
}

// changeSettings adds the operation that merges changes into settings that were just
// read, or inserts those that are absent; a nil value deletes its key. It asserts the version, and
// adds nothing if no value changes. The error is entity.Invalid for names that can't be stored, and beyond the
// limit.
func (o *ops) changeSettings(doc settingsDoc, changes map[string]any) error {
	set, unset := bson.M{}, bson.M{}
	after := map[string]any{}
	maps.Copy(after, doc.Settings)
	maps.Copy(after, changes)
	for k := range changes {
		if err := entity.CheckSettingsKey(k); err != nil {
			return err
		}
	}
	// What exceeds the limit already may shrink.
	if size := settingsSize(after); size > settingsSize(doc.Settings) {
		if err := doc.limit().Check(size); err != nil {
			return err
		}
	}
	for k, v := range changes {
		was, had := doc.Settings[k]
		field := "settings." + escapeKey(k)
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
	if doc.absent {
		maps.DeleteFunc(after, func(_ string, v any) bool { return v == nil })
		doc.Settings, doc.Version = escapeKeys(after), 1
		o.Insert(settingsC, doc.ID, doc)
		return nil
	}
	update := bson.D{{"$inc", bson.D{{"version", 1}}}}
	if len(set) > 0 {
		update = append(update, bson.DocElem{Name: "$set", Value: set})
	}
	if len(unset) > 0 {
		update = append(update, bson.DocElem{Name: "$unset", Value: unset})
	}
	o.Update(settingsC, doc.ID, bson.D{{"version", doc.Version}}, update)
	return nil
}

// settingsSize returns the size that counts towards the limit.
func settingsSize(settings map[string]any) (size int) {
	for k, v := range settings {
		if v == nil {
			continue // deleted
		}
		text, _ := v.(string)
		size += entity.SettingSize(k, text)
	}
	return size
}
