package controller

import (
	"testing"

	"juju/agent/controller/clouds"
	"juju/state/mongo"
	"juju/state/mongo/embedded"
)

// What the store itself leaves no part of needs no resumer.
func TestResumerRunsWhereTransactionsAreLeft(t *testing.T) {
	t.Parallel()
	for standalone, want := range map[bool]bool{false: false, true: true} {
		store, err := mongo.OpenMemory(mongo.Options{Embedded: embedded.Options{Standalone: standalone}})
		if err != nil {
			t.Fatal(err)
		}
		_, runs := (&running{store: store, cloud: &clouds.Cloud{}}).singularWorkers(nil)["resumer"]
		if err := store.Close(); err != nil || runs != want {
			t.Errorf("standalone %v: it runs: %v, %v", standalone, runs, err)
		}
	}
}
