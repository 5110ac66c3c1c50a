// Package secret hashes the passwords that people choose. It is slow on purpose:
// whoever has the hashes shall not find the passwords by trying.
package secret

import (
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// cost is that of all hashes made; bcrypt's work doubles with each step.
var cost = bcrypt.DefaultCost

// Cheapen makes hashes as cheap as bcrypt lets them be, in tests of something else. It
// is for an init function: nothing may have been hashed yet.
func Cheapen() { cost = bcrypt.MinCost }

// Hash returns what is kept of a password: bcrypt's own form, with a salt.
func Hash(password string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	return string(hash), err
}

// Matches reports whether a hash is of this password.
func Matches(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) == nil
}

// Pretend does the work of Matches for somebody who has no hash, so that the time
// doesn't tell who has one.
func Pretend(password string) { Matches(nobodys(), password) }

// nobodys is the hash of no password in use.
var nobodys = sync.OnceValue(func() string {
	hash, err := Hash("")
	if err != nil {
		panic(err) // it can't: the cost is valid and the password short
	}
	return hash
})
