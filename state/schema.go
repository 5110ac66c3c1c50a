package state

import (
	"strconv"

	"juju/state/entity"
	"juju/state/mongo"
)

// The collections of a model's database. Ids are given with each; a key is
// "m#0", "u#mysql/0", "s#mysql", "r#5", or "e" for the model itself.
const (
	modelC       = "model"       // "model": name, life, series
	machinesC    = "machines"    // "0"
	unitsC       = "units"       // "mysql/0"
	servicesC    = "services"    // "mysql"
	relationsC   = "relations"   // "wordpress:db mysql:server"
	endpointsC   = "endpoints"   // "mysql#wordpress:db mysql:server": each end of a relation, under its service
	scopesC      = "scopes"      // "5#role#mysql/0", "5-unit-mysql-0#role#logging/0": a unit that is in a relation
	deploymentsC = "deployments" // "machine-0#mysql/0", "unit-mysql-0#logging/0": who deploys a unit
	settingsC    = "settings"    // "s#mysql": a service's, "r#5#mysql/0": what a unit told a relation
	constraintsC = "constraints" // a key: in the form that users write; the model's are in its document
	countsC      = "counts"      // a key: how many refer to it, by the names of lifecycle.Refs, and what it has one of; nobody watches it
	statusesC    = "statuses"    // a key; "u#mysql/0" is the agent's, "u#mysql/0#workload" the charm's, "m#0#instance" the cloud's
	annotationsC = "annotations" // a key: what users note about it
	minUnitsC    = "minunits"    // "mysql": a service that keeps units; changes when it may have too few
	leadersC     = "leaders"     // "mysql": which unit leads a service, and since which claim
	portsC       = "ports"       // "0": what is open on a machine, with the units that opened it
	credentialsC = "credentials" // a tag: the hash of an agent's password
	charmsC      = "charms"      // a charm's URL
	cleanupsC    = "cleanups"    // a random id: what is still to do
	blocksC      = "blocks"      // a type: what users are kept from, and why
	leftoversC   = "leftovers"   // a random id: what force has left behind outside of state
	sequenceC    = "sequence"    // what is numbered: the next number, written directly
	historyC     = "statushistory"
)

// The collections of the controller's own database, named "juju".
const (
	modelsC         = "models"         // a UUID: name, owner, step
	modelNamesC     = "modelnames"     // "owner#name": that it is taken
	usersC          = "users"          // a name in lower case
	modelUsersC     = "modelusers"     // "UUID#name": what a user may do at a model of another's
	loginsC         = "logins"         // a user's id, "UUID#name": when they last logged in
	controllerC     = "controller"     // "controller": UUID, name
	blobsC          = "blobs"          // a SHA-256: the archive's file, and the models that have it
	modelLeftoversC = "modelleftovers" // a model's UUID: what its removal with force has left outside of the store
	oldFilesC       = "oldfiles"       // a file's name: nobody refers to it, it is to be deleted
	leasesC         = "leases"         // a model's UUID, "#" and a service: who leads it for now; written directly
)

// schemaC holds one document in every database: in which form the database is.
const schemaC = "schema"

// Sizes are the bounds of what a database keeps for later readers only.
type Sizes struct {
	Log     int // bytes of a database's log of transactions
	History int // bytes of a model's status history
}

// DefaultSizes are those of a controller in service.
var DefaultSizes = Sizes{Log: 10 << 20, History: 20 << 20}

func modelSchema(sizes Sizes) mongo.Schema {
	return mongo.Schema{
		LogSize: sizes.Log,
		Capped:  map[string]int{historyC: sizes.History},
		Indexes: []mongo.Index{
			{Collection: unitsC, Fields: []string{"service"}},
			{Collection: unitsC, Fields: []string{"machine"}},
			{Collection: unitsC, Fields: []string{"principal"}},
			{Collection: relationsC, Fields: []string{"id"}, Unique: true},
			{Collection: endpointsC, Fields: []string{"service"}},
			{Collection: scopesC, Fields: []string{"relation"}},
			{Collection: scopesC, Fields: []string{"unit"}},
			{Collection: deploymentsC, Fields: []string{"parent"}},
			{Collection: settingsC, Fields: []string{"relation"}},
			{Collection: machinesC, Fields: []string{"clean"}},
			{Collection: machinesC, Fields: []string{"host"}},
		},
	}
}

func controllerSchema(sizes Sizes) mongo.Schema {
	return mongo.Schema{
		LogSize: sizes.Log,
		Indexes: []mongo.Index{
			{Collection: modelsC, Fields: []string{"owner", "name"}, Unique: true},
			{Collection: blobsC, Fields: []string{"models"}},
			{Collection: modelUsersC, Fields: []string{"model"}},
			{Collection: modelUsersC, Fields: []string{"user"}},
		},
	}
}

const modelKey = "e"

func machineKey(id string) string   { return "m#" + id }
func instanceKey(m string) string   { return machineKey(m) + "#instance" }
func unitKey(name string) string    { return "u#" + name }
func workloadKey(u string) string   { return unitKey(u) + "#workload" }
func serviceKey(name string) string { return "s#" + name }
func relationKey(id int) string     { return "r#" + strconv.Itoa(id) }

func relationSettingsKey(id int, unit string) string { return relationKey(id) + "#" + unit }

func deploymentID(parent entity.Tag, unit string) string { return parent.String() + "#" + unit }

func endpointID(service, relation string) string { return service + "#" + relation }

// scopePrefix is what the ids of one scope begin with: a global relation is one
// scope, of a container relation each principal unit has one.
func scopePrefix(relation int, container string) string {
	if container == "" {
		return strconv.Itoa(relation) + "#"
	}
	return strconv.Itoa(relation) + "-" + entity.UnitTag(container).String() + "#"
}
