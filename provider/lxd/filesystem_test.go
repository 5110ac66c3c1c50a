package lxd

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/juju/loggo"

	"juju/provider"
	"juju/provider/providertest"
	"juju/state/entity"
)

// A pool that counts nothing takes a volume's size without a word, as LXD's "dir" does on most filesystems: the log says so.
func TestSizesThatNothingHolds(t *testing.T) {
	driver, state, made := "", "", false
	mux := http.NewServeMux()
	mux.HandleFunc("GET /1.0/storage-pools/fast", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"type": "sync", "metadata": {"driver": %q}}`, driver)
	})
	mux.HandleFunc("GET /1.0/storage-pools/fast/resources", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"type": "sync", "metadata": {"space": {"total": 10737418240}}}`)
	})
	mux.HandleFunc("POST /1.0/storage-pools/fast/volumes/custom", func(w http.ResponseWriter, _ *http.Request) {
		made = true
		io.WriteString(w, `{"type": "sync", "metadata": {}}`)
	})
	mux.HandleFunc("/1.0/storage-pools/fast/volumes/custom/{name}", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type": "error", "error_code": 404, "error": "Storage volume not found"}`)
	})
	mux.HandleFunc("/1.0/storage-pools/fast/volumes/custom/{name}/state", func(w http.ResponseWriter, _ *http.Request) {
		if state == "" {
			w.WriteHeader(http.StatusInternalServerError)
			state = `"type": "error", "error_code": 500, "error": "Not supported"`
		}
		io.WriteString(w, "{"+state+"}")
	})
	cloud := answeredBy(t, mux)
	cloud.config.Pool = "fast"
	e := &environ{cloud: cloud, config: provider.Config{Model: providertest.ModelA}}
	for _, c := range []struct {
		driver, state string
		warns         bool
	}{
		{"dir", "", true},
		{"dir", `"type": "sync", "metadata": {"usage": null}`, true},
		{"dir", `"type": "sync", "metadata": {"usage": {"used": 0}}`, false},
		{"lvm", "", false}, // it counts when the volume is in use
	} {
		driver, state, made = c.driver, c.state, false
		var log loggo.TestWriter
		if err := loggo.RegisterWriter(t.Name(), &log); err != nil {
			t.Fatal(err)
		}
		_, err := e.CreateFilesystem(t.Context(), provider.FilesystemParams{Storage: "data/0", Size: 1024,
			Pool: entity.StoragePool{Name: "lxd", Provider: "lxd"}})
		if _, gone := loggo.RemoveWriter(t.Name()); err != nil || gone != nil || !made {
			t.Fatal(err, gone, made)
		}
		if said := fmt.Sprint(log.Log()); c.warns != strings.Contains(said, "storage data/0 can grow beyond its 1024 MiB") {
			t.Errorf("of %+v the log says %s", c, said)
		}
	}
}
