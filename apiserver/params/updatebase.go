package params

// UpdateChannelArgs is the parameter of UpdateApplicationBase.
type UpdateChannelArgs struct {
	Args []UpdateChannelArg `json:"args"`
}

// An UpdateChannelArg is the base that new units of a service get, or to which a user upgrades the operating system of a machine.
// The channel is that of the system that the entity has, such as 24.04, or, which Juju does not have, a base such as ubuntu@24.04.
type UpdateChannelArg struct {
	Entity  Entity `json:"tag"`
	Force   bool   `json:"force"`
	Channel string `json:"channel"`
	// KeepBase completes an upgrade after which the machine has the base that it had. Juju does not have it.
	KeepBase bool `json:"keep-base,omitempty"`
}
