package networks_test

import (
	"testing"

	"juju/state/entity"
)

func TestSpacesAreShown(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.Model.Returns.Spaces = []entity.Space{
		{ID: "1", Name: "db", Subnets: []entity.Subnet{{CIDR: "10.0.0.0/24", ProviderID: "lxdbr0-10.0.0.0/24", Zones: []string{"z1", "z2"}},
			{CIDR: "fd00::/64", Zones: []string{"z1"}}}},
		{ID: "2", Name: "admin"},
		{ID: "0", Name: "alpha", Subnets: []entity.Subnet{{CIDR: "10.0.1.0/24"}}},
	}
	u.Model.Returns.SpaceUse = entity.SpaceUse{Bound: []string{"web", "store"}, Constrained: []entity.Tag{
		{Kind: entity.KindModel, ID: "u"}, entity.ServiceTag("web"), entity.ServiceTag("log")}, Machines: 3}
	u.CheckShown("spaces.txt")
}
