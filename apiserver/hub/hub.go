// Package hub gets charms for models from charm stores: whoever asks for the same archive waits for one download.
package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/juju/loggo"
	"golang.org/x/net/http/httpproxy"
	"golang.org/x/sync/semaphore"

	"juju/charm"
	"juju/charm/charmhub"
	"juju/state"
	"juju/state/entity"
	"juju/state/modelconfig"
	"juju/state/mongo"
)

var logger = loggo.GetLogger("juju.apiserver.hub")

// atOnce is how many archives are downloaded at a time. Each may take entity.MaxCharm bytes of disk until it is stored.
const atOnce = 4

// A Hub gets charms for the models of a controller.
type Hub struct {
	temp  string // the directory of temporary files; "" for the system's
	turns *semaphore.Weighted

	mu    sync.Mutex
	loads map[string]*load // by model and what is downloaded
}

// New returns a Hub that has its temporary files in a directory, "" for the system's.
func New(temp string) *Hub {
	return &Hub{temp: temp, turns: semaphore.NewWeighted(atOnce), loads: map[string]*load{}}
}

// Store returns a client of the store from which a model gets charms. The caller must close it.
func Store(ctx context.Context, st *state.State) (*charmhub.Client, error) {
	config, err := st.Settings().Config(ctx)
	if err != nil {
		return nil, err
	}
	return charmhub.New(charmhub.Options{URL: config[modelconfig.CharmhubURL].Value, CACert: config[modelconfig.CharmhubCA].Value,
		Proxy: proxyOf(config), Retried: func(err error) { logger.Infof("asking the charm store again: %v", err) }})
}

// proxyOf returns the proxies of a model's programs or, if there are none, of its charms; nil for those of the controller's
// environment.
func proxyOf(config modelconfig.Config) func(*http.Request) (*url.URL, error) {
	for _, prefix := range []string{"", "juju-"} {
		value := func(key string) string { return config[prefix+key].Value }
		if value("http-proxy") == "" && value("https-proxy") == "" {
			continue
		}
		of := (&httpproxy.Config{HTTPProxy: value("http-proxy"), HTTPSProxy: value("https-proxy"), NoProxy: value("no-proxy")}).ProxyFunc()
		return func(r *http.Request) (*url.URL, error) { return of(r.URL) }
	}
	return nil
}

// URL returns the URL that a charm of a store has in models, on an architecture.
func URL(ch *charmhub.Charm, arch string) charm.URL {
	return charm.URL{Schema: "ch", Architecture: arch, Name: ch.Name, Revision: ch.Revision}
}

// fetch has a model get a charm that its store has offered. Nothing of an archive is used before its hashes have been compared with
// those of the offer.
func (h *Hub) fetch(ctx context.Context, st *state.State, store *charmhub.Client, ch *charmhub.Charm, u charm.URL) error {
	if ch.Type == "bundle" {
		return entity.Errorf(entity.NotSupported, "%q is a bundle, and not a charm", ch.Name)
	}
	err := h.once(ctx, strings.Join([]string{st.UUID(), u.String(), ch.Download.HashSHA256, ch.Download.HashSHA384}, " "),
		func(ctx context.Context, moved func(int64)) error {
			if _, err := st.Charms().Sum(ctx, u.String()); !entity.IsNotFound(err) {
				return err // another download has just ended
			}
			return h.download(ctx, store, ch.Download, entity.MaxCharm, moved,
				func(f *os.File) error { return st.Charms().AddStored(ctx, f, u) })
		})
	if err != nil {
		return fmt.Errorf("charm %q of %s: %w", u, store.URL(), known(err))
	}
	return nil
}

// known gives an error of a store that has no kind the one of what may work later.
func known(err error) error {
	if err == nil || entity.KindOf(err) != "" || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return entity.Errorf(entity.Unavailable, "%w", err)
}

// download calls use with a file of the store, once it has been checked.
func (h *Hub) download(ctx context.Context, store *charmhub.Client, file charmhub.File, limit int64, moved func(int64),
	use func(*os.File) error) error {
	if err := h.turns.Acquire(ctx, 1); err != nil {
		return err
	}
	defer h.turns.Release(1)
	f, err := charm.UnlinkedFile(h.temp)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := store.Fetch(ctx, file, f, limit, moved); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return use(f)
}

// A load is a download for all who ask for the same.
type load struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error

	mu     sync.Mutex
	asking map[int]context.Context
	next   int
	told   time.Time
}

// join adds someone who asks; leave reports whether that was the last.
func (l *load) join(ctx context.Context) (leave func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.next
	l.next++
	l.asking[id] = ctx
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.asking, id)
		return len(l.asking) == 0
	}
}

// moved gives all who ask more time, as bytes have come.
func (l *load) moved(int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.told) >= time.Second {
		l.told = now
		for _, ctx := range l.asking {
			mongo.Moved(ctx)
		}
	}
}

// once calls do once for all who ask at the same time, until one of them has the result or all have gone. do calls moved when it
// gets on.
func (h *Hub) once(ctx context.Context, key string, do func(ctx context.Context, moved func(int64)) error) error {
	h.mu.Lock()
	one := h.loads[key]
	if one == nil {
		lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
		one = &load{cancel: cancel, done: make(chan struct{}), asking: map[int]context.Context{}}
		h.loads[key] = one
		go func() {
			defer cancel()
			one.err = do(lasting, one.moved)
			h.mu.Lock()
			if h.loads[key] == one {
				delete(h.loads, key)
			}
			h.mu.Unlock()
			close(one.done)
		}()
	}
	leave := one.join(ctx)
	h.mu.Unlock()
	select {
	case <-one.done:
		return one.err
	case <-ctx.Done():
	}
	h.mu.Lock()
	last := leave()
	if last && h.loads[key] == one {
		delete(h.loads, key) // who asks from now on does not get an end that others wanted
	}
	h.mu.Unlock()
	if last {
		one.cancel()
		<-one.done
	}
	return context.Cause(ctx)
}
