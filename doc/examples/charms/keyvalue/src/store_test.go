package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func mustOpen(t testing.TB, path string) *store {
	t.Helper()
	s, err := openStore(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

func TestValuesSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	s := mustOpen(t, path)
	awkward := "a \"b\"\t\x00 ü\xff\\"
	for _, pair := range [][2]string{{"one", "1"}, {"two", ""}, {"one", "uno"}, {"k", awkward}} {
		if err := s.set(pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.incr("n"); n != 1 || err != nil {
		t.Errorf("first incr: %d, %v", n, err)
	}
	if n, err := s.incr("n"); n != 2 || err != nil {
		t.Errorf("second incr: %d, %v", n, err)
	}
	if _, err := s.incr("one"); err == nil || err.Error() != `cannot add one to "uno"` {
		t.Errorf("incr of a string: %v", err)
	}
	if _, err := openStore(path); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("opened twice: %v", err)
	}
	s.close()
	if err := s.set("late", "x"); err == nil {
		t.Error("a closed store accepted a value")
	}
	s = mustOpen(t, path)
	for key, want := range map[string]string{"one": "uno", "two": "", "k": awkward, "n": "2"} {
		if got, ok := s.get(key); !ok || got != want {
			t.Errorf("%s = %q, %v; want %q", key, got, ok, want)
		}
	}
	if got, ok := s.get("late"); ok {
		t.Errorf("late = %q", got)
	}
}

// Wherever a crash cuts the last record, all earlier records are kept, and later writes succeed.
func TestTornRecord(t *testing.T) {
	whole := record("a", "1") + record("b", "2")
	last := record("a", "a longer value")
	for cut := range len(last) {
		tails := [][]byte{[]byte(last[:cut])}
		if cut > 0 {
			zeroed := []byte(last) // only its end reached the disk
			clear(zeroed[:cut])
			tails = append(tails, zeroed)
		}
		for _, tail := range tails {
			path := filepath.Join(t.TempDir(), "data")
			if err := os.WriteFile(path, append([]byte(whole), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			s := mustOpen(t, path)
			if a, _ := s.get("a"); a != "1" {
				t.Errorf("%q: a = %q", tail, a)
			}
			if err := s.set("c", "3"); err != nil {
				t.Fatal(err)
			}
			s.close()
			if data, _ := os.ReadFile(path); string(data) != whole+record("c", "3") {
				t.Errorf("%q: file is %q", tail, data)
			}
		}
	}
}

// Damage that no crash can cause is an error, because the records after it were acknowledged.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	bad := record("a", "1") + "00000000 \"b\" \"2\"\n" + record("c", "3")
	if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := openStore(path)
	if want := fmt.Sprintf("cannot open %s: damaged at byte %d", path, len(record("a", "1"))); err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if data, _ := os.ReadFile(path); string(data) != bad {
		t.Errorf("the damaged file was changed to %q", data)
	}
}

func TestCompaction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	var history bytes.Buffer
	for i := range 5000 {
		history.WriteString(record("n", fmt.Sprint(i)))
	}
	history.WriteString(record("other", "x"))
	if err := os.WriteFile(path, history.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path)
	if n, err := s.incr("n"); n != 5000 || err != nil {
		t.Errorf("n = %d, %v", n, err)
	}
	if _, err := openStore(path); err == nil {
		t.Error("the compacted file is not locked")
	}
	s.close()
	if info, err := os.Stat(path); err != nil || info.Size() > 200 {
		t.Errorf("compacted file: %v, %v", info, err)
	}
	s = mustOpen(t, path)
	if x, _ := s.get("other"); x != "x" {
		t.Errorf("other = %q", x)
	}
}

// The file is copied just before each answer is sent, as if the server crashed there. A store
// opened on any of the copies must have every change up to that answer.
func TestCrashBetweenSetAndReply(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "data")
	srv := &server{store: mustOpen(t, path), log: log.New(io.Discard, "", 0)}
	near, far := net.Pipe()
	conn := &crashConn{Conn: far, path: path}
	var done sync.WaitGroup
	done.Go(func() { srv.client(context.Background(), conn) })
	defer done.Wait()
	defer near.Close()
	in := bufio.NewReader(near)
	for i := 1; i <= 20; i++ {
		for _, command := range []string{fmt.Sprintf("SET key%d value%d", i, i), "INCR n"} {
			if _, err := io.WriteString(near, command+"\n"); err != nil {
				t.Fatal(err)
			}
			if answer, err := in.ReadString('\n'); err != nil || answer != "OK\n" && answer != fmt.Sprintf("VALUE %d\n", i) {
				t.Fatalf("%s: %q, %v", command, answer, err)
			}
		}
	}
	if len(conn.copies) != 40 {
		t.Fatalf("%d answers", len(conn.copies))
	}
	for i, data := range conn.copies {
		path := filepath.Join(dir, fmt.Sprint("crash", i))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, path)
		for k := 1; k <= i/2+1; k++ {
			if v, _ := s.get(fmt.Sprint("key", k)); v != fmt.Sprint("value", k) {
				t.Errorf("crashed before answer %d: key%d = %q", i, k, v)
			}
		}
		if n, _ := s.get("n"); i > 0 && n != fmt.Sprint((i+1)/2) {
			t.Errorf("crashed before answer %d: n = %s", i, n)
		}
		s.close()
	}
}

// crashConn copies the file before each answer is sent.
type crashConn struct {
	net.Conn
	path   string
	copies [][]byte
}

func (c *crashConn) Write(p []byte) (int, error) {
	data, err := os.ReadFile(c.path)
	if err != nil {
		return 0, err
	}
	c.copies = append(c.copies, data)
	return c.Conn.Write(p)
}
