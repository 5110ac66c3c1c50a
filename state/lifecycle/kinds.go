package lifecycle

import "strings"

// A Kind is a kind of entity, or of a reference that has no life of its own.
// Principal and subordinate units differ in who destroys and removes them, so
// they are two.
type Kind string

// The kinds. A Container is a machine as it refers to its host. A Scope is a
// unit's presence in a relation: it exists or it doesn't.
const (
	Model       Kind = "model"
	Machine     Kind = "machine"
	Container   Kind = "container"
	Principal   Kind = "principal"
	Subordinate Kind = "subordinate"
	Service     Kind = "service"
	Relation    Kind = "relation"
	Scope       Kind = "scope"
)

// A Row says how a kind is stored.
type Row struct {
	Kind   Kind
	In     string     // the collection of its documents
	Prefix string     // what the key of an entity begins with, before its name: "m#" in "m#0"; "" if it has no key
	Owns   []Document // the documents that are removed with it
}

// An ID is the form of an owned document's id.
type ID string

// The forms of ids.
const (
	ByName     ID = "name"
	ByKey      ID = "key"
	ByTag      ID = "tag"
	ByDeployer ID = "deployer#name" // of a unit that is deployed
	ByService  ID = "service#name"  // one for each end of a relation
)

// A Presence says when an entity has an owned document.
type Presence string

// The presences. The removal of an entity asserts Always; it asserts Counted by
// the count of the entity that has the collection's name, which is 1 while the
// document exists and missing otherwise.
const (
	Always    Presence = "always"
	Sometimes Presence = "sometimes"
	Counted   Presence = "counted"
)

// A Document is a document that an entity owns.
type Document struct {
	In     string // its collection
	ID     ID
	Suffix string // what follows the form in the id
	Held   Presence
}

// Kinds is how every kind is stored. Each entity but the model also owns its
// counts, in the collection "counts", by its key.
var Kinds = []Row{
	{Model, "model", "e", nil},
	{Machine, "machines", "m#", []Document{
		{"statuses", ByKey, "", Sometimes},
		{"statuses", ByKey, "#instance", Sometimes}, // the cloud's
		{"credentials", ByTag, "", Sometimes},
		{"constraints", ByKey, "", Sometimes},
		{"ports", ByName, "", Sometimes},
		{"annotations", ByKey, "", Counted},
	}},
	{Container, "machines", "m#", nil}, // owns what it owns as a machine
	{Principal, "units", "u#", unitDocuments},
	{Subordinate, "units", "u#", unitDocuments},
	{Service, "services", "s#", []Document{
		{"settings", ByKey, "", Always},
		{"constraints", ByKey, "", Always},
		{"statuses", ByKey, "", Always},
		{"leaders", ByName, "", Counted},
		{"annotations", ByKey, "", Counted},
	}},
	{Relation, "relations", "r#", []Document{
		{"endpoints", ByService, "", Always},
		{"annotations", ByKey, "", Counted},
	}},
	{Scope, "scopes", "", nil},
}

var unitDocuments = []Document{
	{"deployments", ByDeployer, "", Always},
	{"statuses", ByKey, "", Sometimes},
	{"statuses", ByKey, "#workload", Sometimes}, // the charm's
	{"credentials", ByTag, "", Sometimes},
	{"constraints", ByKey, "", Sometimes},
	{"annotations", ByKey, "", Counted},
}

// RowOf returns how a kind is stored.
func RowOf(kind Kind) Row {
	for _, r := range Kinds {
		if r.Kind == kind {
			return r
		}
	}
	return Row{}
}

// Key returns the key of an entity by its kind and name.
func Key(kind Kind, name string) string { return RowOf(kind).Prefix + name }

// ParseKey returns the first kind whose keys look like this, and the name that
// the key, or an id that begins with a key, has in it. The kind is "" when there
// is none.
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
