// Package secrets manages a model's secrets: what charms and users keep from all but those to whom they grant it.
//
// A secret belongs to a unit, a service or, if a user has added it, the model. Each change of its content makes a
// revision. A unit that has read a secret tracks a revision, which it reads until it asks for the latest one. A revision
// that is not the latest and that no unit tracks is obsolete: its owner is told, or it is deleted if a user has asked for
// that.
//
// Owners, readers and the relations while which a grant lasts have a party, a document that is removed with them, in the
// same transaction (lifecycle.Kinds has it). Secrets, grants and what units have read name the parties' tokens, so all that
// depends on an entity ends with it, however much it is; the cleaner deletes the documents later. A later entity of the
// same name has another token.
//
// What a unit is to be told is in the documents too: of a new revision in those of its readers (told by the cleaner, as
// there may be many), of the rest in the secret's own. A hook commits that it was told together with its changes, so it is
// told once per commit, and no agent remembers anything.
package secrets
