package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/params"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

// refusing starts a controller that answers every request with an error. It returns its
// address and certificate.
func refusing(t *testing.T, why error) (address, cert string) {
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
			frame, err := params.EncodeFailure(req.RequestID, params.ToError(why))
			if err != nil || ws.WriteMessage(websocket.TextMessage, frame) != nil {
				return
			}
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// The controller itself reports that its store is unavailable, and what to do. Hints about an
// unreachable controller would mislead the user.
func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	address, cert := refusing(t, entity.WithHint(entity.Errorf(entity.Unavailable,
		"the controller's store is away since 2026-11-22 01:46:17 UTC, for 42s"),
		"The controller waits until its MongoDB has a primary."))
	u.note(func(c *store.Contents) {
		c.Controllers["prod"].Addresses, c.Controllers["prod"].CACert = []string{address}, cert
	})
	u.session.ReachTimeout = time.Minute
	u.session.Connect = func(ctx context.Context) (io.Closer, error) {
		conn, err := connect.Model(ctx, u.session)
		if err == nil {
			t.Error("logged in")
			return conn, nil
		}
		return nil, err
	}
	for _, command := range [][]string{{"status"}, {"expose", "web"}} {
		u.err.Reset()
		u.types(command...)
		want := "ERROR cannot log in to controller \"prod\": the controller's store is away since 2026-11-22 01:46:17 " +
			"UTC, for 42s\n" +
			"The controller waits until its MongoDB has a primary.\n"
		if u.code != 1 || u.err.String() != want {
			t.Errorf("%s: exit code %d, said\n%s", strings.Join(command, " "), u.code, u.err.String())
		}
	}
}
