package modeltest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/internal/modeldb"
)

// collections are those of each type of document.
var collections = map[reflect.Type]string{
	reflect.TypeFor[modeldb.Model]():       modeldb.ModelC,
	reflect.TypeFor[modeldb.Machine]():     modeldb.MachinesC,
	reflect.TypeFor[modeldb.Unit]():        modeldb.UnitsC,
	reflect.TypeFor[modeldb.Service]():     modeldb.ServicesC,
	reflect.TypeFor[modeldb.Relation]():    modeldb.RelationsC,
	reflect.TypeFor[modeldb.RelationEnd](): modeldb.EndpointsC,
	reflect.TypeFor[modeldb.Scope]():       modeldb.ScopesC,
	reflect.TypeFor[modeldb.Deployment]():  modeldb.DeploymentsC,
	reflect.TypeFor[modeldb.Settings]():    modeldb.SettingsC,
	reflect.TypeFor[modeldb.Constraints](): modeldb.ConstraintsC,
	reflect.TypeFor[modeldb.Status]():      modeldb.StatusesC,
	reflect.TypeFor[modeldb.PastStatus]():  modeldb.HistoryC,
	reflect.TypeFor[modeldb.Annotations](): modeldb.AnnotationsC,
	reflect.TypeFor[modeldb.MinUnits]():    modeldb.MinUnitsC,
	reflect.TypeFor[modeldb.Leader]():      modeldb.LeadersC,
	reflect.TypeFor[modeldb.Ports]():       modeldb.PortsC,
	reflect.TypeFor[modeldb.Credential]():  modeldb.CredentialsC,
	reflect.TypeFor[modeldb.Charm]():       modeldb.CharmsC,
	reflect.TypeFor[modeldb.Resources]():   modeldb.ResourcesC,
	reflect.TypeFor[modeldb.Payloads]():    modeldb.PayloadsC,
	reflect.TypeFor[modeldb.Upload]():      modeldb.UploadsC,
	reflect.TypeFor[modeldb.Storage]():     modeldb.StorageC,
	reflect.TypeFor[modeldb.Attachment]():  modeldb.AttachmentsC,
	reflect.TypeFor[modeldb.Offer]():       modeldb.OffersC,
	reflect.TypeFor[modeldb.Remote]():      modeldb.RemotesC,
	reflect.TypeFor[modeldb.Import]():      modeldb.ImportsC,
	reflect.TypeFor[modeldb.Networks]():    modeldb.NetworksC,
	reflect.TypeFor[modeldb.Pool]():        modeldb.PoolsC,
	reflect.TypeFor[modeldb.Cleanup]():     modeldb.CleanupsC,
	reflect.TypeFor[modeldb.Block]():       modeldb.BlocksC,
	reflect.TypeFor[modeldb.Leftover]():    modeldb.LeftoversC,
	reflect.TypeFor[modeldb.Operation]():   modeldb.OperationsC,
	reflect.TypeFor[modeldb.Task]():        modeldb.TasksC,
	reflect.TypeFor[modeldb.Secret]():      modeldb.SecretsC,
}

// Put writes documents, in place of those that are there, outside any transaction. Their types say into which collections.
func (m *Model) Put(docs ...any) {
	m.t.Helper()
	for _, doc := range docs {
		if c, ok := doc.(Counts); ok { // changed, as by a transaction, even if they are the same
			m.revno++
			of := map[string]int{"txn-revno": m.revno}
			maps.Copy(of, c.Of)
			m.PutIn(modeldb.CountsC, c.Key, of)
			continue
		}
		collection := collections[reflect.TypeOf(doc)]
		m.PutIn(collection, idOf(doc), doc)
	}
}

// idOf returns the id of a document.
func idOf(doc any) any {
	switch d := doc.(type) {
	case modeldb.RelationEnd: // which has none in it
		return modeldb.EndpointID(d.Service, d.Relation)
	case modeldb.Deployment:
		parent, _ := entity.ParseTag(d.Parent)
		return modeldb.DeploymentID(parent, d.Unit)
	}
	data, err := bson.Marshal(doc)
	if err != nil {
		panic(err)
	}
	var with struct {
		ID any `bson:"_id"`
	}
	if err := bson.Unmarshal(data, &with); err != nil || with.ID == nil {
		panic(fmt.Sprintf("%T has no id: %v", doc, err))
	}
	return with.ID
}

// PutIn writes a document into a collection.
func (m *Model) PutIn(collection string, id, doc any) {
	m.t.Helper()
	m.OK(m.With(m.Ctx, collection, func(c *mgo.Collection) error {
		_, err := c.UpsertId(id, doc)
		return err
	}))
}

// Remove removes a document.
func (m *Model) Remove(collection, id string) {
	m.t.Helper()
	m.OK(m.With(m.Ctx, collection, func(c *mgo.Collection) error { return c.RemoveId(id) }))
}

func (m *Model) update(collection, id string, update bson.D) {
	m.t.Helper()
	m.OK(m.With(m.Ctx, collection, func(c *mgo.Collection) error { return c.UpdateId(id, update) }))
}

// Get returns the document of a type with an id, which must exist.
func Get[D any](m *Model, id string) (doc D) {
	m.t.Helper()
	m.OK(m.Database.Get(m.Ctx, collections[reflect.TypeFor[D]()], id, &doc, id))
	return doc
}

// All returns the documents of a type, in the order of their ids.
func All[D any](m *Model) (docs []D) {
	m.t.Helper()
	m.OK(m.Database.All(m.Ctx, collections[reflect.TypeFor[D]()], nil, &docs))
	slices.SortFunc(docs, func(a, b D) int {
		x, y := idOf(a), idOf(b)
		if one, ok := x.(bson.ObjectId); ok { // hexadecimal: its digits are no numbers
			return cmp.Compare(one, y.(bson.ObjectId))
		}
		return entity.CompareNatural(fmt.Sprint(x), fmt.Sprint(y))
	})
	return docs
}

// IDsIn returns the ids of a collection's documents, in order.
func (m *Model) IDsIn(collection string) []string {
	m.t.Helper()
	ids, err := m.DB.IDs(m.Ctx, collection, nil)
	m.OK(err)
	slices.SortFunc(ids, entity.CompareNatural)
	return ids
}

// Count returns one of an entity's counts.
func (m *Model) CountOf(key, name string) int {
	m.t.Helper()
	counts, err := m.CountsOf(m.Ctx, key)
	m.OK(err)
	return counts[name]
}

// CleanupsLeft returns the kinds and arguments of the cleanups, in order: "destroy s#mysql".
func (m *Model) CleanupsLeft() []string {
	m.t.Helper()
	all := map[string]bool{}
	for _, c := range All[modeldb.Cleanup](m) {
		all[c.Kind+" "+c.Arg] = true
	}
	return slices.Sorted(maps.Keys(all))
}
