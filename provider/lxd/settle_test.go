package lxd

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"juju/provider/providertest"
)

// A destruction waits for LXD's operations on containers whose names have its prefix, and never cancels those of others.
func TestOperationsOfOthersAreLeftAlone(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	var cancel context.CancelFunc // the destruction has waited long enough
	mux := http.NewServeMux()
	mux.HandleFunc("GET /1.0/operations", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"type": "sync", "metadata": {"running": [
			{"id": "own", "class": "task", "resources": {"instances": ["/1.0/instances/%s1-x"]}},
			{"id": "web", "class": "task", "resources": {"instances": ["/1.0/instances/web"]}},
			{"id": "others", "class": "task", "resources": {"instances": ["/1.0/instances/%s1-x"]}}]}}`,
			prefix(providertest.ModelA), prefix("a-model-of-another-controller"))
	})
	mux.HandleFunc("/1.0/operations/{id}/{wait...}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.PathValue("id"))
		mu.Unlock()
		if r.PathValue("id") == "others" && r.Method == http.MethodGet {
			cancel()
			<-r.Context().Done()
			return
		}
		io.WriteString(w, `{"type": "sync", "metadata": {"status_code": 200}}`)
	})
	c := answeredBy(t, mux)
	for model, want := range map[string][]string{providertest.ModelA: {"GET own"}, "": {"GET own", "GET others"}} {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		if err := c.settle(ctx, model); err != nil {
			t.Error(err)
		}
		cancel()
		mu.Lock()
		if !slices.Equal(asked, want) {
			t.Errorf("for model %q it asks %q, want %q", model, asked, want)
		}
		asked = nil
		mu.Unlock()
	}
}
