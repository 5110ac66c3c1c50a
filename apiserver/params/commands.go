package params

import "encoding/json"

// CLICommands is what Juju's dashboard sends to run command lines.
type CLICommands struct {
	User        string            `json:"user"`
	Credentials string            `json:"credentials,omitempty"`
	Macaroons   []json.RawMessage `json:"macaroons,omitempty"`
	Commands    []string          `json:"commands"`
}

// CLIStatus is a line of their output, or says that they are done.
type CLIStatus struct {
	Output []string `json:"output,omitempty"`
	Done   bool     `json:"done,omitempty"`
	Error  *Error   `json:"error,omitempty"`
}
