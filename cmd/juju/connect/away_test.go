package connect_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/params"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/store"
	"juju/doc/tools/verify"
	"juju/state/entity"
)

// certificate returns a controller's certificate, which is its own CA.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"juju-apiserver"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// refusing starts a controller that answers every request with an error, or not at all if why is nil. It returns its address and certificate. At the
// first connections another server answers in its place.
func refusing(t *testing.T, why error, strangers int) (address, cert string) {
	t.Helper()
	own, other := certificate(t), certificate(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		for {
			var req params.Request
			if ws.ReadJSON(&req) != nil {
				return
			}
			if why == nil {
				continue
			}
			frame, err := params.EncodeFailure(req.RequestID, params.ToError(why))
			if err != nil || ws.WriteMessage(websocket.TextMessage, frame) != nil {
				return
			}
		}
	}))
	var connections atomic.Int64
	server.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if connections.Add(1) <= int64(strangers) {
			return &other, nil
		}
		return &own, nil
	}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log each refused handshake
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Certificate[0]}))
}

// The controller itself reports that its store is unavailable, and what to do. Hints about an
// unreachable controller would mislead the user.
func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	address, cert := refusing(t, entity.WithHint(entity.Errorf(entity.Unavailable,
		"the controller's store is away since 2026-11-22 01:46:17 UTC, for 42s"),
		"The controller waits until its MongoDB has a primary."), 0)
	u.Note(func(c *store.Contents) {
		c.Controllers["prod"].Addresses, c.Controllers["prod"].CACert = []string{address}, cert
	})
	u.Session.ReachTimeout = verify.Patience
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		conn, err := connect.Model(ctx, u.Session)
		if err == nil {
			t.Error("logged in")
			return conn, nil
		}
		return nil, err
	}
	for _, command := range [][]string{{"status"}, {"expose", "web"}} {
		u.Err.Reset()
		u.Types(command...)
		want := "ERROR cannot log in to controller \"prod\": the controller's store is away since 2026-11-22 01:46:17 " +
			"UTC, for 42s\n" +
			"The controller waits until its MongoDB has a primary.\n"
		if u.Code != 1 || u.Err.String() != want {
			t.Errorf("%s: exit code %d, said\n%s", strings.Join(command, " "), u.Code, u.Err.String())
		}
	}
}

// A controller that does not answer a login is not said to be gone, or to be destroyed: it may be busy, or its store away.
func TestLoginIsNotAnswered(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	address, cert := refusing(t, nil, 0)
	u.Note(func(c *store.Contents) {
		c.Controllers["prod"].Addresses, c.Controllers["prod"].CACert = []string{address}, cert
	})
	u.Session.ReachTimeout = time.Second
	u.Session.Connect = func(ctx context.Context) (io.Closer, error) {
		_, err := connect.Model(ctx, u.Session)
		return nil, err
	}
	u.Types("status")
	want := "ERROR cannot log in to controller \"prod\": it accepts connections but does not answer: " +
		"the controller did not answer Admin.Login in time: context deadline exceeded\n" +
		"It runs, but it is very busy, or its store does not respond: run the command again in a minute.\n" +
		"If that does not help, check its store, and its log.\n"
	if u.Code != 1 || u.Err.String() != want {
		t.Errorf("exit code %d, said\n%s", u.Code, u.Err.String())
	}
}

// For a moment another server can answer at the address of a controller, as when LXD configures the bridge anew and
// connections leave by the default route.
func TestOtherServerAnswersForAMoment(t *testing.T) {
	t.Parallel()
	for strangers, want := range map[int]string{
		2:   "ERROR cannot log in to controller \"prod\": no\nWait.\n",
		100: "ERROR cannot connect to the controller at ADDRESS: a different server is listening there: tls: ",
	} {
		u := newUser(t)
		address, cert := refusing(t, entity.WithHint(entity.Errorf(entity.Unavailable, "no"), "Wait."), strangers)
		u.Note(func(c *store.Contents) {
			c.Controllers["prod"].Addresses, c.Controllers["prod"].CACert = []string{address}, cert
		})
		u.Session.ReachTimeout = verify.Patience
		u.Session.Connect = func(ctx context.Context) (io.Closer, error) { return connect.Model(ctx, u.Session) }
		u.Types("status")
		if said := strings.ReplaceAll(u.Err.String(), address, "ADDRESS"); u.Code != 1 || !strings.HasPrefix(said, want) {
			t.Errorf("after %d: exit code %d, said\n%s", strangers, u.Code, said)
		}
	}
}
