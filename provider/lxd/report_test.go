package lxd

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"juju/agent/install"
)

// bootLXD starts the containers that it is asked for at once.
func bootLXD(t *testing.T, posted func(path string, body []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		answer, path := lxdLists[r.URL.Path], r.URL.Path
		switch {
		case r.Method != http.MethodGet:
			posted(path+"?"+r.URL.Query().Get("path"), body)
			answer = "{}"
		case strings.HasSuffix(path, "/files"):
			io.WriteString(w, "made")
			return
		case strings.HasSuffix(path, "/state"):
			answer = `{"network":{"eth0":{"hwaddr":"aa","addresses":[{"family":"inet","address":"10.0.0.5","scope":"global"}]}}}`
		case strings.HasPrefix(path, "/1.0/instances/"):
			answer = `{"name":"c","status":"Running","status_code":103,"expanded_config":{"volatile.eth0.hwaddr":"aa"}}`
		}
		fmt.Fprintf(w, `{"type":"sync","status_code":200,"metadata":%s}`, answer)
	}
}

// An answering transport has a handler answer, without a network.
type answering http.HandlerFunc

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	a(w, r)
	return w.Result(), nil
}

// What is told of a start of a controller.
type said struct {
	steps []string
	most  int64 // of the bytes that were counted
	of    int64
}

func (s *said) Say(format string, args ...any) {
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
}
func (s *said) Count(done, size int64) { s.most, s.of = max(s.most, done), size }

// Each step of a controller's start is told before it is taken, and how much of the binaries is copied.
func TestStartingAControllerIsReported(t *testing.T) {
	var s said
	after := map[string]string{} // what was posted where: the step that it belongs to
	lxd := answering(bootLXD(t, func(path string, body []byte) {
		if len(s.steps) > 0 && after[path] == "" {
			after[path] = s.steps[len(s.steps)-1]
		}
		if strings.HasSuffix(path, install.ControllerArchive) && len(body) != 3<<20 {
			t.Errorf("%d bytes of binaries arrive", len(body))
		}
	}))
	c := &Cloud{client: &client{http: &http.Client{Transport: lxd}, base: "http://lxd"}, config: Config{Controller: "12345678-1", Profiles: []string{"default"}}}
	c.ReportTo(&s)
	name := c.controllerName()
	out, err := c.StartController(t.Context(), ControllerParams{Series: "bookworm", Arch: "amd64", Archive: make([]byte, 3<<20),
		Input: func([]string) ([]byte, error) { return nil, nil }})
	if err != nil || string(out) != "made" {
		t.Fatalf("%q, %v", out, err)
	}
	want := []string{"Creating container " + name, "Copying the binaries into container " + name, "Starting container " + name,
		"Waiting for the address of container " + name, "Creating the controller in container " + name}
	if !slices.Equal(s.steps, want) {
		t.Errorf("told %q, want %q", s.steps, want)
	}
	at := "/1.0/instances/" + name
	for path, step := range map[string]string{"/1.0/instances?": want[0], at + "/files?" + install.ControllerArchive: want[1],
		at + "/state?": want[2], at + "/exec?": want[4]} {
		if after[path] != step {
			t.Errorf("%s belongs to step %q, want %q", path, after[path], step)
		}
	}
	if s.most != 3<<20 || s.of != 3<<20 {
		t.Errorf("counted %d of %d bytes", s.most, s.of)
	}
}
