package params

import (
	"time"

	"juju/state/entity"
)

// An AuditQuery is the parameter of AuditLog 1 List, which Juju does not have: it keeps its audit log in a file. Every
// field but Limit may be empty.
type AuditQuery struct {
	Limit int           `json:"limit"`
	User  string        `json:"user,omitempty"`
	Model string        `json:"model,omitempty"` // a UUID, a name or OWNER/NAME
	Since *Time         `json:"since,omitempty"`
	Ago   time.Duration `json:"ago,omitempty"` // Since, by the controller's clock
	Until *Time         `json:"until,omitempty"`
}

// AuditEntries are entries of the audit log, oldest first.
type AuditEntries struct {
	Entries []entity.AuditEntry `json:"entries"`
}
