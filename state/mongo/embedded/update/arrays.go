package update

import (
	"bytes"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/query"
	"juju/state/mongo/embedded/raw"
)

var emptyArray = bsoncore.Value{Type: bson.TypeArray, Data: []byte{5, 0, 0, 0, 0}}

// arrayAt returns the array at path, creating it if necessary.
func arrayAt(root *container, path []string) (*elem, error) {
	e, made, err := root.reach(path)
	if err != nil {
		return nil, err
	}
	if made {
		e.set(emptyArray)
	}
	if v := e.value(); v.Type != bson.TypeArray {
		return nil, notArray(path, v)
	}
	return e, nil
}

// existingArray is arrayAt for operators that remove: if the field is missing it returns nil and no error.
func existingArray(root *container, path []string) (*elem, error) {
	_, e := root.lookup(path)
	if e == nil {
		return nil, nil
	}
	if v := e.value(); v.Type != bson.TypeArray {
		return nil, notArray(path, v)
	}
	return e, nil
}

func notArray(path []string, v bsoncore.Value) error {
	return mongoerr.New(mongoerr.BadValue, "The field '%s' must be an array but is of type %s", path[len(path)-1],
		query.TypeName(v.Type))
}

func values(array []byte) []bsoncore.Value {
	var out []bsoncore.Value
	it := raw.Elements(array)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		out = append(out, e.Value)
	}
	return out
}

func newArray(of []bsoncore.Value) bsoncore.Value {
	start, data := bsoncore.ReserveLength(nil)
	for i, v := range of {
		data = appendIndexed(data, i, v)
	}
	data, _ = bsoncore.AppendArrayEnd(data, start)
	return bsoncore.Value{Type: bson.TypeArray, Data: data}
}

func appendIndexed(dst []byte, i int, v bsoncore.Value) []byte {
	dst = append(dst, byte(v.Type))
	dst = strconv.AppendInt(dst, int64(i), 10)
	dst = append(dst, 0)
	return append(dst, v.Data...)
}

// each returns the values of an $each, and whether there is one: without it, a document is itself the value to add.
func each(v bsoncore.Value) ([]bsoncore.Value, bool) {
	if v.Type != bson.TypeEmbeddedDocument {
		return nil, false
	}
	list, ok := raw.Get(v.Data, "$each")
	if !ok || list.Type != bson.TypeArray {
		return nil, ok
	}
	return values(list.Data), true
}

func checkEach(o *op, name string, others ...string) error {
	if o.v.Type != bson.TypeEmbeddedDocument {
		return nil
	}
	list, ok := raw.Get(o.v.Data, "$each")
	if !ok {
		return nil
	}
	if list.Type != bson.TypeArray {
		return mongoerr.New(mongoerr.BadValue, "The argument to $each in %s must be an array but it was of type: %s", name,
			query.TypeName(list.Type))
	}
	it := raw.Elements(o.v.Data)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if string(e.Key) != "$each" && !slices.Contains(others, string(e.Key)) {
			return mongoerr.New(mongoerr.BadValue, "Unrecognized clause in %s: %s", name, e.Key)
		}
	}
	return nil
}

func checkAddToSet(o *op) error { return checkEach(o, "$addToSet") }

func addToSet(root *container, path []string, o *op, _ *Context) error {
	e, err := arrayAt(root, path)
	if err != nil {
		return err
	}
	more, ok := each(o.v)
	if !ok {
		more = []bsoncore.Value{o.v}
	}
	array := e.value().Data
	for _, v := range more {
		if n, found := search(array, v); !found {
			array = appendTo(array, n, v)
		}
	}
	e.set(bsoncore.Value{Type: bson.TypeArray, Data: array})
	return nil
}

// search looks for v in an array, and counts the elements.
func search(array []byte, v bsoncore.Value) (n int, found bool) {
	it := raw.Elements(array)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		if keys.Equal(e.Value, v) {
			return n, true
		}
		n++
	}
	return n, false
}

// appendTo returns a copy of an array of n elements with one more.
func appendTo(array []byte, n int, v bsoncore.Value) []byte {
	out := make([]byte, 0, len(array)+len(v.Data)+12)
	out = append(out, array[:len(array)-1]...)
	out, _ = bsoncore.AppendArrayEnd(appendIndexed(out, n, v), 0)
	return out
}

func checkPush(o *op) error {
	if err := checkEach(o, "$push", "$position", "$slice", "$sort"); err != nil {
		return err
	}
	if _, ok := each(o.v); !ok {
		return nil
	}
	for _, name := range []string{"$position", "$slice"} {
		if v, ok := raw.Get(o.v.Data, name); ok {
			if _, ok := raw.Int(v); !ok {
				return mongoerr.New(mongoerr.BadValue, "The value for %s must be an integer value but was given type: %s", name,
					query.TypeName(v.Type))
			}
		}
	}
	if v, ok := raw.Get(o.v.Data, "$sort"); ok {
		if v.Type == bson.TypeEmbeddedDocument {
			_, err := query.CompileSort(v.Data)
			return err
		}
		if n, ok := raw.Int(v); !ok || n != 1 && n != -1 {
			return mongoerr.New(mongoerr.BadValue, "The $sort element value must be either 1 or -1")
		}
	}
	return nil
}

