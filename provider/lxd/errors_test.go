package lxd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/canonical/lxd/shared/api"
	"golang.org/x/sync/errgroup"

	"juju/provider"
	"juju/provider/providertest"
	"juju/state/entity"
)

// Errors are classified as transient or permanent.
func TestErrorsAreClassified(t *testing.T) {
	for text, want := range map[string]entity.Kind{
		"404 Image alias not found":                   entity.Invalid,
		"400 Provided instance type doesn't exist: x": entity.Invalid,
		"403 not authorized":                          entity.Unauthorized,
		"404 dial unix /proc/self/fd/5/forkfile.sock: connect: no such file or directory": entity.Unavailable,
		"501 no such thing":                                                entity.NotSupported,
		"500 database is locked":                                           entity.Unavailable,
		"500 something else":                                               entity.Unavailable,
		"500 Invalid config: Invalid value: 512M":                          entity.Invalid,
		"500 Requested profile \"words\" doesn't exist":                    entity.Invalid,
		"500 Profile is currently in use":                                  entity.Unavailable,
		"503 LXD is shutting down":                                         entity.Unavailable,
		"412 ETag doesn't match":                                           entity.Unavailable,
		"409 already exists":                                               entity.Unavailable,
		"400 Instance is busy running a \"stop\" operation":                entity.Unavailable,
		"400 Failed to delete storage volume: in use":                      entity.Unavailable,
		"0 Failed creating instance: no space left on device":              entity.Unavailable,
		"0 Failed to run: forkstart: exit status 1":                        entity.Unavailable,
		"400 Failed to run: forkstart: fork: Cannot allocate memory":       entity.Unavailable,
		"500 open /var/lib/lxd/x: too many open files":                     entity.Unavailable,
		"0 Invalid devices: Device validation failed for \"eth0\"":         entity.Invalid,
		"0 Failed loading instance: Storage pool not found":                entity.Invalid,
		"0 Failed creating instance record: not found: database is locked": entity.Unavailable,
	} {
		code, text, _ := strings.Cut(text, " ")
		status := map[string]int{"400": 400, "403": 403, "404": 404, "409": 409, "412": 412, "500": 500, "501": 501,
			"503": 503}[code]
		err := operationError(text)
		if status != 0 {
			err = responseError(status, text)
		}
		if entity.KindOf(err) != want || err.Error() != text {
			t.Errorf("%s %s: %q, want %q", code, text, entity.KindOf(err), want)
		}
		if entity.IsDiskFull(err) != strings.Contains(text, "no space") {
			t.Errorf("%s: disk is full: %v", text, entity.IsDiskFull(err))
		}
		short := strings.Contains(text, "no space") || strings.Contains(text, "too many") || strings.Contains(text, "memory")
		if entity.IsShortage(err) != short {
			t.Errorf("%s: it is a shortage: %v", text, !short)
		}
	}
	if !isNotFound(responseError(http.StatusNotFound, "x")) || isNotFound(responseError(400, "not found")) ||
		!isNotFound(operationError("Instance not found")) {
		t.Error("not found is not found by its status")
	}
}

