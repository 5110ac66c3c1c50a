package apiserver

import (
	"crypto/tls"
	"testing"
)

// With TLS 1.2 the server takes suites that encrypt and authenticate in one, and no other; older versions
// of TLS it does not take.
func TestCipherSuites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dial := func(version, suite uint16) error {
		config := clientTLS()
		config.ServerName, config.MinVersion, config.MaxVersion = ServerName, version, version
		if suite != 0 {
			config.CipherSuites = []uint16{suite}
		}
		c, err := tls.Dial("tcp", w.address, config)
		if err == nil {
			c.Close()
		}
		return err
	}
	for _, suite := range []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256} {
		if err := dial(tls.VersionTLS12, suite); err != nil {
			t.Errorf("%s: %v", tls.CipherSuiteName(suite), err)
		}
	}
	for _, suite := range []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256} {
		if dial(tls.VersionTLS12, suite) == nil {
			t.Errorf("%s is taken", tls.CipherSuiteName(suite))
		}
	}
	if err := dial(tls.VersionTLS13, 0); err != nil {
		t.Errorf("TLS 1.3: %v", err)
	}
	if dial(tls.VersionTLS11, 0) == nil {
		t.Error("TLS 1.1 is taken")
	}
}
