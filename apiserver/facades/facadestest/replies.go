package facadestest

import (
	"encoding/json"
	"testing"
	"time"

	"juju/apiserver/params"
	"juju/doc/tools/verify"
)

// Within returns the error of a reply, or of one of its results.
func Within(reply params.Response) error {
	if err := reply.Err(); err != nil {
		return err
	}
	var results params.ErrorResults
	if err := json.Unmarshal(reply.Response, &results); err != nil {
		return err
	}
	for _, r := range results.Results {
		if r.Error != nil {
			return params.FromError(r.Error)
		}
	}
	return nil
}

// Receive waits for an event, long enough for slow machines.
func Receive[T any](t testing.TB, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatal("the channel has closed")
		}
		return v
	case <-time.After(verify.Patience):
		t.Fatal("no event came")
	}
	return v
}
