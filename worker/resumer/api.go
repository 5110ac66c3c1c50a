package resumer

import "context"

// API is what a resumer needs of the state of one database.
type API interface {
	// ResumeTransactions completes or aborts each unfinished transaction. It logs and skips one
	// that fails; the error is that of listing them.
	ResumeTransactions(ctx context.Context) error
}
