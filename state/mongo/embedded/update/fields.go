package update

import (
	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/x/bsonx/bsoncore"

	"juju/state/mongo/embedded/arith"
	"juju/state/mongo/embedded/keys"
	"juju/state/mongo/embedded/mongoerr"
	"juju/state/mongo/embedded/raw"
)

// A modifier is an update operator: its action, and the check of its operand.
type modifier struct {
	do    operator
	check func(*op) error
}

var modifiers = map[string]modifier{
	"$set":         {do: set},
	"$setOnInsert": {do: set},
	"$unset":       {do: unset},
	"$rename":      {do: rename, check: checkRename},
	"$inc":         {do: add, check: checkNumber},
	"$mul":         {do: multiply, check: checkNumber},
	"$min":         {do: minimum},
	"$max":         {do: maximum},
	"$push":        {do: push, check: checkPush},
	"$addToSet":    {do: addToSet, check: checkAddToSet},
	"$pull":        {do: pull, check: checkPull},
	"$pullAll":     {do: pullAll, check: checkPullAll},
	"$pop":         {do: pop, check: checkPop},
}

// set is also $setOnInsert, whose operation is skipped unless the document is inserted.
func set(root *container, path []string, o *op, _ *Context) error {
	e, _, err := root.reach(path)
	if err == nil {
		e.set(o.v)
	}
	return err
}

func unset(root *container, path []string, _ *op, _ *Context) error {
	if in, e := root.lookup(path); e != nil {
		in.remove(e)
	}
	return nil
}

func checkRename(o *op) error {
	if o.v.Type != bson.TypeString {
		return mongoerr.New(mongoerr.BadValue, "The 'to' field for $rename must be a string: %s", o.v)
	}
	if o.dynamic {
		return mongoerr.New(mongoerr.BadValue, "The source field for $rename may not be dynamic")
	}
	var to op
	if err := to.setPath(string(raw.Text(o.v))); err != nil {
		return err
	}
	if to.dynamic {
		return mongoerr.New(mongoerr.BadValue, "The destination field for $rename may not be dynamic")
	}
	n := min(len(o.path), len(to.path))
	for i := 0; i < n; i++ {
		if o.path[i] != to.path[i] {
			return nil
		}
	}
	return mongoerr.New(mongoerr.BadValue, "The source and target field for $rename must differ and not contain one another")
}

// rename replaces the target if there is one, and does nothing if there is no source.
func rename(root *container, path []string, o *op, _ *Context) error {
	in, e := root.lookup(path)
	if e == nil {
		return nil
	}
	if in.array {
		return mongoerr.New(mongoerr.BadValue, "The source field cannot be an array element")
	}
	v := e.value()
	in.remove(e)
	var to op
	if err := to.setPath(string(raw.Text(o.v))); err != nil {
		return err
	}
	e, _, err := root.reach(to.path)
	if err == nil {
		e.set(v)
	}
	return err
}

// minimum compares values of different types in BSON's order of types, and sets a missing field.
func minimum(root *container, path []string, o *op, _ *Context) error {
	e, made, err := root.reach(path)
	if err == nil && (made || keys.Compare(o.v, e.value()) < 0) {
		e.set(o.v)
	}
	return err
}

func maximum(root *container, path []string, o *op, _ *Context) error {
	e, made, err := root.reach(path)
	if err == nil && (made || keys.Compare(o.v, e.value()) > 0) {
		e.set(o.v)
	}
	return err
}

func checkNumber(o *op) error {
	if keys.ClassOf(o.v.Type) != keys.Number {
		return mongoerr.New(mongoerr.TypeMismatch, "Cannot increment with non-numeric argument: {%s: %s}",
			o.path[len(o.path)-1], o.v)
	}
	return nil
}

func add(root *container, path []string, o *op, _ *Context) error {
	return arithmetic(root, path, o, "$inc", arith.Add)
}

func multiply(root *container, path []string, o *op, _ *Context) error {
	return arithmetic(root, path, o, "$mul", arith.Multiply)
}

// arithmetic replaces a number by the result of an operation, which fails instead of wrapping around.
func arithmetic(root *container, path []string, o *op, name string,
	compute func(a, b bsoncore.Value) (bsoncore.Value, bool)) error {
	e, made, err := root.reach(path)
	if err != nil {
		return err
	}
	if made { // a missing field counts as 0: $mul makes it a 0 of its operand's type, and $inc its operand
		e.set(bsoncore.Value{Type: bson.TypeInt32, Data: make([]byte, 4)})
		if name == "$inc" {
			e.set(o.v)
			return nil
		}
	}
	a := e.value()
	if keys.ClassOf(a.Type) != keys.Number {
		return mongoerr.New(mongoerr.TypeMismatch,
			"Cannot apply %s to a value of non-numeric type. The field '%s' is %s", name, path[len(path)-1], a)
	}
	v, ok := compute(a, o.v)
	if !ok {
		return mongoerr.New(mongoerr.BadValue, "Failed to apply %s operations to current value (%s): it has no exact result",
			name, a)
	}
	e.set(v)
	return nil
}
