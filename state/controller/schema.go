package controller

import (
	"cmp"

	"juju/state"
	"juju/state/mongo"
)

// The collections of the controller's own database, named "juju".
const (
	modelsC         = "models"         // a UUID: name, owner, step
	modelNamesC     = "modelnames"     // "owner#name": a name in use
	usersC          = "users"          // a name in lower case
	modelUsersC     = "modelusers"     // "UUID#name": a user's access to another's model or offer
	loginsC         = "logins"         // a user's id or "UUID#name": the last login
	controllerC     = "controller"     // "controller": UUID, name
	blobsC          = "blobs"          // a SHA-256: an archive's file, and the models that refer to it
	modelLeftoversC = "modelleftovers" // a model's UUID: what its forced removal left outside the store
	oldFilesC       = "oldfiles"       // a file's name: it is marked for deletion
	// "singular": the node that runs the workers that must run once
	controllerLeasesC = "controllerleases"
	nodesC            = "controllernodes" // a machine of the controller's model: the controller that it runs
	beatsC            = "controllerbeats" // a node: a number that grows while it is up
	presenceC         = "presence"        // "node#UUID": which agents of a model are connected to a node
	// "upgrade": what the controllers that share the store are being upgraded to; "forms": the schema that they have
	nodeUpgradesC = "controllerupgrades"
	// "controller": the credential of the cloud that replaces the first; "#name": another one
	cloudCredentialsC = "cloudcredentials"
	tokensC           = "tokens"   // "user#name": a token with which programs read a model
	sessionsC         = "sessions" // a user's session in a browser, or the log-in for one
	auditC            = "audit"    // capped: users' calls that changed something, in the order in which they ended
)

func controllerSchema(sizes state.Sizes) mongo.Schema {
	return mongo.Schema{
		LogSize: sizes.Log,
		Capped:  map[string]int{auditC: cmp.Or(sizes.Audit, auditSize)},
		Indexes: []mongo.Index{
			{Collection: modelsC, Fields: []string{"owner", "name"}, Unique: true},
			{Collection: blobsC, Fields: []string{"models"}},
			{Collection: modelUsersC, Fields: []string{"model"}},
			{Collection: modelUsersC, Fields: []string{"user"}},
			{Collection: modelUsersC, Fields: []string{"offer"}},
			{Collection: tokensC, Fields: []string{"hash"}, Unique: true},
			{Collection: tokensC, Fields: []string{"model"}},
			{Collection: tokensC, Fields: []string{"user"}},
			{Collection: sessionsC, Fields: []string{"hash"}, Unique: true},
			{Collection: sessionsC, Fields: []string{"user"}},
		},
	}
}
