package servertxn

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// randomRevno is a number that a document begins with.
var randomRevno = regexp.MustCompile(`("txn-revno":)[1-9][0-9]{3,}`)

// TestStatements shows which statements operations become, in their order. "!" is one that must find its document.
func TestStatements(t *testing.T) {
	update := bson.D{{"$set", bson.D{{"n", 2}}}}
	fields := bson.D{{"n", 1}}
	op := func(id string, assert any) txn.Op { return txn.Op{C: "c", Id: id, Assert: assert} }
	updates := func(id string, assert any) txn.Op { o := op(id, assert); o.Update = update; return o }
	removes := func(id string, assert any) txn.Op { o := op(id, assert); o.Remove = true; return o }
	inserts := func(id string, assert any) txn.Op { o := op(id, assert); o.Insert = bson.D{{"n", 1}}; return o }
	const (
		asserted = `{"$inc":{"txn-asserted":1}}`
		set      = `{"$set":{"n":2},"$inc":{"txn-revno":1}}`
		upsert   = `{"$setOnInsert":{"n":1,"txn-revno":R}}`
	)
	for name, c := range map[string]struct {
		ops  []txn.Op
		want []string
	}{
		"nothing, update":  {[]txn.Op{updates("a", nil)}, []string{`update {"_id":"a"} ` + set}},
		"nothing, remove":  {[]txn.Op{removes("a", nil)}, []string{`delete {"_id":"a"}`}},
		"nothing, insert":  {[]txn.Op{inserts("a", nil)}, []string{`upsert {"_id":"a"} ` + upsert}},
		"exists":           {[]txn.Op{op("a", txn.DocExists)}, []string{`update! {"_id":"a"} ` + asserted}},
		"exists, update":   {[]txn.Op{updates("a", txn.DocExists)}, []string{`update! {"_id":"a"} ` + set}},
		"exists, remove":   {[]txn.Op{removes("a", txn.DocExists)}, []string{`delete! {"_id":"a"}`}},
		"exists, insert":   {[]txn.Op{op("a", txn.DocExists), inserts("a", nil)}, []string{`update! {"_id":"a"} ` + asserted, `upsert {"_id":"a"} ` + upsert}},
		"fields":           {[]txn.Op{op("a", fields)}, []string{`update! {"_id":"a","$and":[{"n":1}]} ` + asserted}},
		"fields, update":   {[]txn.Op{updates("a", fields)}, []string{`update! {"_id":"a","$and":[{"n":1}]} ` + set}},
		"fields, update 2": {[]txn.Op{updates("a", fields), updates("a", nil)}, []string{`update! {"_id":"a","$and":[{"n":1}]} ` + set, `update {"_id":"a"} ` + set}},
		"fields of two operations": {[]txn.Op{op("a", fields), updates("a", bson.D{{"m", 1}})},
			[]string{`update! {"_id":"a","$and":[{"n":1},{"m":1}]} ` + set}},
		"missing":         {[]txn.Op{op("a", txn.DocMissing)}, []string{`insert! {"_id":"a"}`, `delete! {"_id":"a"}`}},
		"missing, update": {[]txn.Op{updates("a", txn.DocMissing)}, []string{`insert! {"_id":"a"}`, `delete! {"_id":"a"}`, `update {"_id":"a"} ` + set}},
		"missing, insert": {[]txn.Op{inserts("a", txn.DocMissing)}, []string{`insert! {"_id":"a","n":1,"txn-revno":R}`}},
		"missing, insert, update": {[]txn.Op{inserts("a", txn.DocMissing), updates("a", nil)},
			[]string{`insert! {"_id":"a","n":1,"txn-revno":R}`, `update {"_id":"a"} ` + set}},
		"remove, then missing, insert": {[]txn.Op{removes("a", txn.DocExists), inserts("a", txn.DocMissing)},
			[]string{`delete! {"_id":"a"}`, `upsert {"_id":"a"} ` + upsert}},
		"contradiction": {[]txn.Op{op("a", txn.DocMissing), op("a", txn.DocExists)}, []string{"transaction aborted"}},
		"missing after its insert": {[]txn.Op{inserts("a", txn.DocMissing), op("a", txn.DocMissing)},
			[]string{"transaction aborted"}},
		"what can fail comes first, an insert last": {[]txn.Op{inserts("a", txn.DocMissing), removes("b", nil), updates("c", nil), op("d", fields)},
			[]string{`update! {"_id":"d","$and":[{"n":1}]} ` + asserted, `update {"_id":"c"} ` + set, `delete {"_id":"b"}`, `insert! {"_id":"a","n":1,"txn-revno":R}`}},
		"an update without an operator": {[]txn.Op{{C: "c", Id: "a", Update: bson.D{{"n", 1}}}},
			[]string{"cannot change c a: the update has the field n instead of an operator"}},
		"an insert that asserts existence": {[]txn.Op{inserts("a", txn.DocExists)},
			[]string{"cannot insert c a: an insert can only assert txn.DocMissing"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := shown(t, c.ops)
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("the statements are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// shown returns the statements for ops, or their error, as text.
func shown(t *testing.T, ops []txn.Op) (all []string) {
	t.Helper()
	list, err := statementsOf(ops)
	if err != nil {
		return []string{err.Error()}
	}
	for _, s := range list {
		var doc bson.D
		if err := s.doc.Unmarshal(&doc); err != nil {
			t.Fatal(err)
		}
		m := doc.Map()
		word, parts := commands[s.kind][0], []any{doc}
		if s.kind != insert {
			parts = []any{m["q"]}
		}
		if s.kind == update {
			parts = append(parts, m["u"])
		}
		if m["upsert"] == true {
			word = "upsert"
		}
		if s.required {
			word += "!"
		}
		for _, p := range parts {
			word += " " + text(p)
		}
		all = append(all, randomRevno.ReplaceAllString(word, "${1}R"))
	}
	return all
}

// text returns a value as JSON, with the fields of documents in their order.
func text(v any) string {
	switch v := v.(type) {
	case bson.D:
		var fields []string
		for _, e := range v {
			fields = append(fields, fmt.Sprintf("%q:%s", e.Name, text(e.Value)))
		}
		return "{" + strings.Join(fields, ",") + "}"
	case []any:
		var all []string
		for _, one := range v {
			all = append(all, text(one))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	data, _ := json.Marshal(v)
	return string(data)
}
