package lifecycle

import "strings"

// A Kind is a kind of entity, or of a reference without a life of its own. Principal and subordinate units are
// separate kinds, because different actors destroy and remove them.
type Kind string

// The kinds. A Container is a machine as the source of the reference to its host. A Scope is a unit's presence in a
// relation: it exists or it doesn't. An Attachment makes a Storage usable by a unit. An Offer lets other models relate to
// a service; a Remote is a service of another model that is used here.
const (
	Model       Kind = "model"
	Machine     Kind = "machine"
	Container   Kind = "container"
	Principal   Kind = "principal"
	Subordinate Kind = "subordinate"
	Service     Kind = "service"
	Relation    Kind = "relation"
	Scope       Kind = "scope"
	Storage     Kind = "storage"
	Attachment  Kind = "attachment"
	Offer       Kind = "offer"
	Remote      Kind = "remote service"
)

// A Row says how a kind is stored.
type Row struct {
	Kind   Kind
	In     string     // the collection
	Prefix string     // of the entities' keys: "m#" in "m#0"; "" if they have none
	Owns   []Document // the documents removed with an entity
}

// An ID is the form of the id of an owned document.
type ID string

// The forms of ids.
const (
	ByName     ID = "name"
	ByKey      ID = "key"
	ByTag      ID = "tag"
	ByDeployer ID = "deployer#name" // of a unit with a deployer
	ByService  ID = "service#name"  // one for each endpoint of a relation
)

// A Presence says whether an entity has an owned document.
type Presence string

// The presences. Removing an entity asserts that each Always document exists. For a Counted document it asserts the
// entity's count named after the collection, which is 1 while the document exists and missing otherwise. For a Followed one
// it asserts what it has read, and leaves to the cleaner what depends on the document.
const (
	Always    Presence = "always"
	Sometimes Presence = "sometimes"
	Counted   Presence = "counted"
	Followed  Presence = "followed"
)

// A Document is a document that an entity owns.
type Document struct {
	In     string // the collection
	ID     ID
	Suffix string // the end of the id, after the form
	Held   Presence
}

// Kinds says how every kind is stored. Each entity except the model also owns its counts,
// in the collection "counts", by its key.
var Kinds = []Row{
	{Model, "model", "e", nil},
	{Machine, "machines", "m#", []Document{
		{"statuses", ByKey, "", Sometimes},
		{"statuses", ByKey, "#instance", Sometimes}, // set by the cloud
		{"credentials", ByTag, "", Sometimes},
		{"constraints", ByKey, "", Sometimes},
		{"ports", ByName, "", Sometimes},
		{"annotations", ByKey, "", Counted},
	}},
	{Container, "machines", "m#", nil}, // see Machine for what it owns
	{Principal, "units", "u#", unitDocuments},
	{Subordinate, "units", "u#", unitDocuments},
	{Service, "services", "s#", []Document{
		{"settings", ByKey, "", Always},
		{"settings", ByKey, "#leader", Sometimes}, // set by its leaders
		{"constraints", ByKey, "", Always},
		{"statuses", ByKey, "", Always},
		{"leaders", ByName, "", Counted},
		{"resources", ByKey, "", Sometimes},
		{"annotations", ByKey, "", Counted},
		{"secrets", ByKey, "", Followed}, // its secrets, and what it may read, by the party's token
	}},
	{Relation, "relations", "r#", []Document{
		{"endpoints", ByService, "", Always},
		{"annotations", ByKey, "", Counted},
		{"secrets", ByKey, "", Followed}, // the secrets that were granted while it lasts
	}},
	{Scope, "scopes", "", nil},
	{Storage, "storage", "st#", []Document{
		{"statuses", ByKey, "", Sometimes}, // why it could not be created, attached or destroyed
	}},
	{Attachment, "attachments", "at#", nil},
	{Offer, "offers", "o#", nil},
	{Remote, "remotes", "rs#", []Document{
		{"statuses", ByKey, "", Always}, // of the service that is offered
	}},
}

var unitDocuments = []Document{
	{"deployments", ByDeployer, "", Always},
	{"statuses", ByKey, "", Sometimes},
	{"statuses", ByKey, "#workload", Sometimes}, // set by the charm
	{"settings", ByKey, "#state", Sometimes},    // what the charm stores in the controller
	{"resources", ByKey, "", Sometimes},         // the files that it fetched
	{"payloads", ByKey, "", Sometimes},          // what the charm says that it runs
	{"credentials", ByTag, "", Sometimes},
	{"constraints", ByKey, "", Sometimes},
	{"annotations", ByKey, "", Counted},
	{"secrets", ByKey, "", Followed}, // its secrets, and what it reads and may read
}

// RowOf returns the row of a kind, or the zero Row.
func RowOf(kind Kind) Row {
	for _, r := range Kinds {
		if r.Kind == kind {
			return r
		}
	}
	return Row{}
}

// Key returns the key of an entity.
func Key(kind Kind, name string) string { return RowOf(kind).Prefix + name }

// ParseKey returns the kind and name in a key, or in an id that begins with one. If several kinds have the same prefix,
// it returns the first; if none has it, "".
func ParseKey(key string) (kind Kind, name string) {
	for _, r := range Kinds {
		if rest, ok := strings.CutPrefix(key, r.Prefix); ok && r.Prefix != "" {
			name, _, _ = strings.Cut(rest, "#")
			if strings.HasSuffix(r.Prefix, "#") != (name == "") {
				return r.Kind, name
			}
		}
	}
	return "", ""
}
