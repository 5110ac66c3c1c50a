package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// modelFields are the collections of a model that rules look at, and the fields
// that matter to them; the others are not read. A collection has rules and a line
// here, or a line in unruled.
var modelFields = map[string][]string{
	modelC:       {"life"},
	machinesC:    {"life", "strength", "deadline", "host", "addresses"},
	unitsC:       {"life", "strength", "deadline", "service", "machine", "principal", "charm"},
	servicesC:    {"life", "strength", "deadline", "machines", "charm", "minunits"},
	relationsC:   {"life", "strength", "deadline", "id", "endpoints.service"},
	endpointsC:   {"life", "strength", "service", "relation"},
	scopesC:      {"relation", "unit"},
	deploymentsC: {"parent", "unit"},
	settingsC:    {"relation"},
	constraintsC: {"_id"},
	annotationsC: {"_id"},
	countsC:      nil,
	statusesC:    {"status", "message", "data", "since"},
	leadersC:     {"_id"},
	minUnitsC:    {"_id"},
	portsC:       nil,
	credentialsC: {"_id"},
	charmsC:      {"sha256"},
	cleanupsC:    {"kind", "arg"},
	sequenceC:    {"counter"},
	schemaC:      {"_id"},
}

// unruled are the collections of which nothing can be wrong, and why.
var unruled = map[string]string{
	historyC:        "what was; it is bounded, and written directly",
	blocksC:         "each stands for itself",
	leftoversC:      "what they are about is gone",
	modelLeftoversC: "what they are about is gone",
	loginsC:         "when somebody was there; it is written directly, and nothing rests on it",
}

// rules are what is checked of the model.
func (st *State) rules() []rule {
	return append(slices.Clone(modelRules), schemaRule(st.controller.modelForm()),
		rule{of: modelC, ids: func(*view) []string { return []string{modelC} }, judge: st.judgeModel},
		rule{of: charmsC, judge: st.judgeArchive},
		rule{of: leasesC, ids: st.leasesOf, judge: st.judgeLease})
}

// modelRules are those that look at nothing but the model's database.
var modelRules = slices.Concat(
	pointerRules(modelPointers()), ownedRules(), ownerRules(), countRules(), lifeRules(),
	[]rule{
		{of: deploymentsC, judge: judgeDeployment},
		{of: relationsC, judge: judgeEnds},
		{of: endpointsC, judge: judgeEndpoint},
		{of: scopesC, judge: judgeScope},
		{of: settingsC, judge: judgeSettings},
		{of: portsC, judge: judgePorts},
		{of: portsC, judge: judgeRanges},
		{of: statusesC, judge: judgeStatus},
		{of: machinesC, judge: judgeAddresses},
		{of: cleanupsC, judge: judgeCleanup},
		{of: sequenceC, ids: sequences, judge: judgeSequence},
		{of: servicesC, judge: judgeMinUnits},
		{of: minUnitsC, judge: judgeMinUnits},
	})

// toInsert says that a document should be there, and writes it.
func toInsert(where docID, what, repair string, doc any) *wrong {
	return &wrong{where: where, what: what, repair: repair, ops: []txn.Op{{C: where.collection, Id: where.id, Insert: doc}}}
}

// toUpdate says that a document is not as it should be, and changes it.
func toUpdate(where docID, what, repair string, change bson.D) *wrong {
	return &wrong{where: where, what: what, repair: repair, ops: []txn.Op{{C: where.collection, Id: where.id, Update: change}}}
}

// toRemove says that a document can't be, and goes.
func toRemove(where docID, what, repair string) *wrong {
	return &wrong{where: where, what: what, repair: repair, ops: []txn.Op{{C: where.collection, Id: where.id, Remove: true}}}
}

