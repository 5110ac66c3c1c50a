// Package secret hashes the passwords that people choose. It is slow on purpose:
// the passwords must not be found by trying when the hashes are stolen.
package secret

import (
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// A Hasher makes hashes, all at the same cost.
type Hasher struct {
	cost  int
	dummy func() string // the hash of no password in use
}

// NewHasher returns a Hasher; bcrypt's work doubles with each step of cost, and 0
// stands for bcrypt's default.
func NewHasher(cost int) *Hasher {
	if cost == 0 {
		cost = bcrypt.DefaultCost
	}
	h := &Hasher{cost: cost}
	h.dummy = sync.OnceValue(func() string {
		hash, err := h.Hash("")
		if err != nil {
			panic(err) // it can't: the cost is valid and the password short
		}
		return hash
	})
	return h
}

// Hash returns what is kept of a password: bcrypt's own form, with a salt.
func (h *Hasher) Hash(password string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), h.cost)
	return string(hash), err
}

// Pretend does the work of Matches where there is no hash, so that the time doesn't
// tell who has one.
func (h *Hasher) Pretend(password string) { Matches(h.dummy(), password) }

// Matches reports whether a hash is of this password.
func Matches(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
}
