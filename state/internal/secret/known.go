package secret

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	// knownFor is how long a password that was right is known.
	knownFor = time.Hour
	// guesses is how many wrong passwords of one user may be compared at once, and
	// guessesPerSecond how many after that: about what the slow hash lets through. Else
	// whoever guesses need not wait for the slow hash to see that a guess is wrong.
	guesses          = 1000
	guessesPerSecond = 20
)

// Known remembers which passwords were right lately, in memory and by a fast hash
// under a key of its own, so that who logs in again neither costs the slow hash nor
// waits for those of others.
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

// Remember notes that the password of a hash was right.
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

// Matches reports whether the password is the one that was right. False says nothing:
// the slow hash decides.
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

// mac depends on the slow hash, so a password that was changed is not known any more.
func (k *Known) mac(hash, password string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, k.key)
	h.Write([]byte(hash))
	h.Write([]byte{0})
	h.Write([]byte(password))
	h.Sum(sum[:0])
	return sum
}