func (st *State) judgeModel(v *view, id string) *wrong {
	if v.get(modelC, id) != nil {
		return nil
	}
	row, err := st.controller.row(st.uuid)
	if err != nil {
		v.fail(err)
		return nil
	}
	return toInsert(docID{modelC, id}, "it is missing, so nothing can be added to the model", "write it as of a new model", st.controller.newModelDoc(row))
}

// A pointer says that each document of a collection names others that must exist.
type pointer struct {
	from, what string
	to         func(v *view, id string, r row) []docID // what it names
	repair     string                                  // of the one that names; "" when it must stay
}

const outOfState = "take it out of state, and with it what is its own"

// modelPointers are the references of lifecycle.Refs, and those that no life depends
// on.
func modelPointers() []pointer {
	all := []pointer{
		{unitsC, "its charm", named(charmsC, "charm"), ""},
		{servicesC, "its charm", named(charmsC, "charm"), ""},
		{endpointsC, "its relation", named(relationsC, "relation"), "remove it"},
		{deploymentsC, "its unit", named(unitsC, "unit"), "remove it"},
		{deploymentsC, "its deployer", func(_ *view, _ string, r row) []docID { return []docID{ownerOfTag(r.text("parent"))} }, "remove it"},
		{relationsC, "its service", func(_ *view, _ string, r row) (all []docID) {
			for _, end := range r.docs("endpoints") {
				all = append(all, docID{servicesC, end.text("service")})
			}
			return all
		}, outOfState},
	}
	seen := map[string]bool{endpointsC + "service": true} // the relation's own are looked at
	for _, ref := range lifecycle.Refs {
		if !ref.IsCounted() || seen[ref.In+ref.Field] {
			continue
		}
		seen[ref.In+ref.Field] = true
		p := pointer{ref.In, "its " + ref.Field, named(lifecycle.RowOf(ref.To).In, ref.Field), outOfState}
		if ref.From == lifecycle.Scope {
			p.repair = "remove it"
		}
		if ref.To == lifecycle.Relation {
			p.to = func(v *view, _ string, r row) []docID { return []docID{v.relation(r.number(ref.Field))} }
		}
		all = append(all, p)
	}
	return all
}

// named reads the id of a document in a field that may be empty.
func named(collection, field string) func(*view, string, row) []docID {
	return func(_ *view, _ string, r row) []docID {
		if id := r.text(field); id != "" {
			return []docID{{collection, id}}
		}
		return nil
	}
}

// relation finds the relation of a number; one that is not there has no counts
// either, which come and go with it.
func (v *view) relation(number int) docID {
	v.get(countsC, relationKey(number))
	for _, r := range v.where(relationsC, "id", number) {
		return docID{relationsC, r.text("_id")}
	}
	return docID{relationsC, fmt.Sprintf("(number %d)", number)}
}

func pointerRules(pointers []pointer) (rules []rule) {
	for _, p := range pointers {
		rules = append(rules, rule{of: p.from, judge: func(v *view, id string) *wrong {
			r := v.get(p.from, id)
			if r == nil {
				return nil
			}
			for _, to := range p.to(v, id, r) {
				if v.get(to.collection, to.id) != nil {
					continue
				}
				w := toRemove(docID{p.from, id}, fmt.Sprintf("%s is not there: %v", p.what, to), p.repair)
				if p.repair == "" {
					w.ops = nil
				}
				return w
			}
			return nil
		}})
	}
	return rules
}

// ownerOfTag is the machine or unit of a tag; the zero docID of anything else.
func ownerOfTag(tag string) docID {
	t, err := entity.ParseTag(tag)
	switch {
	case err == nil && t.Kind == entity.KindMachine:
		return docID{machinesC, t.ID}
	case err == nil && t.Kind == entity.KindUnit:
		return docID{unitsC, t.ID}
	}
	return docID{unitsC, tag} // which is no unit's name
}

