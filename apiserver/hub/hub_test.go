package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"juju/apiserver/params"
	"juju/charm/charmstore/storetest"
	"juju/doc/tools/verify"
	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/statetest"
)

// A world has a store, and a model that gets charms from it.
type world struct {
	*storetest.Store
	st  *state.State
	hub *Hub
}

func newWorld(t *testing.T) *world {
	t.Helper()
	verify.Smoke(t)
	c, _ := statetest.Controller(t)
	w := &world{Store: storetest.New(t), hub: New(t.TempDir())}
	model := statetest.NamedModel("shop")
	model.Config[modelconfig.CharmhubURL] = w.URL
	var err error
	w.st, err = c.AddModel(t.Context(), model)
	w.ok(err)
	return w
}

const web = "name: web\nsummary: s\ndescription: d\n"

// manifest is that of a charm for some releases of Ubuntu.
func manifest(releases ...string) string {
	text := "bases:\n"
	for _, r := range releases {
		text += fmt.Sprintf("- {name: ubuntu, channel: %q, architectures: [amd64]}\n", r)
	}
	return text
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// gets returns what the model gets for a charm, as URL, channel and base; or the error.
func (w *world) gets(reference string, o params.CharmOrigin) string {
	o.Architecture = "amd64"
	r, err := Resolve(w.Context(), w.st, reference, o)
	if err == nil {
		_, err = w.hub.Add(w.Context(), w.st, r.URL.String(), r.Origin)
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s %s", r.URL, ChannelOf(r.Origin), r.Origin.Base.Short())
}

// Without a base it is the model's, jammy, if the charm is released for that.
func TestTheRevisionForTheModelsBase(t *testing.T) {
	w := newWorld(t)
	w.Publish(web, []string{"2/stable", "2/edge"}, "manifest.yaml", manifest("22.04"))
	w.Publish(web, []string{"2/stable"}, "manifest.yaml", manifest("24.04"))
	w.Publish("name: new\nsummary: s\ndescription: d\n", []string{"stable"}, "manifest.yaml", manifest("24.04"))
	noble, three := &entity.Base{Name: "ubuntu", Channel: "24.04/stable"}, 2
	for _, test := range []struct {
		name string
		o    params.CharmOrigin
		want string
	}{
		{"web", params.CharmOrigin{Track: "2", Risk: "stable"}, "ch:amd64/web-1 2/stable ubuntu@22.04"},
		{"ch:web", params.CharmOrigin{Track: "2", Risk: "stable", Base: noble}, "ch:amd64/web-2 2/stable ubuntu@24.04"},
		{"web", params.CharmOrigin{Track: "2", Risk: "stable", Revision: &three}, "ch:amd64/web-2 2/stable ubuntu@24.04"},
		{"web", params.CharmOrigin{}, "ch:amd64/web-1 2/stable ubuntu@22.04"}, // of the default track, which is recorded
		{"new", params.CharmOrigin{}, "ch:amd64/new-1 latest/stable ubuntu@24.04"},
		{"web", params.CharmOrigin{Track: "2", Risk: "edge", Base: noble}, "ch:amd64/web-2 2/edge ubuntu@24.04"}, // from 2/stable
		{"new", params.CharmOrigin{Risk: "edge", Base: &entity.Base{Name: "ubuntu", Channel: "22.04"}}, "selecting releases: charm or bundle " +
			"not found for channel \"edge\", base \"ubuntu@22.04\"\navailable releases are:\n  channel \"stable\": available bases are: ubuntu@24.04"},
		{"local:web", params.CharmOrigin{}, `charm "local:web" is not of a charm store`},
		{"web", params.CharmOrigin{Track: "2", Risk: "risky"}, `risk in channel "2/risky" not valid`},
	} {
		if got := w.gets(test.name, test.o); got != test.want {
			t.Errorf("%s %+v: %s, want %s", test.name, test.o, got, test.want)
		}
	}
}

// However many ask, an archive is downloaded once; and not again while the model has it, when the store need not be there.
func TestOneDownloadForAll(t *testing.T) {
	w := newWorld(t)
	w.Publish(web, []string{"stable"})
	first, all := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.Meddle = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/download/") {
			once.Do(func() { close(first) })
			<-all
		}
		return false
	}
	results := make(chan string)
	for range 5 {
		go func() { results <- w.gets("web", params.CharmOrigin{}) }()
	}
	<-first
	for w.waiting() < 5 && w.Asked("/download/") < 2 {
		runtime.Gosched()
	}
	close(all)
	for range 5 {
		if got := <-results; got != "ch:amd64/web-1 latest/stable ubuntu@22.04" {
			t.Error(got)
		}
	}
	if n := w.Asked("/download/"); n != 1 {
		t.Errorf("%d downloads", n)
	}
	asked := w.Asked("")
	if _, err := w.hub.Add(t.Context(), w.st, "ch:amd64/jammy/web-1", params.CharmOrigin{}); err != nil || w.Asked("") != asked {
		t.Errorf("a charm that the model has: %v, %d requests", err, w.Asked("")-asked)
	}
}

