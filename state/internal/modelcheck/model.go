package modelcheck

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/check"
	"juju/state/entity"
	"juju/state/internal/modeldb"
	"juju/state/lease"
	"juju/state/lifecycle"
	"juju/state/schema"
)

// Fields has the collections of a model that the rules read, and the fields they read;
// nil means all. Every collection is either here or in Unruled.
var Fields = map[string][]string{
	modeldb.ModelC:       {"life", "constraints"},
	modeldb.MachinesC:    {"life", "strength", "deadline", "host", "addresses", "cloudaddresses", "hostaddresses", "upgrade"},
	modeldb.UnitsC:       {"life", "strength", "deadline", "service", "machine", "principal", "charm"},
	modeldb.ServicesC:    {"life", "strength", "deadline", "machines", "charm", "minunits", "rollout", "bindings", "exposures"},
	modeldb.NetworksC:    {"spaces", "subnets"},
	modeldb.RelationsC:   {"life", "strength", "deadline", "id", "endpoints.service", "endpoints.remote", "offer"},
	modeldb.OffersC:      {"life", "strength", "deadline", "service"},
	modeldb.RemotesC:     {"life", "strength", "deadline"},
	modeldb.EndpointsC:   {"life", "strength", "service", "relation"},
	modeldb.ScopesC:      {"relation", "unit", "remote", "role"},
	modeldb.DeploymentsC: {"parent", "unit"},
	modeldb.SettingsC:    {"relation"},
	modeldb.ConstraintsC: {"value"},
	modeldb.AnnotationsC: {"_id"},
	modeldb.CountsC:      nil,
	modeldb.StatusesC:    {"status", "message", "data", "since"},
	modeldb.LeadersC:     {"_id"},
	modeldb.MinUnitsC:    {"_id"},
	modeldb.PortsC:       nil,
	modeldb.CredentialsC: {"_id"},
	modeldb.CharmsC:      {"sha256"},
	modeldb.ResourcesC:   {"files"},
	modeldb.PayloadsC:    {"_id"},
	modeldb.UploadsC:     {"sha256", "stored"},
	modeldb.StorageC:     {"life", "strength", "deadline", "machine"},
	modeldb.AttachmentsC: {"life", "strength", "deadline", "unit", "storage"},
	modeldb.ImportsC:     {"storage", "pool", "began"},
	modeldb.CleanupsC:    {"kind", "arg"},
	modeldb.SecretsC: {"kind", "token", "owner", "service", "rotatedue", "latest", "news", "revisions", "secret", "subject", "ownertoken",
		"scope", "unit", "tracked", "model"},
	modeldb.SequenceC:   {"counter"},
	modeldb.OperationsC: {"_id"},
	modeldb.TasksC:      {"number", "operation", "unit", "status"},
	schema.Collection:   {"_id"},
}

// Unruled maps the collections that need no rules to the reasons.
var Unruled = map[string]string{
	modeldb.HistoryC:   "the past; bounded, and written outside transactions",
	modeldb.BlocksC:    "each stands alone",
	modeldb.PoolsC:     "each stands alone: what needs one that is gone is refused",
	modeldb.LeftoversC: "their entities are gone",
}

// Outside provides what the rules need besides the model's database.
type Outside struct {
	UUID     string
	Leases   *lease.Leases
	Archives interface {
		Find(ctx context.Context, sum string) (there, referred bool, err error)
		Refer(ctx context.Context, sum string) error
	}
	// Made returns the model's document as it was created.
	Made func() (modeldb.Model, error)
	// EndLease removes the lease of a removed service.
	EndLease func(ctx context.Context, service string) error
}

// Rules returns the rules of a model's database.
func (o Outside) Rules() []check.Rule {
	return slices.Concat(check.PointerRules(modelPointers()), asRules(modelRules), asRules([]rule{
		{of: modeldb.ModelC, ids: func(*view) []string { return []string{modeldb.ModelC} }, judge: o.judgeModel},
		{of: modeldb.CharmsC, judge: o.judgeCharm},
		{of: modeldb.ResourcesC, judge: o.judgeResources},
		{of: modeldb.UploadsC, judge: o.judgeUpload},
		{of: lease.Collection, ids: o.leasesOf, judge: o.judgeLease},
	}))
}

