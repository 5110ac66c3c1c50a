package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// knownFor is how long a correct password is remembered.
	knownFor = time.Hour
	// guesses is the maximum burst of wrong passwords for one user that are compared, and guessesPerSecond
	// the sustained rate, roughly what the slow hash allows. Without the limit, guesses would bypass the slow
	// hash.
	guesses          = 1000
	guessesPerSecond = 20
)

// Known caches correct passwords for a while, in memory and as a fast keyed hash, so that repeated logins
// neither need the slow hash nor wait for other users' hashes.
type Known struct {
	mu    sync.Mutex
	key   []byte
	users map[string]*known
}

type known struct {
	mac   [sha256.Size]byte
	until time.Time
	left  float64 // guesses
	at    time.Time
}

// Remember records that the password of a hash is correct.
func (k *Known) Remember(user, hash, password string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.users == nil {
		k.key, k.users = make([]byte, sha256.Size), map[string]*known{}
		rand.Read(k.key) // never fails
	}
	now := time.Now()
	e := k.users[user]
	if e == nil {
		e = &known{left: guesses, at: now}
		k.users[user] = e
	}
	e.mac, e.until = k.mac(hash, password), now.Add(knownFor)
}

// Matches reports whether the password is the remembered one. If it returns false, the slow hash must be checked.
func (k *Known) Matches(user, hash, password string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	e := k.users[user]
	if e == nil || now.After(e.until) {
		return false
	}
	e.left = min(guesses, e.left+now.Sub(e.at).Seconds()*guessesPerSecond)
	e.at = now
	if e.left < 1 {
		return false
	}
	mac := k.mac(hash, password)
	if !hmac.Equal(mac[:], e.mac[:]) {
		e.left--
		return false
	}
	return true
}

// mac includes the slow hash, so that a changed password invalidates the entry.
func (k *Known) mac(hash, password string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, k.key)
	h.Write([]byte(hash))
	h.Write([]byte{0})
	h.Write([]byte(password))
	h.Sum(sum[:0])
	return sum
}
