// Package secret hashes passwords. The hash for passwords that people choose is deliberately slow, so that stolen
// hashes resist brute force.
package secret

import (
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// A Hasher computes hashes with a fixed cost.
type Hasher struct {
	cost  int
	dummy func() string // the hash of a random password
}

// NewHasher returns a Hasher with a bcrypt cost. Each step doubles the work; 0 means bcrypt's default.
func NewHasher(cost int) *Hasher {
	if cost == 0 {
		cost = bcrypt.DefaultCost
	}
	h := &Hasher{cost: cost}
	h.dummy = sync.OnceValue(func() string {
		hash, err := h.Hash("")
		if err != nil {
			panic(err) // impossible: the cost is valid and the password short
		}
		return hash
	})
	return h
}

// Hash returns the salted bcrypt hash of a password.
func (h *Hasher) Hash(password string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), h.cost)
	return string(hash), err
}

// Pretend does the work of Matches for users without a hash, so that timing does not reveal who has one.
func (h *Hasher) Pretend(password string) { Matches(h.dummy(), password) }

// Matches reports whether a hash is that of the password.
func Matches(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
}
