package lxd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/canonical/lxd/shared/api"
	"github.com/google/uuid"

	"juju/state/entity"
)

// selfSigned returns a self-signed certificate and its key in PEM. It is valid for ip, unless that is "".
func selfSigned(t *testing.T, ip string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "juju test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if ip != "" {
		template.IPAddresses = []net.IP{net.ParseIP(ip)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: text}))
}

// A controller on another host connects to LXD with a client certificate that LXD trusts, and accepts only the
// configured server.
func TestHTTPS(t *testing.T) {
	path, ctx := socket(t), within(t)
	top := rawClient(path, "")
	var server api.Server
	if err := top.get(ctx, "/1.0", nil, &server); err != nil {
		t.Fatal(err)
	}
	if at, _ := server.Config["core.https_address"].(string); at != "" {
		t.Skipf("this LXD listens at %s already", at)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	listen := func(address string) {
		if _, err := top.do(ctx, http.MethodPatch, "/1.0", nil, api.ServerPut{Config: map[string]any{
			"core.https_address": address}}); err != nil {
			t.Error(err)
		}
	}
	listen(address)
	defer listen("")
	cert, key := selfSigned(t, "")
	config := Config{Endpoint: "https://" + address, ClientCert: cert, ClientKey: key,
		ServerCert: server.Environment.Certificate, Controller: uuid.NewString()}
	open := func(config Config) *environ {
		c, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.client.http.CloseIdleConnections)
		return environOf(t, c)
	}
	_, err = open(config).Instances(ctx)
	if !errors.Is(err, entity.Unauthorized) || !strings.Contains(entity.Hint(err), "lxc config trust add") {
		t.Errorf("got error %v for a client that LXD does not trust", err)
	}
	block, _ := pem.Decode([]byte(cert))
	trust := api.CertificatesPost{CertificatePut: api.CertificatePut{Name: "juju-test", Type: "client",
		Certificate: base64.StdEncoding.EncodeToString(block.Bytes)}}
	if _, err := top.do(ctx, http.MethodPost, "/1.0/certificates", nil, trust); err != nil {
		t.Fatal(err)
	}
	defer func() {
		fingerprint := fmt.Sprintf("%x", sha256.Sum256(block.Bytes))
		if _, err := top.do(ctx, http.MethodDelete, "/1.0/certificates/"+fingerprint, nil, nil); err != nil {
			t.Error(err)
		}
	}()
	if all, err := open(config).Instances(ctx); err != nil || len(all) != 0 {
		t.Errorf("got %v, %v", all, err)
	}
	other := config
	other.ServerCert = cert
	if _, err := open(other).Instances(ctx); !errors.Is(err, entity.Invalid) ||
		!strings.Contains(err.Error(), "not the configured one") {
		t.Errorf("got error %v from a server with another certificate", err)
	}
	other.ServerCert = ""
	if _, err := open(other).Instances(ctx); !errors.Is(err, entity.Invalid) {
		t.Errorf("got error %v from a server that no authority vouches for", err)
	}
}
