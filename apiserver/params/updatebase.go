package params

// UpdateChannelArgs is the parameter of UpdateApplicationBase.
type UpdateChannelArgs struct {
	Args []UpdateChannelArg `json:"args"`
}

// An UpdateChannelArg is the base that new units of a service get, or to which the operating system of a machine is upgraded. The channel is that of the system that the service has,
// such as 24.04, or, which Juju does not have, a base such as ubuntu@24.04.
type UpdateChannelArg struct {
	Entity  Entity `json:"tag"`
	Force   bool   `json:"force"`
	Channel string `json:"channel"`
}
