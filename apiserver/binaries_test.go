package apiserver

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"juju/apiserver/facades"
	"juju/apiserver/facades/facadestest"
	"juju/doc/tools/verify"
)

// A new machine, which has no login, can download the agent binaries by their hash, and nothing else.
func TestBinariesAreDownloaded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.tar.gz")
	if err := os.WriteFile(path, []byte("binaries"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(t.TempDir(), "before.tar.gz")
	if err := os.WriteFile(before, []byte("binaries before"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *Config) {
		c.Binaries = &facades.Binaries{Path: path, SHA256: "abcdef"}
		c.Upgrades = &facadestest.Upgrades{Kept: map[string]string{"fedcba": before}}
		c.Limits = DefaultLimits()
		c.Limits.Downloads, c.Limits.DownloadWait = 1, time.Millisecond
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(pki().ca.Cert))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: ServerName}}}
	get := func(path string) (int, string, http.Header) {
		t.Helper()
		resp, err := client.Get("https://" + w.address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(text), resp.Header
	}
	if status, text, header := get("/tools/abcdef"); status != 200 || text != "binaries" ||
		header.Get("Content-Type") != "application/gzip" {
		t.Errorf("got %d %q %v", status, text, header)
	}
	// So does one of a model that has not followed its controller.
	if status, text, _ := get("/tools/fedcba"); status != 200 || text != "binaries before" {
		t.Errorf("the binaries from before: %d %q", status, text)
	}
	for _, other := range []string{"/tools/abcdee", "/tools/", "/tools/..%2fcontroller.conf", "/tools/abcdef/x"} {
		if status, _, _ := get(other); status != http.StatusNotFound {
			t.Errorf("%s: status %d", other, status)
		}
	}
	// While another downloads, one is told to try again.
	release, err := w.server.downloads.Take(t.Context(), verify.Patience)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/tools/abcdef", "/tools/abcdee"} { // an unknown one is looked up in the store
		if status, _, header := get(path); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
			t.Errorf("%s beside another: status %d", path, status)
		}
	}
	release()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if status, text, _ := get("/tools/abcdef"); status != http.StatusInternalServerError || text == "" {
		t.Errorf("without the file: %d %q", status, text)
	}
}
