package link_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/nettest"

	"juju/doc/tools/verify"
	"juju/state/mongo/embedded/link"
)

// TestConn runs the standard tests for a net.Conn.
func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		a, b := link.Pipe()
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}

// TestWriteNeverWaits tests what this package exists for: both ends can write everything before either reads.
func TestWriteNeverWaits(t *testing.T) {
	a, b := link.Pipe()
	defer a.Close()
	defer b.Close()
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for _, end := range []net.Conn{a, b} {
		if n, err := end.Write(big); n != len(big) || err != nil {
			t.Fatalf("write of %d bytes: %d, %v", len(big), n, err)
		}
	}
	for _, end := range []net.Conn{a, b} {
		got := make([]byte, len(big))
		if _, err := io.ReadFull(end, got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, big) {
			t.Fatal("the data read differs from the data written")
		}
	}
}

// TestInterleaved writes and reads chunks of odd sizes, so that the buffer is moved, emptied and grown at
// every position, and checks the order of bytes.
func TestInterleaved(t *testing.T) {
	a, b := link.Pipe()
	defer a.Close()
	defer b.Close()
	var written, read int
	chunk := make([]byte, 7001)
	next := func(i int) byte { return byte(i*31 + i>>8) }
	for round := range 500 {
		out := chunk[:1+round*37%len(chunk)]
		for i := range out {
			out[i] = next(written + i)
		}
		if _, err := a.Write(out); err != nil {
			t.Fatal(err)
		}
		written += len(out)
		in := make([]byte, 1+round*53%len(chunk))
		if written == read {
			continue
		}
		n, err := b.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range in[:n] {
			if c != next(read+i) {
				t.Fatalf("byte %d is %d, want %d", read+i, c, next(read+i))
			}
		}
		read += n
	}
	a.Close()
	rest, err := io.ReadAll(b)
	if err != nil || read+len(rest) != written {
		t.Fatalf("received %d of %d bytes: %v", read+len(rest), written, err)
	}
}

func TestClose(t *testing.T) {
	a, b := link.Pipe()
	if _, err := a.Write([]byte("last words")); err != nil {
		t.Fatal(err)
	}
	a.Close()
	a.Close() // a second Close does nothing

	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
	if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after Close: %v", err)
	}
	if err := a.SetDeadline(time.Now()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("deadline after Close: %v", err)
	}
	if _, err := b.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write to a closed end: %v", err)
	}
	if got, err := io.ReadAll(b); string(got) != "last words" || err != nil {
		t.Errorf("the other end reads %q, %v", got, err)
	}
}

// TestDeadlineOnBubbleClock checks that a deadline follows the clock of a synctest bubble. A waiting read
// must let that clock advance.
func TestDeadlineOnBubbleClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := link.Pipe()
		defer a.Close()
		defer b.Close()
		start := time.Now()
		a.SetReadDeadline(start.Add(time.Hour))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		if waited := time.Since(start); waited != time.Hour {
			t.Fatalf("waited %v", waited)
		}
	})
}

// TestDeadlineMoves changes the deadline while a read is waiting, in both directions.
func TestDeadlineMoves(t *testing.T) {
	for _, test := range []struct {
		name              string
		first, then, want time.Duration
	}{
		{"later", time.Minute, time.Hour, time.Hour},
		{"earlier", time.Hour, time.Minute, time.Minute},
		{"set", 0, time.Minute, time.Minute},
		{"past", time.Hour, time.Nanosecond, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := link.Pipe()
				defer a.Close()
				defer b.Close()
				start := time.Now()
				if test.first > 0 {
					a.SetReadDeadline(start.Add(test.first))
				}
				done := make(chan error)
				go func() {
					_, err := a.Read(make([]byte, 1))
					done <- err
				}()
				time.Sleep(time.Second)
				a.SetReadDeadline(start.Add(test.then))
				if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("got %v", err)
				}
				if waited := time.Since(start); waited != test.want {
					t.Fatalf("waited %v, want %v", waited, test.want)
				}
			})
		})
	}
}

// TestNoGoroutineStays opens and abandons connections in a bubble, which wouldn't end if one of them leaked a
// goroutine.
func TestNoGoroutineStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			a, b := link.Pipe()
			a.SetDeadline(time.Now().Add(time.Minute))
			go func() { io.Copy(io.Discard, b) }()
			a.Write([]byte("hello"))
			synctest.Wait()
			a.Close()
		}
	})
}

func BenchmarkPingPong(b *testing.B) {
	client, server := link.Pipe()
	defer client.Close()
	go func() {
		buf := make([]byte, 256)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			server.Write(buf[:n])
		}
	}()
	buf := make([]byte, 256)
	for b.Loop() {
		client.SetDeadline(time.Now().Add(verify.Patience))
		client.Write(buf)
		if _, err := io.ReadFull(client, buf); err != nil {
			b.Fatal(err)
		}
	}
}
