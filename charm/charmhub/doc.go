// Package charmhub is the client of a charm store that speaks Charmhub's protocol, and has the types of its messages, which package
// charmstore serves too.
//
// Sources: the packages charmhub of Juju 3.6 and internal/charmhub of Juju 4.0, which are this protocol's other clients. Names in
// JSON are theirs. A store is not trusted: what it says is bounded, an archive is used only if its hashes are those that the store
// has promised, and a name of a file comes from a charm's checked name and never from a reply.
package charmhub
