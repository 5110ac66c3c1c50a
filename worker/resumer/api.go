package resumer

import "context"

// API is what a resumer needs of the state of one database.
type API interface {
	// ResumeTransactions completes or aborts each unfinished transaction. It logs and skips those that fail;
	// it returns an error only if it can't list them.
	ResumeTransactions(ctx context.Context) error
}
