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

// HostExposure is which ports of one manual machine are to be reached from outside.
type HostExposure struct {
	Mode string `json:"mode"` // the value of ConfigFirewallMode
	// Closed are the ports that units there have open, and whose services are not exposed; Open those
	// that are never closed, even if they are among them.
	Closed []PortRange `json:"closed,omitempty"`
	Open   []PortRange `json:"open,omitempty"`
	Peers  []string    `json:"peers,omitempty"` // the addresses of the model's other machines
}