// push inserts, then sorts, then slices, in whatever order the modifiers are written.
func push(root *container, path []string, o *op, _ *Context) error {
	e, err := arrayAt(root, path)
	if err != nil {
		return err
	}
	more, modified := each(o.v)
	if !modified {
		array := e.value().Data
		e.set(bsoncore.Value{Type: bson.TypeArray, Data: appendTo(array, raw.Len(array), o.v)})
		return nil
	}
	list := values(e.value().Data)
	at := len(list)
	if v, ok := raw.Get(o.v.Data, "$position"); ok {
		n, _ := raw.Int(v)
		if n < 0 { // from the end
			n = max(0, int64(len(list))+n)
		}
		at = int(min(n, int64(len(list))))
	}
	list = slices.Insert(list, at, more...)
	if v, ok := raw.Get(o.v.Data, "$sort"); ok {
		sortValues(list, v)
	}
	if v, ok := raw.Get(o.v.Data, "$slice"); ok {
		n, _ := raw.Int(v)
		if n >= 0 {
			list = list[:min(n, int64(len(list)))]
		} else {
			list = list[max(0, int64(len(list))+n):]
		}
	}
	e.set(newArray(list))
	return nil
}

// sortValues sorts by direction, or by fields of the documents among the values.
func sortValues(list []bsoncore.Value, by bsoncore.Value) {
	if by.Type == bson.TypeEmbeddedDocument {
		order, err := query.CompileSort(by.Data)
		if err != nil {
			return // checkPush has ruled this out
		}
		key := func(v bsoncore.Value) []byte {
			if v.Type != bson.TypeEmbeddedDocument { // it sorts as a document without the fields
				return order.AppendKey(nil, emptyArray.Data)
			}
			return order.AppendKey(nil, v.Data)
		}
		slices.SortStableFunc(list, func(a, b bsoncore.Value) int { return bytes.Compare(key(a), key(b)) })
		return
	}
	n, _ := raw.Int(by)
	slices.SortStableFunc(list, func(a, b bsoncore.Value) int { return int(n) * keys.Compare(a, b) })
}

func checkPull(o *op) error {
	_, err := query.CompileElement(o.v)
	return err
}

// pull removes the elements that match a condition: a value, operators, or a query on the fields of elements.
func pull(root *container, path []string, o *op, _ *Context) error {
	cond, err := query.CompileElement(o.v)
	if err != nil {
		return err
	}
	return keep(root, path, func(v bsoncore.Value) bool { return !cond.Match(v) })
}

func checkPullAll(o *op) error {
	if o.v.Type != bson.TypeArray {
		return mongoerr.New(mongoerr.BadValue, "$pullAll requires an array argument but was given a %s",
			query.TypeName(o.v.Type))
	}
	return nil
}

// pullAll removes the elements that equal one of the values.
func pullAll(root *container, path []string, o *op, _ *Context) error {
	return keep(root, path, func(v bsoncore.Value) bool {
		_, found := search(o.v.Data, v)
		return !found
	})
}

// keep removes the elements of an array that fail a test.
func keep(root *container, path []string, test func(bsoncore.Value) bool) error {
	e, err := existingArray(root, path)
	if e == nil {
		return err
	}
	array := e.value().Data
	dropped := false // if not, the array keeps its bytes, and the update may turn out to change nothing
	n := 0
	out := make([]byte, 4, len(array))
	it := raw.Elements(array)
	for one, ok := it.Next(); ok; one, ok = it.Next() {
		if !test(one.Value) {
			dropped = true
			continue
		}
		out = appendIndexed(out, n, one.Value)
		n++
	}
	if dropped {
		out, _ = bsoncore.AppendArrayEnd(out, 0)
		e.set(bsoncore.Value{Type: bson.TypeArray, Data: out})
	}
	return nil
}

func checkPop(o *op) error {
	if n, ok := raw.Int(o.v); !ok || n != 1 && n != -1 {
		return mongoerr.New(mongoerr.FailedToParse, "$pop expects 1 or -1, found: %s", o.v)
	}
	return nil
}

func pop(root *container, path []string, o *op, _ *Context) error {
	e, err := existingArray(root, path)
	if err != nil {
		return mongoerr.New(mongoerr.TypeMismatch, "%v", err) // the only use of this code
	}
	if e == nil {
		return nil
	}
	list := values(e.value().Data)
	if len(list) == 0 {
		return nil
	}
	if n, _ := raw.Int(o.v); n < 0 {
		list = list[1:]
	} else {
		list = list[:len(list)-1]
	}
	e.set(newArray(list))
	return nil
}
