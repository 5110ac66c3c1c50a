package modeldb

import (
	"fmt"
	"strconv"
	"strings"

	"gopkg.in/mgo.v2/bson"

	"juju/state/entity"
	"juju/state/lifecycle"
)

// The collections of a model's database, with the format of their ids. A key is "m#0",
// "u#mysql/0", "s#mysql" or "r#5", and "e" for the model itself.
const (
	ModelC       = "model"       // "model": name, life, series
	MachinesC    = "machines"    // "0"
	UnitsC       = "units"       // "mysql/0"
	ServicesC    = "services"    // "mysql"
	RelationsC   = "relations"   // "wordpress:db mysql:server"
	EndpointsC   = "endpoints"   // "mysql#wordpress:db mysql:server": an end of a relation, by service
	ScopesC      = "scopes"      // "5#role#mysql/0", "5-unit-mysql-0#role#logging/0": a unit in a relation
	DeploymentsC = "deployments" // "machine-0#mysql/0", "unit-mysql-0#logging/0": a unit's deployer
	// "s#mysql": a service's settings, "s#mysql#leader": those set by its leaders,
	// "u#mysql/0#state": the state that a unit's charm stores in the controller,
	// "r#5#mysql/0", "r#5#mysql": those of a unit or service in a relation
	SettingsC    = "settings"
	ConstraintsC = "constraints" // a key: in the users' notation; the model's are in its document
	CountsC      = "counts"      // a key: the counts of references to it, and of documents that it owns; not watched
	StatusesC    = "statuses"    // a key, or one of a part: "u#mysql/0#workload" of the charm, "m#0#instance" of the cloud
	AnnotationsC = "annotations" // a key: users' notes
	MinUnitsC    = "minunits"    // "mysql": a service with a minimum number of units; changes when it may have too few
	LeadersC     = "leaders"     // "mysql": the unit that leads a service, and the epoch of its claim
	PortsC       = "ports"       // "0": a machine's open ports, with their units
	CredentialsC = "credentials" // a tag: the hash of an agent's password
	CharmsC      = "charms"      // a charm's URL
	ResourcesC   = "resources"   // a key: the files of a service's resources, or those that a unit has fetched
	PayloadsC    = "payloads"    // a key: what a unit's charm says that it runs
	UploadsC     = "uploads"     // a random id: the file of a resource that no service uses yet
	StorageC     = "storage"     // "data/0": a storage instance
	AttachmentsC = "attachments" // "unit-mysql-0#data/0": storage that a unit has
	OffersC      = "offers"      // "mysql": what lets services of other models relate to one of this model
	RemotesC     = "remotes"     // "mysql": a service of another model, by its name here
	ImportsC     = "imports"     // the cloud's id of a filesystem: a pending import
	NetworksC    = "networks"    // "networks": the spaces of the model, and the subnets of its cloud
	PoolsC       = "pools"       // a name: a storage pool created by users
	CleanupsC    = "cleanups"    // a random id: pending work
	BlocksC      = "blocks"      // a type: which changes are blocked, and why
	LeftoversC   = "leftovers"   // a random id: a cloud resource left over from a forced removal
	SequenceC    = "sequence"    // a sequence: its next number, written outside transactions
	OperationsC  = "operations"  // a number: a user's request for tasks
	TasksC       = "tasks"       // "unit-mysql-0#12": an action of a unit, or a command
	// An ID: a secret, "ID/3": the content of a revision, "ID#s#wordpress": a grant; "unit-wordpress-0#ID": what a unit reads;
	// a key: an entity that owns or may read secrets, or while which a grant lasts
	SecretsC = "secrets"
	HistoryC = "statushistory"
)

// Planned returns which documents the plans of changes depend on, by collection: what a change leads to, and whether it is
// refused. Charms are not among them, as they are never changed, nor counts, which follow from the others, nor what only
// people read.
func Planned() map[string]bson.D {
	all := map[string]bson.D{StatusesC: {{"status", entity.StatusError}}}
	for _, c := range []string{ModelC, MachinesC, UnitsC, ServicesC, RelationsC, EndpointsC, ScopesC, DeploymentsC, SettingsC,
		ConstraintsC, MinUnitsC, LeadersC, PortsC, ResourcesC, StorageC, AttachmentsC, OffersC, RemotesC, NetworksC, PoolsC,
		CleanupsC, BlocksC, LeftoversC} {
		all[c] = nil
	}
	return all
}

const ModelKey = "e"

func MachineKey(id string) string { return "m#" + id }

func InstanceKey(m string) string { return MachineKey(m) + "#instance" }

func UnitKey(name string) string { return "u#" + name }

func WorkloadKey(u string) string { return UnitKey(u) + "#workload" }

func ServiceKey(name string) string { return "s#" + name }

func RelationKey(id int) string { return "r#" + strconv.Itoa(id) }

func StorageKey(id string) string { return "st#" + id }

func RelationSettingsKey(id int, unit string) string { return RelationKey(id) + "#" + unit }

func LeaderSettingsKey(service string) string { return ServiceKey(service) + "#leader" }

func CharmStateKey(unit string) string { return UnitKey(unit) + "#state" }

func DeploymentID(parent entity.Tag, unit string) string { return parent.String() + "#" + unit }

func EndpointID(service, relation string) string { return service + "#" + relation }

// ScopePrefix begins the ids of one scope. A global relation is one scope; a container
// relation has one for each principal unit.
func ScopePrefix(relation int, container string) string {
	if container == "" {
		return strconv.Itoa(relation) + "#"
	}
	return strconv.Itoa(relation) + "-" + entity.UnitTag(container).String() + "#"
}

// TaskID returns the id of a task's document. The receiver comes first, so that its agent can watch its tasks.
func TaskID(receiver string, number int) string {
	return fmt.Sprintf("%s#%d", entity.ReceiverTag(receiver), number)
}

func AttachmentID(unit, storage string) string { return entity.UnitTag(unit).String() + "#" + storage }

// AttachmentName returns the name in an attachment's key: "mysql/0:data/0".
func AttachmentName(unit, storage string) string { return unit + ":" + storage }

// ParseAttachment returns the id of the attachment with a name.
func ParseAttachment(name string) (id string) {
	unit, storage, _ := strings.Cut(name, ":")
	return AttachmentID(unit, storage)
}

// MachineSequence numbers the machines that are not containers.
const MachineSequence = "machine"

func UnitSequence(service string) string { return "service-" + service }

// RelationSequence numbers relations.
const RelationSequence = "relation"

// StorageSequence numbers the storage instances of a model, whatever they are for.
const StorageSequence = "stores"

// TaskSequence numbers operations and tasks, from 1.
const TaskSequence = "task"

// FieldValue returns the value that a reference's field has for a target.
func FieldValue(target lifecycle.Kind, name string) any {
	if target == lifecycle.Relation {
		id, _ := strconv.Atoi(name)
		return id
	}
	return name
}

// SourcesQuery matches the documents that refer to a target.
func SourcesQuery(ref lifecycle.Ref, name string) bson.D {
	query := bson.D{}
	if ref.Field != "" {
		query = append(query, bson.DocElem{Name: ref.Field, Value: FieldValue(ref.To, name)})
	}
	if ref.Alive {
		query = append(query, bson.DocElem{Name: "life", Value: entity.Alive})
	}
	return query
}
