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

// modelFields are the collections of a model that rules read, and the fields that they
// read; nil means all. A collection is either here and has rules, or is in unruled.
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

// unruled are the collections in which nothing can be wrong, and why.
var unruled = map[string]string{
	historyC:        "the past; bounded, and written outside transactions",
	blocksC:         "each stands alone",
	leftoversC:      "their entities are gone",
	modelLeftoversC: "their entities are gone",
	loginsC:         "times of logins; written outside transactions, and nothing depends on them",
}

// rules returns the rules of a model's database.
func (st *State) rules() []rule {
	return append(slices.Clone(modelRules), schemaRule(st.controller.modelForm()),
		rule{of: modelC, ids: func(*view) []string { return []string{modelC} }, judge: st.judgeModel},
		rule{of: charmsC, judge: st.judgeArchive},
		rule{of: leasesC, ids: st.leasesOf, judge: st.judgeLease})
}

// modelRules are the rules that need only the model's database.
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

// toInsert reports a missing document, and writes it.
func toInsert(where docID, what, repair string, doc any) *wrong {
	return &wrong{where: where, what: what, repair: repair,
		ops: []txn.Op{{C: where.collection, Id: where.id, Insert: doc}}}
}

// toUpdate reports a document with a wrong content, and changes it.
func toUpdate(where docID, what, repair string, change bson.D) *wrong {
	return &wrong{where: where, what: what, repair: repair,
		ops: []txn.Op{{C: where.collection, Id: where.id, Update: change}}}
}

// toRemove reports a document that must not exist, and removes it.
func toRemove(where docID, what, repair string) *wrong {
	return &wrong{where: where, what: what, repair: repair,
		ops: []txn.Op{{C: where.collection, Id: where.id, Remove: true}}}
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
	return toInsert(docID{modelC, id}, "it is missing, so nothing can be added to the model",
		"write it as for a new model", st.controller.newModelDoc(row))
}

// A pointer says that each document of a collection names others, which must exist.
type pointer struct {
	from, what string
	to         func(v *view, id string, r row) []docID // the documents that it names
	repair     string                                  // what to do with the naming document; "" if it must stay
}

const outOfState = "remove it with everything that it owns"

// modelPointers are the references of lifecycle.Refs, and those that no life depends on.
func modelPointers() []pointer {
	all := []pointer{
		{unitsC, "its charm", named(charmsC, "charm"), ""},
		{servicesC, "its charm", named(charmsC, "charm"), ""},
		{endpointsC, "its relation", named(relationsC, "relation"), "remove it"},
		{deploymentsC, "its unit", named(unitsC, "unit"), "remove it"},
		{deploymentsC, "its deployer", func(_ *view, _ string, r row) []docID {
			return []docID{ownerOfTag(r.text("parent"))}
		}, "remove it"},
		{relationsC, "its service", func(_ *view, _ string, r row) (all []docID) {
			for _, end := range r.docs("endpoints") {
				all = append(all, docID{servicesC, end.text("service")})
			}
			return all
		}, outOfState},
	}
	seen := map[string]bool{endpointsC + "service": true} // covered by the relation's endpoints
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

// named returns a reader of a field that holds an id or is empty.
func named(collection, field string) func(*view, string, row) []docID {
	return func(_ *view, _ string, r row) []docID {
		if id := r.text(field); id != "" {
			return []docID{{collection, id}}
		}
		return nil
	}
}

// relation finds a relation by its number. A relation that does not exist has no counts
// either: they are inserted and removed with it.
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
				w := toRemove(docID{p.from, id}, fmt.Sprintf("%s does not exist: %v", p.what, to), p.repair)
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

// ownerOfTag returns the document of a machine's or unit's tag.
func ownerOfTag(tag string) docID {
	t, err := entity.ParseTag(tag)
	switch {
	case err == nil && t.Kind == entity.KindMachine:
		return docID{machinesC, t.ID}
	case err == nil && t.Kind == entity.KindUnit:
		return docID{unitsC, t.ID}
	}
	return docID{unitsC, tag} // no unit has this name
}

// owner returns the entity that an owned document belongs to, by the form of its id;
// false if the id has another form.
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

// ownerRules check that the owner of each owned document exists.
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
				return &wrong{where: where, what: "it has no owner of a known kind"}
			}
			if v.get(to.collection, to.id) != nil {
				return nil
			}
			if n := relationOf(id); collection == settingsC && n >= 0 {
				return v.orphanedSettings(where, n)
			}
			return toRemove(where, fmt.Sprintf("its owner does not exist: %v", to), "remove it")
		}})
	}
	for _, kind := range lifecycle.Kinds {
		for _, doc := range kind.Owns {
			if doc.ID == lifecycle.ByKey || doc.ID == lifecycle.ByName || doc.ID == lifecycle.ByTag {
				of(doc.In, doc.ID, kind.Kind)
			} // modelPointers covers the other forms
		}
	}
	of(countsC, lifecycle.ByKey, "")
	of(minUnitsC, lifecycle.ByName, lifecycle.Service)
	return rules
}

// relationOf returns the number in a relation's key, or -1.
func relationOf(key string) int {
	kind, name := lifecycle.ParseKey(key)
	if n, err := strconv.Atoi(name); err == nil && kind == lifecycle.Relation {
		return n
	}
	return -1
}

// orphanedSettings reports the settings of a removed relation unless a cleanup will
// delete them.
func (v *view) orphanedSettings(where docID, relation int) *wrong {
	key := relationKey(relation)
	if v.hasCleanup(cleanupSettings, key) {
		return nil
	}
	return v.needsCleanup(where, cleanupSettings, key,
		fmt.Sprintf("relation %d is gone, and no cleanup will delete it", relation))
}

func (v *view) hasCleanup(kind, arg string) bool {
	return slices.ContainsFunc(v.where(cleanupsC, "arg", arg), func(r row) bool { return r.text("kind") == kind })
}

// needsCleanup reports something that the cleaner should do and has no cleanup for, and
// adds the cleanup.
func (v *view) needsCleanup(where docID, kind, arg, what string) *wrong {
	id := "check-" + kind + "-" + arg
	v.get(cleanupsC, id)
	return &wrong{where: where, what: what, repair: "leave it to the cleaner", // in another document than where
		ops: []txn.Op{{C: cleanupsC, Id: id, Insert: cleanupDoc{ID: id, Kind: kind, Arg: arg}}}}
}

// A recorded entity is an entity as a check reads it.
type recorded struct {
	kind lifecycle.Kind
	id   string // of its document
	doc  row
}

// entityIn reads an entity of a collection; false if it does not exist.
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

// name returns the entity's key without the prefix.
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
	return nil // credentials are optional, and judgeEnds covers endpoints
}

// sources returns the documents that refer to an entity by a reference. They change only
// together with the entity's counts.
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

// livingC are the collections of the entities that have counts.
var livingC = []string{machinesC, unitsC, servicesC, relationsC}

// countRules count what refers to each entity again.
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

// judgeCounts finds counts that differ from what was counted.
func (v *view) judgeCounts(key string, want bson.M) *wrong {
	has := v.get(countsC, key)
	where := docID{countsC, key}
	if has == nil {
		return toInsert(where, "it is missing", "write the right counts", want)
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
			off = append(off, "counts "+name+", of which there are none")
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
	return toUpdate(where, "it "+strings.Join(off, "; it "), "set it to the right counts", change)
}
