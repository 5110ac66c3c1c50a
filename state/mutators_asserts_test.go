package state_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/mongo"
	"juju/state/statetest"
)

// assertsFile has the asserts of each mutator. A lost assert is a line that changes, whether or not a conflict shows it.
const assertsFile = "testdata/asserts.txt"

var updateAsserts = flag.Bool("update-asserts", false, "rewrite "+assertsFile)

// varies matches what differs from run to run: ids, sums, numbers of documents' changes, and times.
var varies = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{64}|[0-9a-f]{24}|"txn-revno":[0-9]+|"[0-9-]{10}T[^"]*"|juju[a-z]*_[A-Za-z0-9_-]+|-[0-9]{13}|"(password|hash)":"[^"]+"`)

// assertText returns an assert as text.
func assertText(assert any) string {
	switch assert {
	case nil:
		return "nothing"
	case txn.DocExists:
		return "it exists"
	case txn.DocMissing:
		return "it is missing"
	}
	return valueText(assert)
}

// valueText returns a value as JSON, with the fields of documents in their order.
func valueText(v any) string {
	switch a := v.(type) {
	case bson.D:
		var fields []string
		for _, e := range a {
			fields = append(fields, fmt.Sprintf("%q:%s", e.Name, valueText(e.Value)))
		}
		return "{" + strings.Join(fields, ",") + "}"
	case bson.M:
		var d bson.D
		for _, name := range slices.Sorted(maps.Keys(a)) {
			d = append(d, bson.DocElem{Name: name, Value: a[name]})
		}
		return valueText(d)
	case []any:
		var all []string
		for _, one := range a {
			all = append(all, valueText(one))
		}
		return "[" + strings.Join(all, ",") + "]"
	case []bson.D:
		var all []string
		for _, d := range a {
			all = append(all, valueText(d))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%T", v)
	}
	return string(text)
}

// Each mutator asserts what the file says, on documents that the stage has.
func TestAssertsOfMutators(t *testing.T) {
	st := sharedStage(t)
	all := make([]string, len(mutators))
	indexes := make([]int, len(mutators))
	for i := range mutators {
		indexes[i] = i
	}
	inParallel(t, indexes, func(i int) string { return mutators[i].String() }, func(t *testing.T, i int) {
		all[i] = mutators[i].String() + "\n" + strings.Join(mutators[i].asserts(t, st), "\n") + "\n"
	})
	got := strings.Join(all, "\n")
	if *updateAsserts {
		statetest.OK(t, os.WriteFile(assertsFile, []byte(got), 0o644))
	}
	known, err := os.ReadFile(assertsFile)
	statetest.OK(t, err)
	if d := differ(got, string(known)); d != "" {
		t.Errorf("the asserts differ from those in %s (if that is meant: go test ./state -run TestAssertsOfMutators -update-asserts):%s", assertsFile, d)
	}
}

// asserts returns what the mutator's transactions do and assert.
func (m mutator) asserts(t *testing.T, st *stage) (lines []string) {
	if m.mends {
		return []string{"\tasserts all that it has read"}
	}
	s := st.scene(t, nil)
	call := m.ready(s)
	s.tries(func(_ *watch, db *mongo.Database, ops []txn.Op) func() {
		where := "controller"
		if db.Name() == st.UUID {
			where = "model"
		}
		lines = append(lines, "\ta transaction of the "+where)
		for _, op := range ops {
			line := fmt.Sprintf("\t\t%s %s %v: %s", opWord(op), op.C, op.Id, assertText(op.Assert))
			lines = append(lines, varies.ReplaceAllString(line, "*"))
		}
		return nil
	})
	s.ok(call())
	s.unwatch()
	return lines
}

func opWord(op txn.Op) string {
	switch {
	case op.Insert != nil:
		return "inserts"
	case op.Update != nil:
		return "updates"
	case op.Remove:
		return "removes"
	}
	return "asserts"
}
