package entity

import (
	"strings"
)

// A TagKind is the first word of a tag.
type TagKind string

// The kinds of entities that have tags.
const (
	KindMachine    TagKind = "machine"
	KindUnit       TagKind = "unit"
	KindService    TagKind = "service"
	KindRelation   TagKind = "relation"
	KindModel      TagKind = "model"
	KindUser       TagKind = "user"
	KindController TagKind = "controller"
	KindCharm      TagKind = "charm"
	KindTask       TagKind = "action"
	KindOperation  TagKind = "operation"
	KindStorage    TagKind = "storage"
	KindOffer      TagKind = "offer"
	KindSpace      TagKind = "space"
	KindSubnet     TagKind = "subnet"
	KindConsumer   TagKind = "consumer" // a model of another controller, by the token with which it uses an offer
)

// A Tag identifies one entity unambiguously: its kind, and its id as users see it ("0", "mysql/0",
// "mysql", "wordpress:db mysql:server", a UUID, a name). The zero Tag identifies nothing.
type Tag struct {
	Kind TagKind
	ID   string
}

// MachineTag returns the tag of machine id, such as "0" or "0/lxd/1".
func MachineTag(id string) Tag { return Tag{KindMachine, id} }

// UnitTag returns the tag of a unit, such as "mysql/0".
func UnitTag(name string) Tag { return Tag{KindUnit, name} }

// ServiceTag returns the tag of a service.
func ServiceTag(name string) Tag { return Tag{KindService, name} }

// RelationTag returns the tag of the relation with this key, such as
// "wordpress:db mysql:server" or "riak:ring".
func RelationTag(key string) Tag { return Tag{KindRelation, key} }

// ModelTag returns the tag of the model with this UUID.
func ModelTag(uuid string) Tag { return Tag{KindModel, uuid} }

// StorageTag returns the tag of a storage instance, such as "data/0".
func StorageTag(id string) Tag { return Tag{KindStorage, id} }

// OfferTag returns the tag of an offer, by its name.
func OfferTag(name string) Tag { return Tag{KindOffer, name} }

// SpaceTag returns the tag of a space, by its name.
func SpaceTag(name string) Tag { return Tag{KindSpace, name} }

// SubnetTag returns the tag of a subnet, by its number.
func SubnetTag(id string) Tag { return Tag{KindSubnet, id} }

// ConsumerTag returns the tag of a model of another controller that uses an offer, by its token's id.
func ConsumerTag(id string) Tag { return Tag{KindConsumer, id} }

// UserTag returns the tag of a user.
func UserTag(name string) Tag { return Tag{KindUser, name} }

// TaskTag returns the tag of a task, such as "12".
func TaskTag(id string) Tag { return Tag{KindTask, id} }

// OperationTag returns the tag of an operation, such as "11".
func OperationTag(id string) Tag { return Tag{KindOperation, id} }

// String returns the form used in file names, in logs and on the wire: "machine-0-lxd-1",
// "unit-mysql-0", "relation-wordpress.db#mysql.server". The wire calls a service "application";
// apiserver/params translates that.
func (t Tag) String() string {
	if t.IsZero() {
		return ""
	}
	id := t.ID
	switch t.Kind {
	case KindMachine:
		id = strings.ReplaceAll(id, "/", "-")
	case KindUnit, KindStorage:
		// Only the last slash: a service's name has none.
		if i := strings.LastIndexByte(id, '/'); i >= 0 {
			id = id[:i] + "-" + id[i+1:]
		}
	case KindRelation:
		id = strings.NewReplacer(":", ".", " ", "#").Replace(id)
	}
	return string(t.Kind) + "-" + id
}

// IsZero reports whether t is the zero Tag.
func (t Tag) IsZero() bool { return t == Tag{} }

// ParseTag parses the form that String returns. The errors are Invalid.
func ParseTag(s string) (Tag, error) {
	kind, id, ok := strings.Cut(s, "-")
	bad := WithHint(Errorf(Invalid, "%q is not a valid tag", s),
		"A tag is a kind and an id: machine-0, unit-web-0, service-web, user-bob")
	if !ok || id == "" {
		return Tag{}, bad
	}
	t := Tag{TagKind(kind), id}
	valid := false
	switch t.Kind {
	case KindMachine:
		t.ID = strings.ReplaceAll(id, "-", "/")
		valid = IsValidMachine(t.ID)
	case KindUnit:
		if i := strings.LastIndexByte(id, '-'); i >= 0 {
			t.ID = id[:i] + "/" + id[i+1:]
		}
		valid = IsValidUnit(t.ID)
	case KindStorage:
		if i := strings.LastIndexByte(id, '-'); i >= 0 {
			t.ID = id[:i] + "/" + id[i+1:]
		}
		valid = IsValidStorage(t.ID)
	case KindService, KindOffer:
		valid = IsValidService(id)
	case KindRelation:
		t.ID = strings.NewReplacer(".", ":", "#", " ").Replace(id)
		valid = IsValidRelationKey(t.ID)
	case KindUser:
		valid = IsValidUser(id)
	case KindModel, KindController, KindConsumer:
		valid = IsValidUUID(id)
	case KindTask, KindOperation, KindSubnet:
		valid = IsValidTask(id)
	case KindSpace:
		valid = IsValidSpace(id)
	case KindCharm:
		valid = true // package charm checks charm URLs
	}
	if !valid {
		return Tag{}, bad
	}
	return t, nil
}

// MarshalText returns the form that String returns.
func (t Tag) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText parses the form that String returns; an empty text is the zero Tag.
func (t *Tag) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*t = Tag{}
		return nil
	}
	*t, err = ParseTag(string(text))
	return err
}
