package charmstore

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"juju/agent/host/atomicfile"
)

// newToken returns a token of 128 random bits, and its hash.
func newToken() (token, hash string) {
	token = rand.Text()
	return token, hashOf(token)
}

// hashOf needs no salt and no work: a token can't be guessed.
func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func sameHash(hash, token string) int {
	return subtle.ConstantTimeCompare([]byte(hash), []byte(hashOf(token)))
}

// tokenLines returns the lines of the file of tokens.
func (d *Directory) tokenLines() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(d.path, tokenFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), err
}

func (d *Directory) writeTokens(lines []string) error {
	return atomicfile.WriteFile(filepath.Join(d.path, tokenFile), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}
