package state

import (
	"strconv"

	"juju/state/entity"
	"juju/state/mongo"
)

// The collections of a model's database, with the form of their ids. A key is "m#0",
// "u#mysql/0", "s#mysql" or "r#5", and "e" for the model itself.
const (
	modelC       = "model"       // "model": name, life, series
	machinesC    = "machines"    // "0"
	unitsC       = "units"       // "mysql/0"
	servicesC    = "services"    // "mysql"
	relationsC   = "relations"   // "wordpress:db mysql:server"
	endpointsC   = "endpoints"   // "mysql#wordpress:db mysql:server": an end of a relation, by service
	scopesC      = "scopes"      // "5#role#mysql/0", "5-unit-mysql-0#role#logging/0": a unit in a relation
	deploymentsC = "deployments" // "machine-0#mysql/0", "unit-mysql-0#logging/0": a unit's deployer
	// "s#mysql": a service's settings, "s#mysql#leader": those that its leaders set,
	// "u#mysql/0#state": what a unit's charm keeps in the controller,
	// "r#5#mysql/0", "r#5#mysql": a unit's or service's in a relation
	settingsC    = "settings"
	constraintsC = "constraints" // a key: as users write them; the model's are in its document
	countsC      = "counts"      // a key: the counts of references to it, and of documents that it owns; not watched
	statusesC    = "statuses"    // a key, or one of a part: "u#mysql/0#workload" of the charm, "m#0#instance" of the cloud
	annotationsC = "annotations" // a key: users' notes
	minUnitsC    = "minunits"    // "mysql": a service with a minimum of units; changes when it may have too few
	leadersC     = "leaders"     // "mysql": the unit that leads a service, and the epoch of its claim
	portsC       = "ports"       // "0": a machine's open ports, with their units
	credentialsC = "credentials" // a tag: the hash of an agent's password
	charmsC      = "charms"      // a charm's URL
	resourcesC   = "resources"   // a key: the files of a service's resources, or those that a unit has fetched
	uploadsC     = "uploads"     // a random id: the file of a resource that no service uses yet
	storageC     = "storage"     // "data/0": a storage instance
	attachmentsC = "attachments" // "unit-mysql-0#data/0": storage that a unit has
	importsC     = "imports"     // the cloud's id of a filesystem: its import, which has begun
	poolsC       = "pools"       // a name: a storage pool that users have made
	cleanupsC    = "cleanups"    // a random id: work left to do
	blocksC      = "blocks"      // a type: what users are blocked from, and why
	leftoversC   = "leftovers"   // a random id: what forced removal left outside state
	sequenceC    = "sequence"    // a sequence: its next number, written outside transactions
	operationsC  = "operations"  // a number: what a user asked units to do at once
	tasksC       = "tasks"       // "unit-mysql-0#12": an action of a unit, or a command
	historyC     = "statushistory"
)

// Sizes bound the capped collections of a database, in bytes.
type Sizes struct {
	Log     int // a database's log of transactions
	History int // a model's status history
}

// DefaultSizes are the sizes in production.
var DefaultSizes = Sizes{Log: 10 << 20, History: 20 << 20}

// Schema returns the collections and indexes of a model's database.
func Schema(sizes Sizes) mongo.Schema {
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
			{Collection: tasksC, Fields: []string{"number"}, Unique: true},
			{Collection: tasksC, Fields: []string{"operation"}},
			{Collection: tasksC, Fields: []string{"unit"}},
			{Collection: machinesC, Fields: []string{"clean"}},
			{Collection: machinesC, Fields: []string{"host"}},
			{Collection: storageC, Fields: []string{"machine"}},
			{Collection: attachmentsC, Fields: []string{"machine"}},
			{Collection: attachmentsC, Fields: []string{"unit"}},
			{Collection: attachmentsC, Fields: []string{"storage"}},
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
func storageKey(id string) string   { return "st#" + id }

func relationSettingsKey(id int, unit string) string { return relationKey(id) + "#" + unit }

func leaderSettingsKey(service string) string { return serviceKey(service) + "#leader" }

func charmStateKey(unit string) string { return unitKey(unit) + "#state" }

func deploymentID(parent entity.Tag, unit string) string { return parent.String() + "#" + unit }

func endpointID(service, relation string) string { return service + "#" + relation }

// scopePrefix begins the ids of one scope. A global relation is one scope; a container
// relation has one for each principal unit.
func scopePrefix(relation int, container string) string {
	if container == "" {
		return strconv.Itoa(relation) + "#"
	}
	return strconv.Itoa(relation) + "-" + entity.UnitTag(container).String() + "#"
}