// modelRules are the rules that need only the model's database.
var modelRules = slices.Concat(
	ownedRules(), ownerRules(), countRules(), lifeRules(),
	[]rule{
		{of: modeldb.DeploymentsC, judge: judgeDeployment},
		{of: modeldb.RelationsC, judge: judgeEnds},
		{of: modeldb.EndpointsC, judge: judgeEndpoint},
		{of: modeldb.ScopesC, judge: judgeScope},
		{of: modeldb.SettingsC, judge: judgeSettings},
		{of: modeldb.PortsC, judge: judgePorts},
		{of: modeldb.PortsC, judge: judgeRanges},
		{of: modeldb.StatusesC, judge: judgeStatus},
		{of: modeldb.MachinesC, judge: judgeAddresses},
		{of: modeldb.MachinesC, judge: judgeUpgrade},
		{of: modeldb.CleanupsC, judge: judgeCleanup},
		{of: modeldb.SequenceC, ids: sequences, judge: judgeSequence},
		{of: modeldb.ServicesC, judge: judgeMinUnits},
		{of: modeldb.MinUnitsC, judge: judgeMinUnits},
		{of: modeldb.ServicesC, judge: judgeRollout},
		{of: modeldb.ServicesC, judge: judgeBindings},
		{of: modeldb.ServicesC, judge: judgeExposed},
		{of: modeldb.NetworksC, judge: judgeSubnets},
		{of: modeldb.ModelC, judge: judgeConstraints(modeldb.ModelC, "constraints")},
		{of: modeldb.ConstraintsC, judge: judgeConstraints(modeldb.ConstraintsC, "value")},
		{of: modeldb.ImportsC, judge: judgeImport},
		{of: modeldb.TasksC, judge: judgeTask},
		{of: modeldb.OperationsC, judge: judgeOperation},
		{of: modeldb.SecretsC, judge: judgeSecrets},
	})

func (o Outside) judgeModel(v *view, id string) *check.Wrong {
	if v.Get(modeldb.ModelC, id) != nil {
		return nil
	}
	made, err := o.Made()
	if err != nil {
		v.Fail(err)
		return nil
	}
	return check.Insert(check.DocID{modeldb.ModelC, id}, "it is missing, so nothing can be added to the model",
		"write it as for a new model", made)
}

const outOfState = "remove it with everything that it owns"

// modelPointers are the references of lifecycle.Refs, and those that no life depends on.
func modelPointers() []check.Pointer {
	all := []check.Pointer{
		{modeldb.TasksC, "its operation", check.Named(modeldb.OperationsC, "operation"), "remove it"},
		{modeldb.UnitsC, "its charm", check.Named(modeldb.CharmsC, "charm"), ""},
		{modeldb.ServicesC, "its charm", check.Named(modeldb.CharmsC, "charm"), ""},
		{modeldb.ServicesC, "its former charm", func(_ *check.View, _ string, r check.Row) (all []check.DocID) {
			if r.Doc("rollout") != nil {
				all = append(all, check.DocID{modeldb.CharmsC, r.Doc("rollout").Text("former")})
			}
			return all
		}, ""},
		{modeldb.EndpointsC, "its relation", check.Named(modeldb.RelationsC, "relation"), "remove it"},
		{modeldb.DeploymentsC, "its unit", check.Named(modeldb.UnitsC, "unit"), "remove it"},
		{modeldb.DeploymentsC, "its deployer", func(_ *check.View, _ string, r check.Row) []check.DocID {
			return []check.DocID{ownerOfTag(r.Text("parent"))}
		}, "remove it"},
		{modeldb.RelationsC, "its service", func(_ *check.View, _ string, r check.Row) (all []check.DocID) {
			for _, end := range r.Docs("endpoints") {
				switch {
				case end["remote"] != true:
					all = append(all, check.DocID{modeldb.ServicesC, end.Text("service")})
				case r.Text("offer") == "":
					all = append(all, check.DocID{modeldb.RemotesC, end.Text("service")})
				}
			}
			return all
		}, outOfState},
	}
	seen := map[string]bool{modeldb.EndpointsC + "service": true} // covered by the relation's endpoints
	for _, ref := range lifecycle.Refs {
		if !ref.IsCounted() || seen[ref.In+ref.Field] {
			continue
		}
		seen[ref.In+ref.Field] = true
		p := check.Pointer{ref.In, "its " + ref.Field, check.Named(lifecycle.RowOf(ref.To).In, ref.Field), outOfState}
		if ref.From == lifecycle.Scope {
			p.Repair = "remove it"
		}
		if ref.To == lifecycle.Relation {
			p.To = func(v *check.View, _ string, r check.Row) []check.DocID {
				return []check.DocID{(&view{v}).relation(r.Number(ref.Field))}
			}
		}
		all = append(all, p)
	}
	return all
}

