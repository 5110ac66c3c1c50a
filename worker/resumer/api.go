package resumer

import "context"

// API is what a resumer needs of the state of one database.
type API interface {
	// ResumeTransactions takes each unfinished transaction to its end. One that
	// fails is logged and passed over; the error is that of listing them.
	ResumeTransactions(ctx context.Context) error
}
