package client

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// An AuditQuery selects entries of the audit log. Ago, if set, takes the place of Since, by the controller's clock.
type AuditQuery struct {
	entity.AuditFilter
	Ago time.Duration
}

// AuditLog returns the newest entries of the controller's audit log that match a query, oldest first. The connection must
// be a superuser's, to the controller itself.
func (c *Conn) AuditLog(ctx context.Context, q AuditQuery) ([]entity.AuditEntry, error) {
	request := params.AuditQuery{Limit: q.Limit, User: q.User, Model: q.Model, Ago: q.Ago,
		Since: params.NewTime(q.Since), Until: params.NewTime(q.Until)}
	var result params.AuditEntries
	err := c.call(ctx, "AuditLog", 1, "List", request, &result)
	return result.Entries, err
}
