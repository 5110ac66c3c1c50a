package params

// ListSSHKeys selects the SSH keys of models, named by their users' tags as in Juju, or of the model if it is empty.
type ListSSHKeys struct {
	Entities struct {
		Entities []struct {
			Tag string `json:"tag"`
		} `json:"entities"`
	} `json:"entities"`
	Mode bool `json:"mode"` // full keys rather than fingerprints
}

// StringsResults are lists of strings, or an error for each.
type StringsResults struct {
	Results []StringsResult `json:"results"`
}

// StringsResult is one list.
type StringsResult struct {
	Error  *Error   `json:"error,omitempty"`
	Result []string `json:"result"`
}

// ModifyUserSSHKeys adds keys, or deletes keys by their fingerprints or comments.
type ModifyUserSSHKeys struct {
	User string   `json:"user"`
	Keys []string `json:"ssh-keys"`
}

// SSHPublicKeysResults are the keys of machines' SSH servers.
type SSHPublicKeysResults struct {
	Results []SSHPublicKeysResult `json:"results"`
}

// SSHPublicKeysResult are the keys of one machine.
type SSHPublicKeysResult struct {
	Error      *Error   `json:"error,omitempty"`
	PublicKeys []string `json:"public-keys,omitempty"`
}

// SSHAddressResults are the addresses of machines.
type SSHAddressResults struct {
	Results []SSHAddressResult `json:"results"`
}

// An SSHAddressResult is the address of one machine.
type SSHAddressResult struct {
	Error   *Error `json:"error,omitempty"`
	Address string `json:"address,omitempty"`
}

// SSHAddressesResults are all addresses of machines.
type SSHAddressesResults struct {
	Results []SSHAddressesResult `json:"results"`
}

// An SSHAddressesResult has all addresses of one machine.
type SSHAddressesResult struct {
	Error     *Error   `json:"error,omitempty"`
	Addresses []string `json:"addresses"`
}

// An SSHProxyResult says whether clients connect through the controller.
type SSHProxyResult struct {
	UseProxy bool `json:"use-proxy"`
}
