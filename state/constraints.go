package state

import (
	"juju/state/entity"
)

type constraintsDoc struct {
	Key   string `bson:"_id"`
	Value string `bson:"value"` // in the form that users write
}

// constraints reads what is kept under a key; nothing is no constraint.
func (st *State) constraints(key string) (string, error) {
	var doc constraintsDoc
	err := st.db.Get(constraintsC, key, &doc, "constraints of "+key)
	if isNotFound(err) {
		return "", nil
	}
	return doc.Value, err
}

// mergedConstraints lays constraints over the model's.
func (st *State) mergedConstraints(over string) (string, error) {
	top, err := entity.ParseConstraints(over)
	if err != nil {
		return "", err
	}
	below, err := st.constraints(modelKey)
	if err != nil {
		return "", err
	}
	base, err := entity.ParseConstraints(below)
	if err != nil {
		return "", err
	}
	return entity.MergeConstraints(base, top).String(), nil
}
