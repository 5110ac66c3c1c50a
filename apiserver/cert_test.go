package apiserver

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"
)

func parseCert(t *testing.T, text string) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		t.Fatal("no PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// A controller's certificate is valid for localhost, for every address it was made for, and
// for the name that clients verify, but only under its own CA.
func TestCertificates(t *testing.T) {
	now := time.Now()
	ca, err := NewCA("deadbeef-0000-4000-8000-000000000001", now)
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewCA("deadbeef-0000-4000-8000-000000000002", now)
	if err != nil {
		t.Fatal(err)
	}
	server, err := NewServerCert(ca, []string{"10.1.2.3", "127.0.0.1", "fd00::1", "controller.example"}, now)
	if err != nil {
		t.Fatal(err)
	}
	cert := parseCert(t, server.Cert)
	if _, ok := cert.PublicKey.(*ecdsa.PublicKey); !ok {
		t.Errorf("the key is a %T", cert.PublicKey)
	}
	pool, otherPool := x509.NewCertPool(), x509.NewCertPool()
	pool.AddCert(parseCert(t, ca.Cert))
	otherPool.AddCert(parseCert(t, other.Cert))
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "10.1.2.3", "fd00::1", "controller.example",
		ServerName} {
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: pool}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: "10.1.2.4", Roots: pool}); err == nil {
		t.Error("it is valid for any address")
	}
	if _, err := cert.Verify(x509.VerifyOptions{DNSName: "localhost", Roots: otherPool}); err == nil {
		t.Error("it is valid under another controller's CA")
	}
	// A clock may be off by an hour.
	if _, err := cert.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: now.Add(-time.Hour)}); err != nil {
		t.Error(err)
	}
	if config, err := TLSConfig(server); err != nil || config.MinVersion < tls.VersionTLS12 {
		t.Errorf("TLS: %v, %v", config, err)
	}
	// One made later is not valid for longer than the CA.
	late, err := NewServerCert(ca, nil, now.AddDate(1, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if end, last := parseCert(t, late.Cert).NotAfter, parseCert(t, ca.Cert).NotAfter; !end.Equal(last) {
		t.Errorf("a certificate is valid until %v, and its CA until %v", end, last)
	}
	// What agents have is not enough to pose as the controller.
	if _, err := NewServerCert(server, nil, now); err == nil {
		leaf, _ := NewServerCert(server, nil, now)
		c := parseCert(t, leaf.Cert)
		middle := x509.NewCertPool()
		middle.AddCert(cert)
		if _, err := c.Verify(x509.VerifyOptions{Roots: pool, Intermediates: middle}); err == nil {
			t.Error("a server's certificate signs others")
		}
	}
}
