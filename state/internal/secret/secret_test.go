package secret

import (
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// The default cost is at least what bcrypt's authors recommend, with and without a stored
// hash.
func TestHash(t *testing.T) {
	h := NewHasher(0)
	hash, err := h.Hash("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !Matches(hash, "correct horse") || Matches(hash, "correct horse ") || Matches("", "") {
		t.Error("a hash must match its password only")
	}
	for _, hash := range []string{hash, h.dummy()} {
		if cost, err := bcrypt.Cost([]byte(hash)); err != nil || cost < 10 {
			t.Errorf("%q costs %d, %v", hash, cost, err)
		}
	}
	if _, err := h.Hash(string(make([]byte, 73))); err == nil {
		t.Error("passwords beyond bcrypt's limit must not be truncated")
	}
}
