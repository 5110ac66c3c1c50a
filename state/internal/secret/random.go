package secret

import (
	"crypto/sha256"
	"encoding/hex"

	"juju/state/entity"
)

// HashRandom hashes a random password. It can't be guessed, so a fast hash is enough, and thousands of agents
// can log in concurrently.
func HashRandom(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// Stamp returns a digest of a password's hash, which changes with the hash but does not reveal it.
func Stamp(hash string) string {
	sum := sha256.Sum256([]byte(hash))
	return string(sum[:8])
}

// Refused is the error for all failed logins, whatever the reason, because it must not reveal which users or
// agents exist.
func Refused() error {
	return entity.Errorf(entity.Unauthorized, "invalid entity name or password")
}
