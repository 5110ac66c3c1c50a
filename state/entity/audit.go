package entity

import (
	"encoding/json"
	"time"
)

// An AuditEntry is a user's call of the API that changed something, or was refused or failed.
type AuditEntry struct {
	Time    time.Time       `json:"time"` // when the controller received the call
	User    string          `json:"user"`
	From    string          `json:"from"`             // the client's address
	Models  []AuditModel    `json:"models,omitempty"` // that the call is about; none if it is about the controller
	Call    string          `json:"call"`             // such as "Application.AddUnits", or "POST /charms" for an upload
	Version int             `json:"version,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`  // without secrets, and shortened
	Error   string          `json:"error,omitempty"` // "" if the call succeeded
	Code    string          `json:"error-code,omitempty"`
}

// An AuditModel is a model as it was called at the time.
type AuditModel struct {
	UUID  string `json:"uuid,omitempty"`
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

// An AuditFilter selects entries of the audit log: the newest Limit entries that match everything that is set.
type AuditFilter struct {
	Limit        int
	User         string
	Model        string    // a UUID, a name, or OWNER/NAME
	Since, Until time.Time // Until is exclusive
}