// An unreachable server is a transient error, and each request ends with its context.
func TestUnreachable(t *testing.T) {
	dir := t.TempDir()
	silent, err := net.Listen("unix", filepath.Join(dir, "silent"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	open := func(endpoint string) *environ {
		c, err := New(Config{Endpoint: endpoint, Controller: "c"})
		if err != nil {
			t.Fatal(err)
		}
		e, err := c.Open(t.Context(), provider.Config{Controller: "c", Model: providertest.ModelA})
		if err != nil {
			t.Fatal(err)
		}
		return e.(*environ)
	}
	_, err = open(filepath.Join(dir, "none")).StartInstance(t.Context(), params("0", "n"))
	if !provider.IsRetryable(err) || !strings.Contains(err.Error(), "no such file") ||
		strings.Contains(err.Error(), "http://") {
		t.Errorf("got error %v without a socket", err)
	}
	e := open(filepath.Join(dir, "silent"))
	short, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	for name, call := range map[string]func() error{
		"start":     func() error { _, err := e.StartInstance(short, params("0", "n")); return err },
		"stop":      func() error { return e.StopInstances(short, "i") },
		"instances": func() error { _, err := e.Instances(short); return err },
		"series":    func() error { _, err := e.Series(short); return err },
		"rules":     func() error { _, err := e.ConstraintRules(short); return err },
		"precheck":  func() error { return e.PrecheckInstance(short, provider.PrecheckParams{Series: "x"}) },
		"destroy":   func() error { return e.Destroy(short) },
		"all":       func() error { return e.DestroyController(short, false) },
		"create": func() error {
			_, err := e.CreateFilesystem(short, provider.FilesystemParams{Storage: "data/0",
				Pool: entity.StoragePool{Provider: "lxd"}})
			return err
		},
		"attach": func() error {
			_, err := e.AttachFilesystem(short, provider.AttachmentParams{Filesystem: "p:v", Instance: "i"})
			return err
		},
		"detach": func() error {
			return e.DetachFilesystem(short, provider.AttachmentParams{Filesystem: "p:v", Instance: "i"})
		},
		"attached": func() error {
			_, err := e.IsFilesystemAttached(short, provider.AttachmentParams{Filesystem: "p:v", Instance: "i"})
			return err
		},
		"remove":  func() error { return e.DestroyFilesystem(short, "p:v") },
		"release": func() error { return e.ReleaseFilesystem(short, "p:v") },
		"import": func() error {
			_, err := e.ImportFilesystem(short, provider.ImportParams{ID: "p:v", Storage: "data/0",
				Pool: entity.StoragePool{Provider: "lxd"}})
			return err
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) || provider.IsRetryable(err) {
			t.Errorf("%s: got error %v, want that of the context", name, err)
		}
	}
}

// A silentLXD does not respond to the first requests.
type silentLXD struct{ silent, requests int }

func (s *silentLXD) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.requests++; s.requests <= s.silent {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{},
		Body: io.NopCloser(strings.NewReader(`{"type":"sync","metadata":{}}`))}, nil
}

// A startLXD has one container, and configurable responses to requests to start and delete it.
type startLXD struct{ start, remove string }

func (s startLXD) RoundTrip(r *http.Request) (*http.Response, error) {
	body := `{"type":"sync","metadata":{"name":"i","status":"Stopped","status_code":102,
		"expanded_config":{"limits.memory":"10MiB"}}}`
	reply, status := s.start, http.StatusOK
	if r.Method == http.MethodDelete {
		reply = s.remove
	}
	if r.Method != http.MethodGet && reply != "" {
		if status = http.StatusBadRequest; strings.HasSuffix(reply, "not found") {
			status = http.StatusNotFound
		}
		body = fmt.Sprintf(`{"type":"error","error_code":%d,"error":%q}`, status, reply)
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// A changingLXD has one container, and delays each request. It rejects a change if the container has changed since it
// was read.
type changingLXD struct {
	mu      sync.Mutex
	version int
	now     api.Instance
}

func (l *changingLXD) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := json.Marshal(l.now)
	etag, status := strconv.Itoa(l.version), http.StatusOK
	body := fmt.Sprintf(`{"type":"sync","metadata":%s}`, text)
	switch {
	case r.Method == http.MethodPut && r.Header.Get("If-Match") != etag:
		status, body = http.StatusPreconditionFailed, `{"type":"error","error_code":412,"error":"ETag doesn't match"}`
	case r.Method == http.MethodPut:
		var put api.InstancePut
		err = json.NewDecoder(r.Body).Decode(&put)
		l.now.Devices, l.version = put.Devices, l.version+1
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Etag": {etag}},
		Body: io.NopCloser(strings.NewReader(body))}, err
}

// A directory in the root of a container stays there: it is attached to no other container, nor taken from one.
func TestADirectoryOfAnotherContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lxd := &changingLXD{now: api.Instance{Name: "i"}}
		lxd.now.Config = map[string]string{controllerKey: "c", modelKey: "m"}
		c := &Cloud{config: Config{Controller: "c"}, client: &client{http: &http.Client{Transport: lxd}, base: "http://lxd"}}
		e, err := c.Open(t.Context(), provider.Config{Controller: "c", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		elsewhere := provider.AttachmentParams{Instance: "i", Filesystem: "other/data-0", Mount: "/srv/data"}
		if _, err := e.AttachFilesystem(t.Context(), elsewhere); !errors.Is(err, entity.Invalid) ||
			err.Error() != "filesystem other/data-0 is on another machine" {
			t.Errorf("attaching: %v", err)
		}
		if attached, err := e.IsFilesystemAttached(t.Context(), elsewhere); attached || err != nil {
			t.Errorf("attached: %v, %v", attached, err)
		}
		began := time.Now()
		if err := e.DetachFilesystem(t.Context(), elsewhere); err != nil || time.Since(began) != time.Second {
			t.Errorf("detaching: %v, and more is sent than the request for the container", err)
		}
	})
}

// Filesystems can be attached to and detached from one container concurrently.
func TestConcurrentFilesystemsOfOneContainer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lxd := &changingLXD{now: api.Instance{Name: "i"}}
		lxd.now.Config = map[string]string{controllerKey: "c", modelKey: "m"}
		c := &Cloud{config: Config{Controller: "c"}, client: &client{http: &http.Client{Transport: lxd}, base: "http://lxd"}}
		e, err := c.Open(t.Context(), provider.Config{Controller: "c", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		at := func(n int) provider.AttachmentParams {
			return provider.AttachmentParams{Instance: "i", Filesystem: fmt.Sprintf("p:v%d", n), Mount: fmt.Sprintf("/srv/%d", n)}
		}
		var attaching, detaching errgroup.Group
		for n := range 4 {
			attaching.Go(func() error { _, err := e.AttachFilesystem(t.Context(), at(n)); return err })
		}
		if err := attaching.Wait(); err != nil || len(lxd.now.Devices) != 4 {
			t.Errorf("the container has %v, error %v", lxd.now.Devices, err)
		}
		for n := range 4 {
			detaching.Go(func() error { return e.DetachFilesystem(t.Context(), at(n)) })
		}
		if err := detaching.Wait(); err != nil || len(lxd.now.Devices) != 0 {
			t.Errorf("the container has %v, error %v", lxd.now.Devices, err)
		}
	})
}

