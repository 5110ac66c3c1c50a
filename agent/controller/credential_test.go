package controller

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"juju/agent/controller/clouds"
	"juju/apiserver"
	"juju/apiserver/client"
	"juju/provider"
	"juju/provider/lxd"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/mongo/mongotest"
	"juju/worker"
)

// A controller reaches its cloud with a credential that a superuser sets while it runs. It is in backups, and a controller
// that starts later uses it.
func TestARunningControllerUsesANewCredential(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	fake := newFakeLXD(s, 1)
	trusted := fake.pairs[1]

	c := &running{ctrl: s.c.ctrl, conf: config{Controller: s.c.conf.Controller, Cloud: "lxd", Access: fake.access(0)}}
	s.ok(c.openCloud(t.Context()))
	environ, err := c.openModel(s.ctx, c.cloud.Open, s.model)
	s.ok(err)
	if _, err := environ.Instances(s.ctx); !errors.Is(err, entity.Unauthorized) {
		t.Fatalf("the first credential: %v", err)
	}
	ctx, stop := context.WithCancel(s.ctx)
	done := make(chan error, 1)
	go func() { done <- c.cloud.Follow(ctx) }()
	defer func() {
		stop()
		<-done
	}()
	next := fake.credential(1)
	s.ok(c.checkCredential(s.ctx, next, true))
	if err := c.checkCredential(s.ctx, fake.credential(0), true); !errors.Is(err, entity.Unauthorized) {
		t.Errorf("one that is not trusted: %v", err)
	}
	s.ok(c.checkCredential(s.ctx, fake.credential(0), false))
	for _, key := range []string{lxd.ServerCert, lxd.ClientKey} {
		bad := entity.CloudCredential{AuthType: entity.AuthCertificate, Attributes: map[string]string{key: "x"}}
		if err := c.checkCredential(s.ctx, bad, false); !errors.Is(err, entity.Invalid) {
			t.Errorf("one with a bad %s: %v", key, err)
		}
	}
	s.ok(s.c.ctrl.SetCloudCredential(s.ctx, "", next))
	s.eventually("LXD to trust the controller", func() bool { _, err := environ.Instances(s.ctx); return err == nil })
	if how, err := c.access(ctx, ""); err != nil || how.LXD.ClientKey != trusted.Key {
		t.Errorf("a controller that starts uses %v, %v", how.LXD.ClientCert, err)
	}
	text, err := backups{c}.restorable(ctx, false)
	s.ok(err)
	var saved config
	s.ok(json.Unmarshal(text, &saved))
	if saved.LXD.ClientKey != trusted.Key {
		t.Error("the backup has the former credential")
	}
}

// A fakeLXD trusts one of several clients, and can be told to trust another.
type fakeLXD struct {
	url     string
	server  apiserver.KeyPair
	pairs   []apiserver.KeyPair // of clients
	trusted atomic.Pointer[[]byte]
}

// newFakeLXD returns one that trusts the client with this index.
func newFakeLXD(s *system, trusted int) *fakeLXD {
	s.Helper()
	ca, err := apiserver.NewCA("test", time.Now())
	s.ok(err)
	f := &fakeLXD{}
	for range 4 {
		pair, err := apiserver.NewServerCert(ca, []string{"127.0.0.1"}, time.Now())
		s.ok(err)
		f.pairs = append(f.pairs, pair)
	}
	f.server, f.pairs = f.pairs[0], f.pairs[1:]
	f.trust(s, trusted)
	own, err := tls.X509KeyPair([]byte(f.server.Cert), []byte(f.server.Key))
	s.ok(err)
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth := "untrusted"
		if bytes.Equal(r.TLS.PeerCertificates[0].Raw, *f.trusted.Load()) {
			auth = "trusted"
		}
		if r.URL.Path != "/1.0" && auth == "trusted" {
			s.ok(json.NewEncoder(w).Encode(map[string]any{"type": "sync", "metadata": []string{}}))
			return
		} else if r.URL.Path != "/1.0" {
			w.WriteHeader(http.StatusForbidden)
			s.ok(json.NewEncoder(w).Encode(map[string]any{"type": "error", "error": "not authorized", "error_code": http.StatusForbidden}))
			return
		}
		s.ok(json.NewEncoder(w).Encode(map[string]any{"type": "sync", "metadata": map[string]any{"auth": auth,
			"api_extensions": []string{"instances", "cloud_init", "image_types", "resources_v2", "projects"}}}))
	}))
	h.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert}
	h.StartTLS()
	s.Cleanup(h.Close)
	f.url = h.URL
	return f
}

// trust has it trust the client with this index, and no other.
func (f *fakeLXD) trust(s *system, client int) {
	s.Helper()
	pair, err := tls.X509KeyPair([]byte(f.pairs[client].Cert), []byte(f.pairs[client].Key))
	s.ok(err)
	f.trusted.Store(&pair.Certificate[0])
}

