package mongo

import (
	"errors"
	"testing"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
)

// A store with a document more, less, or other than those that were copied is no copy.
func TestACopyThatDiffers(t *testing.T) {
	t.Parallel()
	store, err := OpenMemory(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	session := store.Session()
	defer session.Close()
	c := session.DB("db").C("c")
	if err := c.Insert(bson.D{{"_id", 1}, {"n", 1}}, bson.D{{"_id", 2}, {"n", 1}}); err != nil {
		t.Fatal(err)
	}
	was := map[string]digest{}
	if err := store.Export(t.Context(), nil, func(name string, data []byte) error { return addDigests(was, name, data) }); err != nil {
		t.Fatal(err)
	}
	if err := compare(t.Context(), was, store); err != nil {
		t.Errorf("a store differs from itself: %v", err)
	}
	for what, change := range map[string]func() error{
		"another value": func() error { return c.UpdateId(2, bson.D{{"$set", bson.D{{"n", 2}}}}) },
		"one more":      func() error { return c.Insert(bson.D{{"_id", 3}}) },
		"one less":      func() error { return c.RemoveId(1) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := compare(t.Context(), was, store); !errors.Is(err, entity.Damaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
