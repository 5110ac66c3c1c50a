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
