package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"time"
)

// ServerName is a name in every server certificate. Clients verify this name rather than the address that they dialled:
// addresses change (a container moves, a port is forwarded), and a controller's CA signs only that controller's
// certificates.
const ServerName = "juju-apiserver"

// The validity of certificates. It starts a day early, for clients whose clocks are behind.
const (
	certEarly = 24 * time.Hour
	certLife  = 10 * 365 * 24 * time.Hour
)

// A KeyPair is a certificate with its private key, both in PEM.
type KeyPair struct {
	Cert string
	Key  string
}

// NewCA creates the certificate authority of a new controller. It signs only the certificates of that controller's
// servers.
func NewCA(controllerUUID string, now time.Time) (KeyPair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "juju-ca", Organization: []string{"juju"}, SerialNumber: controllerUUID},
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	pair, err := makeCert(template, now, nil, nil)
	if err != nil {
		return KeyPair{}, fmt.Errorf("cannot make a certificate authority: %w", err)
	}
	return pair, nil
}

// NewServerCert creates a server certificate for the given addresses (IPs or names), signed by ca. It is also valid for
// localhost and for ServerName.
func NewServerCert(ca KeyPair, addresses []string, now time.Time) (KeyPair, error) {
	fail := func(err error) (KeyPair, error) {
		return KeyPair{}, fmt.Errorf("cannot make a server certificate: %w", err)
	}
	signer, err := tls.X509KeyPair([]byte(ca.Cert), []byte(ca.Key))
	if err != nil {
		return fail(err)
	}
	parent, err := x509.ParseCertificate(signer.Certificate[0])
	if err != nil {
		return fail(err)
	}
	key, ok := signer.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return fail(errors.New("the authority's key is not ECDSA"))
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: ServerName, Organization: []string{"juju"}},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{ServerName, "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address); ip == nil {
			template.DNSNames = append(template.DNSNames, address)
		} else if !slices.ContainsFunc(template.IPAddresses, ip.Equal) {
			template.IPAddresses = append(template.IPAddresses, ip)
		}
	}
	pair, err := makeCert(template, now, parent, key)
	if err != nil {
		return fail(err)
	}
	return pair, nil
}

// makeCert adds a key, a serial number and a validity period to the template, and has parent sign it. If parent is nil,
// the certificate is self-signed.
func makeCert(
	template *x509.Certificate, now time.Time, parent *x509.Certificate, signer *ecdsa.PrivateKey,
) (KeyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return KeyPair{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return KeyPair{}, err
	}
	template.NotBefore, template.NotAfter = now.Add(-certEarly), now.Add(certLife)
	if parent == nil {
		parent, signer = template, key
	} else if template.NotAfter.After(parent.NotAfter) {
		template.NotAfter = parent.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return KeyPair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return KeyPair{}, err
	}
	return KeyPair{
		Cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		Key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
	}, nil
}

// aeadSuites returns the TLS 1.2 cipher suites with authenticated encryption; the padding of the others has been
// attacked. All TLS 1.3 suites are of this kind.
func aeadSuites() (ids []uint16) {
	for _, suite := range tls.CipherSuites() {
		if strings.Contains(suite.Name, "_GCM_") || strings.Contains(suite.Name, "_CHACHA20_POLY1305") {
			ids = append(ids, suite.ID)
		}
	}
	return ids
}

// TLSConfig returns the configuration of a server with this certificate.
func TLSConfig(server KeyPair) (*tls.Config, error) {
	cert, err := tls.X509KeyPair([]byte(server.Cert), []byte(server.Key))
	if err != nil {
		return nil, fmt.Errorf("cannot use the server certificate: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		MinVersion:   tls.VersionTLS12,
		CipherSuites: aeadSuites(),
		NextProtos:   []string{"http/1.1"}, // websockets need it; HTTP/2 has another handshake
	}, nil
}
