package verify

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Listen listens at a TCP address. If that is one where a server has listened before, an outgoing connection of this
// host may have its port now, and Listen waits for the end of that.
func Listen(t testing.TB, address string) net.Listener {
	t.Helper()
	for end := time.Now().Add(Patience); ; time.Sleep(10 * time.Millisecond) {
		l, err := net.Listen("tcp", address)
		if err == nil {
			return l
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// FreeAddress returns a loopback address for a program that must be told its port. The port is not one that Linux gives to
// outgoing connections, so it stays free until the program listens there.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(22000))))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			t.Fatal(err)
		}
	}
}
