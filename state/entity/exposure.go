package entity

// Exposure says which ports of a model's machines must be reachable from outside.
type Exposure struct {
	Mode string `json:"mode"` // the value of ConfigFirewallMode
	// Instances maps each cloud instance to the open ports of its units whose services are exposed.
	Instances map[string][]PortRange `json:"instances"`
	// Addresses maps each instance to the addresses that the cloud last reported. A cloud's firewall
	// rules may contain addresses, so they are set again when these change.
	Addresses map[string][]string `json:"addresses,omitempty"`
	Hosts     []string            `json:"hosts,omitempty"` // the addresses of manual machines
}

// HostExposure says which ports of one manual machine must be reachable from outside.
type HostExposure struct {
	Mode string `json:"mode"` // the value of ConfigFirewallMode
	// Closed are the ports opened by the machine's units whose services are not exposed. Open are ports
	// that must never be closed, even if Closed has them.
	Closed []PortRange `json:"closed,omitempty"`
	Open   []PortRange `json:"open,omitempty"`
	Peers  []string    `json:"peers,omitempty"` // the addresses of the model's other machines
}
