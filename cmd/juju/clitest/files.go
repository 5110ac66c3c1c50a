package clitest

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Write writes a file and makes its directories. A file in a directory "hooks" is executable.
func Write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	mode := os.FileMode(0o644)
	if filepath.Base(filepath.Dir(path)) == "hooks" {
		mode = 0o755
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// CharmDir creates a charm.
func CharmDir(t *testing.T, meta string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "webpage")
	Write(t, filepath.Join(dir, "metadata.yaml"), meta)
	Write(t, filepath.Join(dir, "config.yaml"), "options:\n  title: {type: string, default: x}\n  port: {type: int}\n")
	Write(t, filepath.Join(dir, "hooks", "install"), "#!/bin/sh\n")
	return dir
}

// EmptyZip returns an archive without files.
func EmptyZip(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := zip.NewWriter(&b).Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Shop writes a bundle and its charms, and returns the bundle's path.
func Shop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, meta := range map[string]string{
		"web":   "requires: {store: kv}\nprovides: {site: http}\npeers: {ring: web}\n",
		"store": "provides: {db: kv}\nstorage: {data: {type: filesystem, multiple: {range: 0-2}}}\n",
		"log":   "subordinate: true\nrequires: {host: {interface: juju-info, scope: container}}\n",
		"later": "series: [noble]\n",
	} {
		Write(t, filepath.Join(dir, name, "metadata.yaml"), "name: "+name+"\nsummary: s\ndescription: d\n"+meta)
		Write(t, filepath.Join(dir, name, "hooks", "install"), "#!/bin/sh\n")
	}
	Write(t, filepath.Join(dir, "web", "config.yaml"),
		"options: {title: {type: string}, port: {type: int, default: 80}, ratio: {type: float}, debug: {type: boolean}}\n")
	file := filepath.Join(dir, "bundle.yaml")
	Write(t, file, ShopBundle)
	return file
}

const ShopBundle = `applications:
  web:
    charm: ./web
    num_units: 4
    to: ["0", "1", new]
    options: {title: Hello, ratio: 2, debug: yes}
    constraints: mem=1G
    expose: true
  store: {charm: ./store, num_units: 2, to: [web/1, "1"], annotations: {note: a}}
  log: {charm: ./log, annotations: {note: b}}
machines:
  "0": {constraints: cores=2}
  "1": {annotations: {rack: c}}
relations:
- [web, store]
- [log, web]
`

// Repack writes the charm in a directory to an archive beside it, uncompressed.
func Repack(t *testing.T, dir string) {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"config.yaml", "metadata.yaml", "hooks/install"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		h := &zip.FileHeader{Name: name}
		h.SetMode(0o644)
		if strings.HasPrefix(name, "hooks/") {
			h.SetMode(0o755)
		}
		w, err := z.CreateHeader(h)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	Write(t, dir+".zip", archive.String())
}

// Read returns what is in a file.
func Read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const Metadata = `name: webpage
summary: a page
description: a page
`

// BinariesOnPath creates binaries named like juju's that do nothing.
func BinariesOnPath(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	if len(names) == 0 {
		names = []string{"jujud", "machine-agent", "unit-agent", "hook-tool"}
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name),
			[]byte("#!/bin/sh\necho ERROR not today >&2\necho Come back tomorrow >&2\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return dir
}

// NewPair returns a certificate and its key in PEM.
func NewPair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
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
