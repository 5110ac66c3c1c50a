// Package sealing encrypts what the store keeps with a key that the store does not have.
package sealing

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// header begins the text of a key, and names its form.
const header = "juju-secret-key-1 "

// A Key seals and opens texts with XChaCha20-Poly1305. It is safe for concurrent use.
type Key struct {
	raw  []byte
	aead cipher.AEAD
}

// New returns a new random key.
func New() *Key {
	raw := make([]byte, chacha20poly1305.KeySize)
	rand.Read(raw) // never fails
	return of(raw)
}

// Derive returns the key that belongs to another secret, of at least 128 random bits: always the same one for it and a name.
func Derive(secret, name string) *Key {
	raw, err := hkdf.Key(sha256.New, []byte(secret), nil, "juju key of secrets of "+name, chacha20poly1305.KeySize)
	if err != nil {
		panic(err) // the size is right
	}
	return of(raw)
}

func of(raw []byte) *Key {
	aead, err := chacha20poly1305.NewX(raw)
	if err != nil {
		panic(err) // the size is right
	}
	return &Key{raw, aead}
}

// Parse reads the text of a key, as Text returns it. The errors do not show it.
func Parse(text string) (*Key, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), header)
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(raw) != chacha20poly1305.KeySize {
		return nil, errors.New("it is not a key of this controller's form")
	}
	return of(raw), nil
}

// Text returns the key as text, a line.
func (k *Key) Text() string { return header + base64.StdEncoding.EncodeToString(k.raw) + "\n" }

// ID identifies the key, in 16 hex digits, and reveals nothing of it.
func (k *Key) ID() string {
	sum := sha256.Sum256(append([]byte("juju key of secrets: "), k.raw...))
	return hex.EncodeToString(sum[:8])
}

// Format prints the key's ID, however it is asked for: what is printed may be logged.
func (k *Key) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "key %s", k.ID()) }

// Seal encrypts a text. Only with the same name, which says what the text is, can it be opened.
func (k *Key) Seal(name string, text []byte) []byte {
	nonce := make([]byte, k.aead.NonceSize(), k.aead.NonceSize()+len(text)+k.aead.Overhead())
	rand.Read(nonce)
	return k.aead.Seal(nonce, nonce, text, []byte(name))
}

// Open decrypts what Seal returned.
func (k *Key) Open(name string, sealed []byte) ([]byte, error) {
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return nil, errors.New("it is too short")
	}
	text, err := k.aead.Open(nil, sealed[:n], sealed[n:], []byte(name))
	if err != nil {
		return nil, fmt.Errorf("it is damaged, or was sealed with another key than %s", k.ID())
	}
	return text, nil
}
