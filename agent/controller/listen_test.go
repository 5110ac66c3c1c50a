package controller

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// A controller gets its port back from an outgoing connection that had it meanwhile, but not from another server.
func TestAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	own := conn.LocalAddr().String()
	if l, err := net.Listen("tcp", own); !errors.Is(err, syscall.EADDRINUSE) {
		if err == nil {
			l.Close()
		}
		t.Fatalf("a port that is taken: %v", err)
	}
	if err := conn.(*net.TCPConn).SetLinger(0); err != nil { // the kernel would keep the port for a minute
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { conn.Close() })
	l, err := listen(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if _, err := listen(t.Context(), server.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the port of another server: %v", err)
	}
}