// owner returns the entity that an owned document belongs to, by the form of its id;
// false when the id has another form.
func (v *view) owner(form lifecycle.ID, kind lifecycle.Kind, id string) (docID, bool) {
	switch form {
	case lifecycle.ByName:
		return docID{lifecycle.RowOf(kind).In, id}, true
	case lifecycle.ByTag:
		return ownerOfTag(id), true
	}
	kind, name := lifecycle.ParseKey(id)
	switch kind {
	case "":
		return docID{}, false
	case lifecycle.Model:
		return docID{modelC, modelC}, true
	case lifecycle.Relation:
		n, err := strconv.Atoi(name)
		return v.relation(n), err == nil
	}
	return docID{lifecycle.RowOf(kind).In, name}, true
}

// ownerRules say of the documents that belong to an entity that it exists.
func ownerRules() (rules []rule) {
	seen := map[string]bool{}
	of := func(collection string, form lifecycle.ID, kind lifecycle.Kind) {
		if seen[collection] {
			return
		}
		seen[collection] = true
		rules = append(rules, rule{of: collection, judge: func(v *view, id string) *wrong {
			if v.get(collection, id) == nil {
				return nil
			}
			where := docID{collection, id}
			to, known := v.owner(form, kind, id)
			if !known {
				return &wrong{where: where, what: "it belongs to nothing that this program knows"}
			}
			if v.get(to.collection, to.id) != nil {
				return nil
			}
			if n := relationOf(id); collection == settingsC && n >= 0 {
				return v.orphanedSettings(where, n)
			}
			return toRemove(where, fmt.Sprintf("what it belongs to is not there: %v", to), "remove it")
		}})
	}
	for _, kind := range lifecycle.Kinds {
		for _, doc := range kind.Owns {
			if doc.ID == lifecycle.ByKey || doc.ID == lifecycle.ByName || doc.ID == lifecycle.ByTag {
				of(doc.In, doc.ID, kind.Kind)
			} // the others are pointers
		}
	}
	of(countsC, lifecycle.ByKey, "")
	of(minUnitsC, lifecycle.ByName, lifecycle.Service)
	return rules
}

// relationOf returns the number of the relation that a key is of, or -1.
func relationOf(key string) int {
	kind, id, _ := strings.Cut(key, "#")
	id, _, _ = strings.Cut(id, "#")
	if n, err := strconv.Atoi(id); err == nil && kind == "r" {
		return n
	}
	return -1
}

// orphanedSettings are all right while a cleanup is still to delete them.
func (v *view) orphanedSettings(where docID, relation int) *wrong {
	key := relationKey(relation)
	if v.hasCleanup(cleanupSettings, key) {
		return nil
	}
	return v.needsCleanup(where, cleanupSettings, key, fmt.Sprintf("relation %d is gone, and no cleanup is to delete it", relation))
}

func (v *view) hasCleanup(kind, arg string) bool {
	return slices.ContainsFunc(v.where(cleanupsC, "arg", arg), func(r row) bool { return r.text("kind") == kind })
}

// needsCleanup leaves to the cleaner what no one else will do.
func (v *view) needsCleanup(where docID, kind, arg, what string) *wrong {
	id := "check-" + kind + "-" + arg
	v.get(cleanupsC, id)
	return &wrong{where: where, what: what, repair: "have the cleaner do it", // which is another document than where
		ops: []txn.Op{{C: cleanupsC, Id: id, Insert: cleanupDoc{ID: id, Kind: kind, Arg: arg}}}}
}

// A recorded entity is one as a check sees it.
type recorded struct {
	kind lifecycle.Kind
	id   string // of its document
	doc  row
}

// entityIn reads an entity of a collection; false when it is not there.
func (v *view) entityIn(collection, id string) (e recorded, ok bool) {
	e = recorded{id: id, doc: v.get(collection, id)}
	switch collection {
	case modelC:
		e.kind = lifecycle.Model
	case machinesC:
		e.kind = lifecycle.Machine
	case servicesC:
		e.kind = lifecycle.Service
	case relationsC:
		e.kind = lifecycle.Relation
	case unitsC:
		if e.kind = lifecycle.Principal; e.doc.text("principal") != "" {
			e.kind = lifecycle.Subordinate
		}
	}
	return e, e.doc != nil
}