// A container that LXD autostarted is not started again; one that exits immediately is reported.
func TestContainerStarts(t *testing.T) {
	for reply, want := range map[string]string{
		"":                                "container i exited immediately after it was started, with 10MiB of memory",
		"The instance is already running": "container i exited immediately after it was started, with 10MiB of memory",
		"Failed to run: forkstart":        "Failed to run: forkstart",
		"Instance not found":              "container i was deleted while it was being started",
	} {
		c := &Cloud{client: &client{http: &http.Client{Transport: startLXD{start: reply}}, base: "http://lxd"},
			config: Config{AddressWait: time.Second}}
		_, err := c.begin(t.Context(), "i", nil, "", nil, entity.MachineSpaces{})
		if err == nil || err.Error() != want || provider.IsRetryable(err) == strings.Contains(reply, "forkstart") {
			t.Errorf("%q: got error %v, want %s", reply, err, want)
		}
	}
}

// LXD can't list its instance types, so a hint explains them.
func TestUnknownInstanceType(t *testing.T) {
	c := &Cloud{client: &client{http: &http.Client{Transport: startLXD{start: "Provided instance type doesn't exist: huge"}},
		base: "http://lxd"}}
	_, err := c.begin(t.Context(), "i", &api.InstancesPost{InstanceType: "huge"}, "", nil, entity.MachineSpaces{})
	if hint := entity.Hint(err); !strings.Contains(hint, "c2-m4") || !errors.Is(err, entity.Invalid) {
		t.Errorf("got error %v with advice %q", err, hint)
	}
}

// A container that LXD could not stop in time is stopped again, a bounded number of times.
func TestSlowStopsAreRepeated(t *testing.T) {
	for slow, deleted := range map[int]bool{0: true, 3: true, 4: false} {
		stops, deletes := 0, 0
		c := answeredBy(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.Method {
			case http.MethodPut:
				if stops++; stops <= slow {
					w.WriteHeader(http.StatusInternalServerError)
					fmt.Fprint(w, `{"type":"error","error_code":500,"error":"Instance \"stop\" operation timed out after 30s"}`)
					return
				}
			case http.MethodDelete:
				deletes++
			}
			fmt.Fprint(w, `{"type":"sync","metadata":{"name":"i","status":"Running","status_code":103}}`)
		}))
		if err := c.remove(t.Context(), "i"); (err == nil) != deleted || deletes == 1 != deleted || stops != min(slow+1, 4) {
			t.Errorf("%d slow stops: %d stops, %d deletions, error %v", slow, stops, deletes, err)
		}
	}
}

// A failed start is reported promptly, even if LXD can't delete the incomplete container.
func TestAFailedStartIsReportedBeforeItsCleanUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Cloud{client: &client{http: &http.Client{Transport: startLXD{remove: "The instance is busy running a stop operation"}},
			base: "http://lxd"}}
		for _, over := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			if over {
				cancel()
			}
			began := time.Now()
			c.cleanUp(ctx, "i")
			if took := time.Since(began); over != (took > promptTime) {
				t.Errorf("it took %v", took)
			}
			cancel()
		}
	})
}