// relation finds a relation by its number. A relation that does not exist has no counts
// either, because they are inserted and removed with it.
func (v *view) relation(number int) check.DocID {
	v.Get(modeldb.CountsC, modeldb.RelationKey(number))
	for _, r := range v.Where(modeldb.RelationsC, "id", number) {
		return check.DocID{modeldb.RelationsC, r.Text("_id")}
	}
	return check.DocID{modeldb.RelationsC, fmt.Sprintf("(number %d)", number)}
}

// ownerOfTag returns the document of a machine's or unit's tag.
func ownerOfTag(tag string) check.DocID {
	t, err := entity.ParseTag(tag)
	switch {
	case err == nil && t.Kind == entity.KindMachine:
		return check.DocID{modeldb.MachinesC, t.ID}
	case err == nil && t.Kind == entity.KindUnit:
		return check.DocID{modeldb.UnitsC, t.ID}
	}
	return check.DocID{modeldb.UnitsC, tag} // no unit has this name
}

// owner returns the entity that owns a document, according to the form of the document's
// id; false if the id has another form.
func (v *view) owner(form lifecycle.ID, kind lifecycle.Kind, id string) (check.DocID, bool) {
	switch form {
	case lifecycle.ByName:
		return check.DocID{lifecycle.RowOf(kind).In, id}, true
	case lifecycle.ByTag:
		return ownerOfTag(id), true
	}
	kind, name := lifecycle.ParseKey(id)
	switch kind {
	case "":
		return check.DocID{}, false
	case lifecycle.Model:
		return check.DocID{modeldb.ModelC, modeldb.ModelC}, true
	case lifecycle.Relation:
		n, err := strconv.Atoi(name)
		return v.relation(n), err == nil
	}
	if kind == lifecycle.Attachment {
		name = modeldb.ParseAttachment(name)
	}
	return check.DocID{lifecycle.RowOf(kind).In, name}, true
}