// access returns how a controller reaches it as the client with this index.
func (f *fakeLXD) access(client int) clouds.Access {
	return clouds.Access{LXD: &lxd.Config{Endpoint: f.url, ClientCert: f.pairs[client].Cert, ClientKey: f.pairs[client].Key,
		ServerCert: f.server.Cert}}
}

// credential returns the credential of that client.
func (f *fakeLXD) credential(client int) entity.CloudCredential {
	return f.access(client).LXD.Credential()
}

// Of several controllers, each uses the credential that one of them was given: at once, when it reaches the store again, and
// when it starts.
func TestEachControllerUsesANewCredential(t *testing.T) {
	t.Parallel()
	set := mongotest.NewSet(t, 3)
	first := &wire{dial: set.Dial}
	s := newThreeControllers(t, set, first.Dial)
	fake := newFakeLXD(s, 0)
	// runs has a controller use the cloud as it does when it starts, and returns whether LXD trusts it.
	nodes := append(s.nodes.up(), s.c)
	runs := func(n *running) (trusted func() bool) {
		c := &running{ctrl: n.ctrl, options: n.options, conf: config{Controller: n.conf.Controller, Cloud: "lxd", Access: fake.access(0)}}
		c.options.Open = nil
		s.ok(c.openCloud(t.Context()))
		ctx, stop := context.WithCancel(s.ctx)
		done := make(chan error, 1)
		go func() {
			done <- worker.Run(ctx, 10*time.Millisecond, map[string]worker.Func{"credential": c.cloud.Follow})
		}()
		t.Cleanup(func() {
			stop()
			<-done
		})
		environ, err := c.cloud.Open(s.ctx, provider.Config{Controller: n.conf.Controller, Model: s.model})
		s.ok(err)
		return func() bool {
			_, err := environ.Instances(s.ctx)
			if err != nil && !strings.Contains(err.Error(), "not authorized") && !errors.Is(err, entity.Unauthorized) {
				t.Error(err)
			}
			return err == nil
		}
	}
	var all []func() bool
	for _, n := range nodes {
		all = append(all, runs(n))
	}
	each := func() bool {
		for _, trusted := range all {
			if !trusted() {
				return false
			}
		}
		return true
	}
	if !each() {
		t.Fatal("the first credential is not used")
	}
	give := func(client int) {
		fake.trust(s, client)
		s.ok(nodes[0].ctrl.SetCloudCredential(s.ctx, "", fake.credential(client)))
	}
	give(1)
	s.eventually("each controller to use the second credential", each)
	first.cut(true)
	give(2)
	if all[2]() {
		t.Error("a controller that is cut off from the store knows the third credential")
	}
	s.eventually("the others to use the third credential", func() bool { return all[0]() && all[1]() })
	first.cut(false)
	s.eventually("each controller to use the third credential", each)
	if !runs(nodes[1])() {
		t.Error("a controller that starts does not use the third credential")
	}
}

// A model's workers reach the cloud with the credential that the model uses: also when it gets another one, or that gets a new
// one of its name.
func TestWorkersUseTheCredentialOfTheirModel(t *testing.T) {
	t.Parallel()
	s := newSystem(t, Options{})
	fake := newFakeLXD(s, 1)
	c := &running{ctrl: s.c.ctrl, server: s.c.server, conf: s.c.conf}
	c.conf.Cloud, c.conf.Access = "lxd", fake.access(0)
	s.ok(c.openCloud(t.Context()))
	open := c.cloud.Open
	trusted := func(model string) bool {
		t.Helper()
		environ, err := c.openModel(s.ctx, open, model)
		s.ok(err)
		_, err = environ.Instances(s.ctx)
		return err == nil
	}
	s.ok(c.ctrl.AddCloudCredential(s.ctx, "ops", fake.credential(1)))
	s.ok(c.ctrl.AddCloudCredential(s.ctx, "dev", fake.credential(2)))
	st, err := c.ctrl.AddModel(s.ctx, controller.AddModelParams{Name: "other", Owner: "admin", Credential: "ops"})
	s.ok(err)
	if trusted(s.model) || !trusted(st.UUID()) {
		t.Fatal("the models do not use their credentials")
	}
	ctx, stop := context.WithCancel(s.ctx)
	begun := make(chan bool)
	work := c.inCloud(st, open, func(ctx context.Context, _ *client.Conn, environ provider.Environ) error {
		_, err := environ.Instances(ctx)
		select {
		case begun <- err == nil:
		case <-ctx.Done():
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	ends := make(chan error, 2)
	go func() { ends <- work(ctx) }()
	go func() { ends <- c.cloud.Follow(ctx) }()
	defer func() {
		stop()
		<-ends
		<-ends
	}()
	if !<-begun {
		t.Error("the work begins with another credential")
	}
	fake.trust(s, 2)
	s.ok(c.ctrl.SetModelCredential(s.ctx, st.UUID(), "dev"))
	if !<-begun {
		t.Error("the work goes on with the former credential")
	}
	fake.trust(s, 0)
	s.ok(c.ctrl.SetCloudCredential(s.ctx, "dev", fake.credential(0)))
	s.eventually("the new credential to be used", func() bool { return trusted(st.UUID()) })
}