// Reads are retried if LXD does not respond. Changes are not, because LXD may have made them.
func TestReadsAreRetried(t *testing.T) {
	read := func(ctx context.Context, c *client) error { return c.get(ctx, "/1.0", nil, nil) }
	change := func(ctx context.Context, c *client) error {
		_, err := c.do(ctx, http.MethodPut, "/1.0", nil, nil)
		return err
	}
	for name, test := range map[string]struct {
		ask              func(context.Context, *client) error
		silent, requests int
		fails            bool
	}{
		"one read":   {read, 1, 2, false},
		"all reads":  {read, 20, int(requestTime/readTime) + 1, true},
		"one change": {change, 1, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			lxd := &silentLXD{silent: test.silent}
			c := &client{http: &http.Client{Transport: lxd}, endpoint: "/socket", base: "http://lxd"}
			began := time.Now()
			err := test.ask(t.Context(), c)
			if (err != nil) != test.fails || lxd.requests != test.requests || time.Since(began) > requestTime {
				t.Errorf("%s: %v after %v and %d requests", name, err, time.Since(began), lxd.requests)
			}
			if test.fails && (!provider.IsRetryable(err) || !strings.Contains(err.Error(), errSlow.Error())) {
				t.Errorf("%s: got error %v", name, err)
			}
		})
	}
}

// An exitedLXD has lost the process that reaches a container's files, until it has been asked some times.
type exitedLXD struct{ lost, requests int }

func (l *exitedLXD) RoundTrip(*http.Request) (*http.Response, error) {
	status, body := http.StatusOK, `{"type":"sync","metadata":["machine-0"]}`
	if l.requests++; l.requests <= l.lost {
		status = http.StatusNotFound
		body = `{"type":"error","error_code":404,"error":"dial unix /proc/self/fd/53/forkfile.sock: connect: no such file or directory"}`
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// A container's files that LXD fails to reach are not mistaken for files that are not there.
func TestFilesOutOfReachAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lxd := &exitedLXD{lost: 3}
		c := &Cloud{client: &client{http: &http.Client{Transport: lxd}, base: "http://lxd"}}
		names, err := c.list(t.Context(), "i", "/var/lib/juju/agents")
		if err != nil || len(names) != 1 || lxd.requests != 4 {
			t.Errorf("got %v, error %v after %d requests", names, err, lxd.requests)
		}
		lxd.requests = 0
		if err := c.write(t.Context(), "i", file{"/f", "file", "0600", []byte("x"), nil}); err != nil || lxd.requests != 4 {
			t.Errorf("got error %v after %d requests", err, lxd.requests)
		}
		lxd.requests = 0
		if text, err := c.read(t.Context(), "i", "/f"); err != nil || len(text) == 0 || lxd.requests != 4 {
			t.Errorf("read %q, error %v after %d requests", text, err, lxd.requests)
		}
		lxd.lost = 1 << 30
		if _, err := c.list(t.Context(), "i", "/"); err == nil || isNotFound(err) {
			t.Errorf("got error %v of files that can't be reached", err)
		}
	})
}

func TestInvalidConfiguration(t *testing.T) {
	cert, key := selfSigned(t, "")
	good := Config{Endpoint: "https://10.0.0.1:8443", ClientCert: cert, ClientKey: key, ServerCert: cert, Controller: "c"}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no controller":     func(c *Config) { c.Controller = "" },
		"a relative path":   func(c *Config) { c.Endpoint = "unix.socket" },
		"no TLS":            func(c *Config) { c.Endpoint = "http://10.0.0.1:8443" },
		"a path in the URL": func(c *Config) { c.Endpoint += "/1.0" },
		"no key":            func(c *Config) { c.ClientKey = "" },
		"no PEM":            func(c *Config) { c.ServerCert = "x" },
		"a key for a pin":   func(c *Config) { c.ServerCert = key },
	} {
		bad := good
		change(&bad)
		if _, err := New(bad); !errors.Is(err, entity.Invalid) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	c, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []provider.Config{{Controller: "d", Model: "m"}, {Controller: "c"}} {
		if _, err := c.Open(t.Context(), config); !errors.Is(err, entity.Invalid) {
			t.Errorf("opened %v: %v", config, err)
		}
	}
}
