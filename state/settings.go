package state

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// A settingsDoc is a map that users or charms write. Version grows with every
// change of a value, and with nothing else: a null change wakes nobody.
type settingsDoc struct {
	ID       string `bson:"_id"`
	Relation *int   `bson:"relation,omitempty"` // of a relation's settings, for their mass deletion
	// Container is the principal in whose scope of a container relation they are.
	Container string         `bson:"container,omitempty"`
	Settings  map[string]any `bson:"settings"`
	Version   int64          `bson:"version"`
}

func (st *State) settings(key string) (settingsDoc, error) {
	var doc settingsDoc
	err := st.db.Get(settingsC, key, &doc, fmt.Sprintf("settings %q", key))
	doc.Settings = unescapeKeys(doc.Settings)
	return doc, err
}

// settingsMost bounds one document's settings, in bytes of their names and texts
// and 16 for each: well below what the store takes. A transaction that the store refuses only when
// it is applied would never end, and hold up all that touches its documents.
const settingsMost = 8 << 20

// changeSettings adds the operation that merges changes into settings that were
// just read; a nil value deletes its key. It asserts the version, and adds
// nothing when no value changes. Names that can't be kept, and too much of
// everything, are Invalid.
func (o *ops) changeSettings(doc settingsDoc, changes map[string]any) error {
	set, unset := bson.M{}, bson.M{}
	after := maps.Clone(doc.Settings)
	maps.Copy(after, changes)
	if err := checkSettings(after); err != nil {
		return err
	}
	for k, v := range changes {
		was, had := doc.Settings[k]
		field := "settings." + escapeKey.Replace(k)
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
	update := bson.D{{"$inc", bson.D{{"version", 1}}}}
	if len(set) > 0 {
		update = append(update, bson.DocElem{Name: "$set", Value: set})
	}
	if len(unset) > 0 {
		update = append(update, bson.DocElem{Name: "$unset", Value: unset})
	}
	o.update(settingsC, doc.ID, bson.D{{"version", doc.Version}}, update)
	return nil
}

// checkSettings refuses what can't be kept.
func checkSettings(settings map[string]any) error {
	size := 0
	for k, v := range settings {
		if k == "" || strings.Contains(k, "\x00") {
			return entity.Errorf(entity.Invalid, "%q can't be the name of a setting", k)
		}
		text, _ := v.(string)
		size += len(escapeKey.Replace(k)) + len(text) + 16 // what the store adds is less
	}
	if size > settingsMost {
		return entity.Errorf(entity.Invalid, "cannot keep %d bytes of settings, the most is %d", size, settingsMost)
	}
	return nil
}
