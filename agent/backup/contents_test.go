package backup_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"juju/agent/backup"
	"juju/state/entity"
)

// pair returns a certificate and its key.
func pair(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}))
}

// A backup is verified only if it has all that a restore relies on.
func TestVerify(t *testing.T) {
	cert, key := pair(t)
	_, other := pair(t)
	config := func(field string, value any) string {
		all := map[string]any{"controller": "uuid", "cloud": "local", "series": "jammy", "model": "own", "address": "h:1",
			"ca": map[string]string{"Cert": cert, "Key": key}}
		all[field] = value
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	store := []string{"juju/controller/form", "juju/controller/documents", "own/machines/form", "own/machines/documents"}
	without := func(name string) []string {
		return strings.Fields(strings.ReplaceAll(strings.Join(store, " "), name, ""))
	}
	for _, test := range []struct {
		about, config string
		entries       []string
		junk          string
		want          string // in the error; "" for none
	}{
		{"a whole one", config("", nil), store, "", ""},
		{"more zeros than it needs", config("", nil), store, strings.Repeat("\x00", 10_000), ""},
		{"something after its end", config("", nil), store, "x", "something follows its end"},
		{"much after its end", config("", nil), store, strings.Repeat("\x00", 9000) + "x", "something follows its end"},
		{"an empty configuration", `{}`, store, "", `it is of controller "uuid", and its controller.conf of ""`},
		{"null", `null`, store, "", `and its controller.conf of ""`},
		{"no JSON", `controller`, store, "", "controller.conf: invalid character"},
		{"another controller", config("controller", "other"), store, "", `and its controller.conf of "other"`},
		{"another cloud", config("cloud", "lxd"), store, "", `and its controller.conf of "lxd"`},
		{"a number for a text", config("model", 1), store, "", "controller.conf: json: cannot unmarshal"},
		{"no model", config("model", ""), store, "", "does not say where the controller was"},
		{"no series", config("series", ""), store, "", "does not say where the controller was"},
		{"no address", config("address", ""), store, "", "does not say where the controller was"},
		{"another key", config("ca", map[string]string{"Cert": cert, "Key": other}), store, "", "the certificate authority"},
		{"no authority", config("ca", nil), store, "", "the certificate authority"},
		{"an empty store", config("", nil), nil, "", "its store has no controller"},
		{"no controller", config("", nil), without("juju/controller/documents"), "", "its store has no controller"},
		{"no model of its own", config("model", "gone"), store, "", "own model"},
		{"an unknown collection", config("", nil), without("own/machines/form"), "", "own/machines/documents is no part of a store"},
		{"a collection twice", config("", nil), append(store, "own/machines/form"), "", "own/machines/form is no part of a store"},
		{"another file", config("", nil), append(store, "passwd"), "", "passwd is no part of a store"},
		{"a database only", config("", nil), append(store, "own/form"), "", "own/form is no part of a store"},
	} {
		var b bytes.Buffer
		w, err := backup.NewWriter(&b, manifest)
		if err == nil {
			err = w.Add(backup.ConfigName, []byte(test.config))
		}
		for _, name := range test.entries {
			if err == nil {
				err = w.Add(name, []byte("data"))
			}
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(test.junk)
		m, err := backup.Verify(t.Context(), &b)
		if test.want == "" {
			if err != nil || m != manifest {
				t.Errorf("%s: %+v, %v", test.about, m, err)
			}
			continue
		}
		if entity.KindOf(err) != entity.Invalid || !strings.HasPrefix(err.Error(), "the backup is damaged: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.about, err, test.want)
		}
	}
}
