package secret

import (
	"testing"

	"golang.org/x/crypto/bcrypt"
)

// The default costs at least what bcrypt's authors advise, with a hash and without one.
func TestHash(t *testing.T) {
	h := NewHasher(0)
	hash, err := h.Hash("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if !Matches(hash, "correct horse") || Matches(hash, "correct horse ") || Matches("", "") {
		t.Error("a hash is of its password, and of no other")
	}
	for _, hash := range []string{hash, h.dummy()} {
		if cost, err := bcrypt.Cost([]byte(hash)); err != nil || cost < 10 {
			t.Errorf("%q costs %d, %v", hash, cost, err)
		}
	}
	if _, err := h.Hash(string(make([]byte, 73))); err == nil {
		t.Error("bcrypt would cut off what is longer than it takes")
	}
}
