package controller

import (
	"juju/state"
	"juju/state/mongo"
)

// The collections of the controller's own database, named "juju".
const (
	modelsC         = "models"         // a UUID: name, owner, step
	modelNamesC     = "modelnames"     // "owner#name": a name in use
	usersC          = "users"          // a name in lower case
	modelUsersC     = "modelusers"     // "UUID#name": a user's access to another's model
	loginsC         = "logins"         // a user's id or "UUID#name": the last login
	controllerC     = "controller"     // "controller": UUID, name
	blobsC          = "blobs"          // a SHA-256: an archive's file, and the models that refer to it
	modelLeftoversC = "modelleftovers" // a model's UUID: what its forced removal left outside the store
	oldFilesC       = "oldfiles"       // a file's name: it is marked for deletion
)

func controllerSchema(sizes state.Sizes) mongo.Schema {
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