// String returns what users call the entity: "unit mysql/0".
func (e recorded) String() string {
	switch e.kind {
	case lifecycle.Principal, lifecycle.Subordinate:
		return "unit " + e.id
	case lifecycle.Container:
		return "machine " + e.id
	}
	return string(e.kind) + " " + e.id
}

func (e recorded) where() docID { return docID{lifecycle.RowOf(e.kind).In, e.id} }

// name is what the entity's key has after the prefix.
func (e recorded) name() string {
	switch e.kind {
	case lifecycle.Relation:
		return strconv.Itoa(e.doc.number("id"))
	case lifecycle.Model:
		return ""
	}
	return e.id
}

func (e recorded) key() string { return lifecycle.Key(e.kind, e.name()) }

// owned returns the ids of the entity's documents of one kind.
func (e recorded) owned(doc lifecycle.Document) []string {
	switch doc.ID {
	case lifecycle.ByName:
		return []string{e.name() + doc.Suffix}
	case lifecycle.ByKey:
		return []string{e.key() + doc.Suffix}
	case lifecycle.ByDeployer:
		if parent := deployerOf(e.doc); !parent.IsZero() {
			return []string{deploymentID(parent, e.id)}
		}
	}
	return nil // what has an agent may have no credential, and judgeEnds looks after ends
}

// sources returns the documents that refer to an entity by a reference. They don't
// change unless the entity's counts do.
func (v *view) sources(ref lifecycle.Ref, e recorded) []row {
	var all []row
	if ref.IsCounted() {
		all = v.where(ref.In, ref.Field, fieldValue(e.kind, e.name()))
	} else {
		all = v.all(ref.In)
	}
	if !ref.Alive {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(r row) bool { return r.life() != entity.Alive })
}

// livingC are the collections of entities that have counts.
var livingC = []string{machinesC, unitsC, servicesC, relationsC}

// countRules count again what refers to each entity.
func countRules() (rules []rule) {
	for _, collection := range livingC {
		rules = append(rules, rule{of: collection, judge: func(v *view, id string) *wrong {
			e, ok := v.entityIn(collection, id)
			if !ok {
				return nil
			}
			want := bson.M{}
			for _, ref := range lifecycle.RefsTo(e.kind) {
				want[ref.Name] = len(v.sources(ref, e))
			}
			v.kept(e, want)
			return v.judgeCounts(e.key(), want)
		}})
	}
	return rules
}

// judgeCounts finds counts that are not what they should be.
func (v *view) judgeCounts(key string, want bson.M) *wrong {
	has := v.get(countsC, key)
	where := docID{countsC, key}
	if has == nil {
		return toInsert(where, "it is missing", "count again and write it", want)
	}
	var off []string
	set, unset := bson.M{}, bson.M{}
	for name, n := range want {
		if got, ok := asNumber(has[name]); !ok {
			off = append(off, fmt.Sprintf("does not count %s, of which there are %d", name, n))
			set[name] = n
		} else if got != n {
			off = append(off, fmt.Sprintf("counts %d %s, there are %d", got, name, n))
			set[name] = n
		}
	}
	for name := range has {
		if _, ok := want[name]; !ok && name != "_id" && !strings.HasPrefix(name, "txn-") {
			off = append(off, "counts "+name+", which nothing is")
			unset[name] = 1
		}
	}
	if len(off) == 0 {
		return nil
	}
	slices.Sort(off)
	change := bson.D{}
	if len(set) > 0 {
		change = append(change, bson.DocElem{Name: "$set", Value: set})
	}
	if len(unset) > 0 {
		change = append(change, bson.DocElem{Name: "$unset", Value: unset})
	}
	return toUpdate(where, "it "+strings.Join(off, "; it "), "set it to what was counted", change)
}
