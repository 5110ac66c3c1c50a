package params

import "juju/state/entity"

// A CreateSpaces is the parameter of Spaces 6 CreateSpaces.
type CreateSpaces struct {
	Spaces []CreateSpace `json:"spaces"`
}

// A CreateSpace describes a new space. Public and ProviderID have no effect: spaces are the users', not the cloud's.
type CreateSpace struct {
	CIDRs      []string `json:"cidrs"`
	SpaceTag   Tag      `json:"space-tag"`
	Public     bool     `json:"public"`
	ProviderID string   `json:"provider-id,omitempty"`
}

// A ListSpacesResults is the result of ListSpaces.
type ListSpacesResults struct {
	Results []Space `json:"results"`
}

// A Space is a space with its subnets.
type Space struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Subnets []Subnet `json:"subnets"`
	Error   *Error   `json:"error,omitempty"`
}

// A Subnet is a range of addresses in the cloud. VLANTag is always 0.
type Subnet struct {
	CIDR              string   `json:"cidr"`
	ProviderID        string   `json:"provider-id,omitempty"`
	ProviderNetworkID string   `json:"provider-network-id,omitempty"`
	VLANTag           int      `json:"vlan-tag"`
	Life              string   `json:"life"`
	SpaceTag          Tag      `json:"space-tag"`
	Zones             []string `json:"zones"`
}

// SpaceOf converts a space.
func SpaceOf(s entity.Space) Space {
	space := Space{ID: s.ID, Name: s.Name, Subnets: []Subnet{}}
	for _, subnet := range s.Subnets {
		space.Subnets = append(space.Subnets, Subnet{CIDR: subnet.CIDR, ProviderID: subnet.ProviderID, ProviderNetworkID: subnet.Network,
			Life: entity.Alive.String(), SpaceTag: TagOf(entity.SpaceTag(s.Name)), Zones: append([]string{}, subnet.Zones...)})
	}
	return space
}

// Read converts a space back. The subnets have no ids.
func (s Space) Read() entity.Space {
	space := entity.Space{ID: s.ID, Name: s.Name}
	for _, subnet := range s.Subnets {
		space.Subnets = append(space.Subnets, entity.Subnet{CIDR: subnet.CIDR, ProviderID: subnet.ProviderID,
			Network: subnet.ProviderNetworkID, Zones: subnet.Zones})
	}
	return space
}

// A ShowSpaceResults is the result of ShowSpace.
type ShowSpaceResults struct {
	Results []ShowSpaceResult `json:"results"`
}

// A ShowSpaceResult is a space, with the services that are bound to it, and how many machines have addresses in it.
type ShowSpaceResult struct {
	Space        Space    `json:"space"`
	Applications []string `json:"applications"`
	MachineCount int      `json:"machine-count"`
	Error        *Error   `json:"error,omitempty"`
}

// A RenameSpaces is the parameter of RenameSpace.
type RenameSpaces struct {
	Changes []RenameSpace `json:"changes"`
}

// A RenameSpace gives a space another name.
type RenameSpace struct {
	FromSpaceTag Tag `json:"from-space-tag"`
	ToSpaceTag   Tag `json:"to-space-tag"`
}

// A RemoveSpaces is the parameter of RemoveSpace.
type RemoveSpaces struct {
	SpaceParams []RemoveSpace `json:"space-param"`
}

// A RemoveSpace removes a space; with DryRun it only asks what uses it.
type RemoveSpace struct {
	Space  Entity `json:"space"`
	Force  bool   `json:"force,omitempty"`
	DryRun bool   `json:"dry-run,omitempty"`
}

// A RemoveSpaceResults is the result of RemoveSpace.
type RemoveSpaceResults struct {
	Results []RemoveSpaceResult `json:"results"`
}

// A RemoveSpaceResult names what keeps a space from being removed: it is not removed if there is any.
type RemoveSpaceResult struct {
	Constraints        []Entity `json:"constraints,omitempty"`
	Bindings           []Entity `json:"bindings,omitempty"`
	ControllerSettings []string `json:"controller-settings,omitempty"`
	Error              *Error   `json:"error,omitempty"`
}

// A MoveSubnets is the parameter of Spaces 6 MoveSubnets.
type MoveSubnets struct {
	Args []MoveSubnetsTo `json:"args"`
}

// A MoveSubnetsTo moves subnets to a space.
type MoveSubnetsTo struct {
	SubnetTags []Tag `json:"subnets"`
	SpaceTag   Tag   `json:"space-tag"`
	Force      bool  `json:"force"`
}

// A MoveSubnetsResults is the result of MoveSubnets.
type MoveSubnetsResults struct {
	Results []MoveSubnetsResult `json:"results"`
}

// A MoveSubnetsResult lists the subnets that were elsewhere.
type MoveSubnetsResult struct {
	MovedSubnets []MovedSubnet `json:"moved-subnets,omitempty"`
	NewSpaceTag  Tag           `json:"new-space"`
	Error        *Error        `json:"error,omitempty"`
}

// A MovedSubnet says where a subnet was.
type MovedSubnet struct {
	SubnetTag   Tag    `json:"subnet"`
	OldSpaceTag Tag    `json:"old-space"`
	CIDR        string `json:"cidr"`
}

// A SubnetsFilters is the parameter of Subnets 5 ListSubnets.
type SubnetsFilters struct {
	SpaceTag Tag    `json:"space-tag,omitempty"`
	Zone     string `json:"zone,omitempty"`
}

// A ListSubnetsResults is the result of ListSubnets.
type ListSubnetsResults struct {
	Results []Subnet `json:"results"`
}

// A CIDRs is the parameter of SubnetsByCIDR.
type CIDRs struct {
	CIDRs []string `json:"cidrs"`
}

// A SubnetsResults is the result of SubnetsByCIDR.
type SubnetsResults struct {
	Results []SubnetsResult `json:"results"`
}

// A SubnetsResult lists the subnets with a CIDR, none or one.
type SubnetsResult struct {
	Subnets []SubnetWithID `json:"subnets,omitempty"`
	Error   *Error         `json:"error,omitempty"`
}

// A SubnetWithID is a subnet with its number, which its tag has.
type SubnetWithID struct {
	Subnet
	ID string `json:"id,omitempty"`
}

// A ZoneResults is the result of AllZones.
type ZoneResults struct {
	Results []ZoneResult `json:"results"`
}

// A ZoneResult is a zone of the cloud from which some subnet can be reached.
type ZoneResult struct {
	Name      string `json:"name"`
	Available bool   `json:"available"`
	Error     *Error `json:"error,omitempty"`
}
