package entity

// Exposure is which ports of a model's machines are to be reached from outside.
type Exposure struct {
	Mode string `json:"mode"` // the value of ConfigFirewallMode
	// Instances are those of the cloud, each with the open ports of its units whose services are
	// exposed.
	Instances map[string][]PortRange `json:"instances"`
	// Addresses are those that the cloud has last reported of the instances. A cloud's rules may be
	// about addresses, so they are set again when these change.
	Addresses map[string][]string `json:"addresses,omitempty"`
	Hosts     []string            `json:"hosts,omitempty"` // the addresses of manual machines
}
