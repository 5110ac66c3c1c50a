package lxd

import (
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/uuid"

	"juju/state/entity"
)

// When its certificates are replaced, a cloud uses them for the next request, and no other.
func TestCertificatesAreReplaced(t *testing.T) {
	t.Parallel()
	serverCert, serverKey := selfSigned(t, "127.0.0.1")
	pair, err := tls.X509KeyPair([]byte(serverCert), []byte(serverKey))
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shown = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.TLS.PeerCertificates[0].Raw}))
		w.Write([]byte(`{"type": "sync", "metadata": {"auth": "untrusted"}}`))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	config := Config{Endpoint: server.URL, ServerCert: serverCert, Controller: uuid.NewString()}
	var certs, keys [2]string
	for i := range certs {
		certs[i], keys[i] = selfSigned(t, "")
	}
	config.ClientCert, config.ClientKey = certs[0], keys[0]
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.client.http.CloseIdleConnections() }()
	shows := func(want string) {
		t.Helper()
		if err := c.client.get(t.Context(), "/1.0", nil, &api.Server{}); err != nil || shown != want {
			t.Errorf("the request showed\n%s, %v, want\n%s", shown, err, want)
		}
	}
	shows(certs[0])
	config.ClientCert, config.ClientKey = certs[1], keys[1]
	if err := c.SetCertificates(config); err != nil {
		t.Fatal(err)
	}
	shows(certs[1])
	config.ClientKey = keys[0]
	if err := c.SetCertificates(config); !errors.Is(err, entity.Invalid) {
		t.Errorf("a key of another certificate: %v", err)
	}
	shows(certs[1])
	config.ClientKey, config.ServerCert = keys[1], certs[0]
	if err := c.SetCertificates(config); err != nil {
		t.Fatal(err)
	}
	if err := c.client.get(t.Context(), "/1.0", nil, &api.Server{}); !errors.Is(err, entity.Invalid) {
		t.Errorf("a server with another certificate: %v", err)
	}
}

func TestEndpointsThatAControllerCanReach(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]bool{"": false, "/lxd/unix.socket": false, "https://10.0.0.1:8443": true,
		"https://[fd00::1]:8443": true, "https://lxd.example": true} {
		if remote, err := CheckEndpoint(endpoint); err != nil || remote != want {
			t.Errorf("%q: %v, %v", endpoint, remote, err)
		}
	}
	for _, endpoint := range []string{"http://h", "lxd", "https://", "https://h/x", "https://user:secret@h", "https://localhost:8443",
		"https://127.0.0.1:8443", "https://[::1]:8443", "https://0.0.0.0:1"} {
		if _, err := CheckEndpoint(endpoint); !errors.Is(err, entity.Invalid) {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
}
