package modeldb

import (
	"slices"

	"gopkg.in/mgo.v2/bson"
	"gopkg.in/mgo.v2/txn"

	"juju/state/entity"
)

// Networks is the only document of the collection "networks": the model's spaces, and the subnets of its cloud. It is
// inserted when the cloud has first told its subnets.
type Networks struct {
	ID      string   `bson:"_id"`
	Spaces  []Space  `bson:"spaces"` // without alpha
	Subnets []Subnet `bson:"subnets"`
	Last    int      `bson:"last"`    // the last id of a space or subnet
	Version int64    `bson:"version"` // counts the changes of spaces and subnets
	// Uses counts the transactions that have made something use a space, so that the removal or renaming of one can assert
	// that nothing has begun to use it meanwhile.
	Uses int64 `bson:"uses"`

	Missing bool `bson:"-"` // the document does not exist yet
}

type Space struct {
	ID   string `bson:"id"` // in bindings; never changes
	Name string `bson:"name"`
}

type Subnet struct {
	entity.Subnet `bson:",inline"`
	Space         string `bson:"space"` // the id
}

// AsRead asserts that the spaces and subnets are unchanged since they were read.
func (d Networks) AsRead() any {
	if d.Missing {
		return txn.DocMissing
	}
	return bson.D{{"version", d.Version}}
}

// AllSpaces returns all spaces, alpha first.
func (d Networks) AllSpaces() []entity.Space {
	all := []entity.Space{{ID: entity.AlphaSpaceID, Name: entity.AlphaSpace}}
	for _, s := range d.Spaces {
		all = append(all, entity.Space{ID: s.ID, Name: s.Name})
	}
	for i := range all {
		for _, s := range d.Subnets {
			if s.Space == all[i].ID {
				all[i].Subnets = append(all[i].Subnets, s.Subnet)
			}
		}
	}
	return all
}

// SpaceNamed returns the space with a name.
func (d Networks) SpaceNamed(name string) (entity.Space, bool) {
	for _, s := range d.AllSpaces() {
		if s.Name == name {
			return s, true
		}
	}
	return entity.Space{}, false
}

// NameOf returns the name of the space with an id. A space that is gone is alpha.
func (d Networks) NameOf(id string) string {
	for _, s := range d.Spaces {
		if s.ID == id {
			return s.Name
		}
	}
	return entity.AlphaSpace
}

// SpaceOf returns the id of the space that an address is in; alpha's if no subnet has it.
func (d Networks) SpaceOf(address string) string {
	plain := make([]entity.Subnet, len(d.Subnets))
	for i, s := range d.Subnets {
		plain[i] = s.Subnet
	}
	if i := entity.SmallestSubnet(plain, address); i >= 0 {
		return d.Subnets[i].Space
	}
	return entity.AlphaSpaceID
}

// InSpace returns the first of a machine's addresses that is in a space; "" if none is.
func (d Networks) InSpace(id string, addresses []string) string {
	for _, a := range addresses {
		if d.SpaceOf(a) == id {
			return a
		}
	}
	return ""
}

// Clone returns a copy that shares nothing that callers change.
func (d Networks) Clone() Networks {
	d.Spaces, d.Subnets = slices.Clone(d.Spaces), slices.Clone(d.Subnets)
	return d
}