// ownerRules check that each owned document's owner exists.
func ownerRules() (rules []rule) {
	seen := map[string]bool{}
	of := func(collection string, form lifecycle.ID, kind lifecycle.Kind) {
		if seen[collection] {
			return
		}
		seen[collection] = true
		rules = append(rules, rule{of: collection, judge: func(v *view, id string) *check.Wrong {
			if v.Get(collection, id) == nil {
				return nil
			}
			where := check.DocID{collection, id}
			to, known := v.owner(form, kind, id)
			if !known {
				return &check.Wrong{Where: where, What: "it has no owner of a known kind"}
			}
			if v.Get(to.Collection, to.ID) != nil {
				return nil
			}
			if n := relationOf(id); collection == modeldb.SettingsC && n >= 0 {
				return v.orphanedSettings(where, n)
			}
			return check.Remove(where, fmt.Sprintf("its owner does not exist: %v", to), "remove it")
		}})
	}
	for _, kind := range lifecycle.Kinds {
		for _, doc := range kind.Owns {
			if doc.Held != lifecycle.Followed && (doc.ID == lifecycle.ByKey || doc.ID == lifecycle.ByName ||
				doc.ID == lifecycle.ByTag) {
				of(doc.In, doc.ID, kind.Kind)
			} // modelPointers covers the other forms, and judgeSecrets what is followed
		}
	}
	of(modeldb.CountsC, lifecycle.ByKey, "")
	of(modeldb.MinUnitsC, lifecycle.ByName, lifecycle.Service)
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
func (v *view) orphanedSettings(where check.DocID, relation int) *check.Wrong {
	key := modeldb.RelationKey(relation)
	if v.hasCleanup(modeldb.CleanupSettings, key) {
		return nil
	}
	return v.needsCleanup(where, modeldb.CleanupSettings, key,
		fmt.Sprintf("relation %d is gone, and no cleanup will delete it", relation))
}

func (v *view) hasCleanup(kind, arg string) bool {
	return slices.ContainsFunc(v.Where(modeldb.CleanupsC, "arg", arg), func(r check.Row) bool {
		return r.Text("kind") == kind
	})
}

// needsCleanup reports a missing cleanup. The repair adds it.
func (v *view) needsCleanup(where check.DocID, kind, arg, what string) *check.Wrong {
	id := "check-" + kind + "-" + arg
	v.Get(modeldb.CleanupsC, id)
	return &check.Wrong{Where: where, What: what, Repair: "leave it to the cleaner", // not in the document at where
		Ops: []txn.Op{{C: modeldb.CleanupsC, Id: id, Insert: modeldb.Cleanup{ID: id, Kind: kind, Arg: arg}}}}
}

// A recorded is an entity as a check reads it.
type recorded struct {
	kind lifecycle.Kind
	id   string // of its document
	doc  check.Row
}

// entityIn reads an entity of a collection; false if it does not exist.
func (v *view) entityIn(collection, id string) (e recorded, ok bool) {
	e = recorded{id: id, doc: v.Get(collection, id)}
	switch collection {
	case modeldb.ModelC:
		e.kind = lifecycle.Model
	case modeldb.MachinesC:
		e.kind = lifecycle.Machine
	case modeldb.ServicesC:
		e.kind = lifecycle.Service
	case modeldb.RelationsC:
		e.kind = lifecycle.Relation
	case modeldb.StorageC:
		e.kind = lifecycle.Storage
	case modeldb.AttachmentsC:
		e.kind = lifecycle.Attachment
	case modeldb.OffersC:
		e.kind = lifecycle.Offer
	case modeldb.RemotesC:
		e.kind = lifecycle.Remote
	case modeldb.UnitsC:
		if e.kind = lifecycle.Principal; e.doc.Text("principal") != "" {
			e.kind = lifecycle.Subordinate
		}
	}
	return e, e.doc != nil
}

// String returns the name that users know the entity by: "unit mysql/0".
func (e recorded) String() string {
	switch e.kind {
	case lifecycle.Principal, lifecycle.Subordinate:
		return "unit " + e.id
	case lifecycle.Container:
		return "machine " + e.id
	}
	return string(e.kind) + " " + e.id
}

func (e recorded) where() check.DocID { return check.DocID{lifecycle.RowOf(e.kind).In, e.id} }

// name returns the entity's key without the prefix.
func (e recorded) name() string {
	switch e.kind {
	case lifecycle.Relation:
		return strconv.Itoa(e.doc.Number("id"))
	case lifecycle.Attachment:
		return modeldb.AttachmentName(e.doc.Text("unit"), e.doc.Text("storage"))
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
			return []string{modeldb.DeploymentID(parent, e.id)}
		}
	}
	return nil // credentials are optional, and judgeEnds covers endpoints
}

// sources returns the documents that refer to an entity by a reference. They only change
// together with the entity's counts.
func (v *view) sources(ref lifecycle.Ref, e recorded) []check.Row {
	var all []check.Row
	if ref.IsCounted() {
		all = v.Where(ref.In, ref.Field, modeldb.FieldValue(e.kind, e.name()))
	} else {
		all = v.All(ref.In)
	}
	if !ref.Alive {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(r check.Row) bool { return r.Life() != entity.Alive })
}

// livingC are the collections of the entities that have counts.
var livingC = []string{modeldb.MachinesC, modeldb.UnitsC, modeldb.ServicesC, modeldb.RelationsC, modeldb.StorageC,
	modeldb.AttachmentsC, modeldb.OffersC, modeldb.RemotesC}

// countRules recount the references to each entity.
func countRules() (rules []rule) {
	for _, collection := range livingC {
		rules = append(rules, rule{of: collection, judge: func(v *view, id string) *check.Wrong {
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

// judgeCounts finds counts that differ from the recounted ones.
func (v *view) judgeCounts(key string, want bson.M) *check.Wrong {
	has := v.Get(modeldb.CountsC, key)
	where := check.DocID{modeldb.CountsC, key}
	if has == nil {
		return check.Insert(where, "it is missing", "write the right counts", want)
	}
	var off []string
	set, unset := bson.M{}, bson.M{}
	for name, n := range want {
		if got, ok := check.AsNumber(has[name]); !ok {
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
	return check.Update(where, "it "+strings.Join(off, "; it "), "set it to the right counts", change)
}