// A download ends with the last of those who wait for it, and only then.
func TestADownloadEndsWithWhoWaits(t *testing.T) {
	w := newWorld(t)
	w.Publish(web, []string{"stable"})
	begun, ended := make(chan struct{}, 10), make(chan struct{}, 10)
	w.Meddle = func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/download/") {
			begun <- struct{}{}
			<-r.Context().Done()
			ended <- struct{}{}
		}
		return false
	}
	errs := make(chan error)
	ask := func() context.CancelFunc {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := w.hub.Add(ctx, w.st, "ch:amd64/web-1", params.CharmOrigin{})
			errs <- err
		}()
		return cancel
	}
	one := ask()
	<-begun
	other := ask()
	for w.waiting() < 2 {
		runtime.Gosched()
	}
	one()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := w.waiting(); n != 1 {
		t.Errorf("%d wait for the download", n)
	}
	other()
	<-ended
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// waiting returns how many wait for downloads.
func (w *world) waiting() (n int) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	for _, l := range w.hub.loads {
		l.mu.Lock()
		n += len(l.asking)
		l.mu.Unlock()
	}
	return n
}

// What a store sends that is not what it has promised is not used, and a model is none the wiser.
func TestAStoreThatLies(t *testing.T) {
	w := newWorld(t)
	w.Publish(web, []string{"stable"})
	for want, answer := range map[string]func(w http.ResponseWriter, r *http.Request) bool{
		"and not the": func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, "short")
			return true
		},
		"archive not found": func(w http.ResponseWriter, r *http.Request) bool {
			http.NotFound(w, r)
			return true
		},
		"may have": func(w http.ResponseWriter, _ *http.Request) bool {
			_, err := io.Copy(w, endless{})
			return err != nil
		},
	} {
		w.Meddle = func(rw http.ResponseWriter, r *http.Request) bool {
			return strings.HasPrefix(r.URL.Path, "/download/") && answer(rw, r)
		}
		if got := w.gets("web", params.CharmOrigin{}); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		if _, err := w.st.Charms().Sum(t.Context(), "ch:amd64/web-1"); !entity.IsNotFound(err) {
			t.Errorf("the model has it: %v", err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// The proxies of a model's programs, or else of its charms, are those to its store.
func TestTheStoreIsReachedByTheModelsProxies(t *testing.T) {
	for want, config := range map[string]map[string]string{
		"http://a:1":  {"http-proxy": "http://a:1", "juju-http-proxy": ""},
		"http://b:2":  {"juju-http-proxy": "http://b:2"},
		"<nil>":       {"http-proxy": "http://a:1", "no-proxy": "store.example.com"},
		"environment": {},
	} {
		values := modelconfig.Config{}
		for key, value := range config {
			values[key] = modelconfig.Value{Value: value}
		}
		proxy := proxyOf(values)
		if proxy == nil {
			if want != "environment" {
				t.Errorf("%v: none", config)
			}
			continue
		}
		r, _ := http.NewRequest(http.MethodGet, "http://store.example.com/v2/", nil)
		if u, err := proxy(r); fmt.Sprint(u) != want || err != nil {
			t.Errorf("%v: %v, %v, want %s", config, u, err, want)
		}
	}
}
