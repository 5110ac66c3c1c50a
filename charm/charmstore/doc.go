// Package charmstore serves a directory of charms by Charmhub's protocol, for those who can't reach Charmhub, or don't want to.
//
// Each charm has a folder of its name:
//
//	NAME/releases.yaml             its id, and what is released in which channel: see record
//	NAME/NAME_rREVISION.charm      each revision, as charmcraft packs it
//	NAME/resources/RESOURCE_rN     each revision of a resource
//
// Files are written once, beside their place, and renamed, so a crash leaves none half written, and copies of the directory are
// whole. Whoever changes it, a server or a command on its host, holds a lock on it meanwhile; readers need none, and see a change as
// soon as it is made. A .charm that someone has put into a folder is a revision too.
package charmstore
