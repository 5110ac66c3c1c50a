package state

import (
	"fmt"
	"reflect"

	"gopkg.in/mgo.v2/bson"
)

// A settingsDoc is a map that users or charms write. Version grows with every
// change of a value, and with nothing else: a null change wakes nobody.
type settingsDoc struct {
	ID       string         `bson:"_id"`
	Relation *int           `bson:"relation,omitempty"` // of a relation's settings, for their mass deletion
	Settings map[string]any `bson:"settings"`
	Version  int64          `bson:"version"`
}

func (st *State) settings(key string) (settingsDoc, error) {
	var doc settingsDoc
	err := st.db.Get(settingsC, key, &doc, fmt.Sprintf("settings %q", key))
	doc.Settings = unescapeKeys(doc.Settings)
	return doc, err
}

// changeSettings adds the operation that merges changes into settings that were
// just read; a nil value deletes its key. It asserts the version, and adds
// nothing when no value changes.
func (o *ops) changeSettings(doc settingsDoc, changes map[string]any) {
	set, unset := bson.M{}, bson.M{}
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
		return
	}
	update := bson.D{{"$inc", bson.D{{"version", 1}}}}
	if len(set) > 0 {
		update = append(update, bson.DocElem{Name: "$set", Value: set})
	}
	if len(unset) > 0 {
		update = append(update, bson.DocElem{Name: "$unset", Value: unset})
	}
	o.update(settingsC, doc.ID, bson.D{{"version", doc.Version}}, update)
}
