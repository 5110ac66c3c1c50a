package check

import (
	"fmt"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"
)

// Insert returns the finding of a missing document; the repair writes it.
func Insert(where DocID, what, repair string, doc any) *Wrong {
	return &Wrong{Where: where, What: what, Repair: repair,
		Ops: []txn.Op{{C: where.Collection, Id: where.ID, Insert: doc}}}
}

// Update returns the finding of a document with incorrect content; the repair changes it.
func Update(where DocID, what, repair string, change bson.D) *Wrong {
	return &Wrong{Where: where, What: what, Repair: repair,
		Ops: []txn.Op{{C: where.Collection, Id: where.ID, Update: change}}}
}

// Remove returns the finding of a document that must not exist; the repair removes it.
func Remove(where DocID, what, repair string) *Wrong {
	return &Wrong{Where: where, What: what, Repair: repair,
		Ops: []txn.Op{{C: where.Collection, Id: where.ID, Remove: true}}}
}

// A Pointer is a rule that the documents referred to by those of a collection must exist.
type Pointer struct {
	From, What string
	To         func(v *View, id string, r Row) []DocID // the documents referred to
	Repair     string                                  // what to do with the document; "" if it must stay
}

// Named returns a To function for a field that contains an id or is empty.
func Named(collection, field string) func(*View, string, Row) []DocID {
	return func(_ *View, _ string, r Row) []DocID {
		if id := r.Text(field); id != "" {
			return []DocID{{collection, id}}
		}
		return nil
	}
}

// PointerRules returns rules that find documents that refer to nonexistent ones.
func PointerRules(pointers []Pointer) (rules []Rule) {
	for _, p := range pointers {
		rules = append(rules, Rule{Of: p.From, Judge: func(v *View, id string) *Wrong {
			r := v.Get(p.From, id)
			if r == nil {
				return nil
			}
			for _, to := range p.To(v, id, r) {
				if v.Get(to.Collection, to.ID) != nil {
					continue
				}
				w := Remove(DocID{p.From, id}, fmt.Sprintf("%s does not exist: %v", p.What, to), p.Repair)
				if p.Repair == "" {
					w.Ops = nil
				}
				return w
			}
			return nil
		}})
	}
	return rules
}
