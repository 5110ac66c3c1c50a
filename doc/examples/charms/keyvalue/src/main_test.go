package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"juju/doc/tools/verify"
)

// The test binary is also the program, because a test must be able to kill it.
func TestMain(m *testing.M) {
	if os.Getenv("KEYVALUE_TEST_PROGRAM") != "" {
		main()
	}
	os.Exit(m.Run())
}

// startServer runs "keyvalue serve" in this process. It returns the server's address and a
// function that stops it and returns its exit code.
func startServer(t testing.TB, data string, args ...string) (addr string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, stdout := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, args...), stdout, &stderr)
		stdout.Close()
	}()
	line, err := io.ReadAll(ready)
	addr, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "listening on ")
	if err != nil || !ok {
		t.Fatalf("not ready: %q, %v; exit code %d, %s", line, err, <-code, &stderr)
	}
	stop = sync.OnceValue(func() int {
		cancel()
		c := <-code
		t.Logf("server log:\n%s", &stderr)
		return c
	})
	t.Cleanup(func() { stop() })
	return addr, stop
}

type output struct{ bytes.Buffer }

func (*output) Close() error { return nil }

// cli runs the program and returns its standard output, standard error and exit code.
func cli(args ...string) (stdout, stderr string, code int) {
	var out output
	var errs bytes.Buffer
	code = run(context.Background(), args, &out, &errs)
	return out.String(), errs.String(), code
}

func TestClient(t *testing.T) {
	addr, stop := startServer(t, filepath.Join(t.TempDir(), "data"))
	for _, step := range []struct {
		args   string // fields; ADDR is the server's
		stdout string
		code   int
		stderr string // a prefix
	}{
		{"get k --addr ADDR", "", 1, "keyvalue: cannot get k: no value\n"},
		{"set k v --addr ADDR", "", 0, ""},
		{"get k --addr ADDR", "v\n", 0, ""},
		{"get --addr ADDR k", "v\n", 0, ""},
		{"--addr ADDR get k", "", 2, `keyvalue: unknown command "--addr"`},
		{"set --addr=ADDR -- n -5", "", 0, ""},
		{"incr n --addr ADDR", "-4\n", 0, ""},
		{"incr k --addr ADDR", "", 1, `keyvalue: cannot incr k: cannot add one to "v"`},
		{"get --addr ADDR", "", 2, "keyvalue: get needs --addr and 1 more\nusage:"},
		{"get k", "", 2, "keyvalue: get needs --addr and 1 more\nusage:"},
		{"get k --adr ADDR", "", 2, "keyvalue: flag provided but not defined: -adr\nusage:"},
		{"serve", "", 2, "keyvalue: serve needs --listen and --data"},
		{"", "", 2, "keyvalue: no command\nusage:"},
	} {
		stdout, stderr, code := cli(strings.Fields(strings.ReplaceAll(step.args, "ADDR", addr))...)
		if stdout != step.stdout || code != step.code || !strings.HasPrefix(stderr, step.stderr) || step.code == 0 &&
			stderr != "" {
			t.Errorf("%s\n got %q, %q, %d\nwant %q, %q, %d", step.args, stdout, stderr, code, step.stdout, step.stderr,
				step.code)
		}
	}
	if _, stderr, code := cli("set", "two words", "v", "--addr", addr); code != 2 ||
		!strings.Contains(stderr, "a key is 1 to 256 bytes") {
		t.Errorf("%d, %s", code, stderr)
	}
	if _, stderr, code := cli("set", "k", "two\nlines", "--addr", addr); code != 1 ||
		!strings.Contains(stderr, "line breaks") {
		t.Errorf("%d, %s", code, stderr)
	}
	if code := stop(); code != 0 {
		t.Errorf("the server exited with %d", code)
	}
	if _, stderr, code := cli("get", "k", "--addr", addr); code != 1 || !strings.Contains(stderr, "connection refused") {
		t.Errorf("%d, %s", code, stderr)
	}
}

func TestProtocol(t *testing.T) {
	addr, _ := startServer(t, filepath.Join(t.TempDir(), "data"), "--log-commands")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for _, step := range []string{
		"GET a => NONE",
		"SET a  b c  => OK",
		"GET a => VALUE  b c ",
		"set a\t=> ERROR a key is 1 to 256 bytes without spaces",
		"SET a => ERROR expected a value after the key",
		"SET a  => OK", // an empty value
		"get a => VALUE ",
		"GET a b => ERROR one key only",
		"GET => ERROR a key is 1 to 256 bytes without spaces",
		"GET " + strings.Repeat("k", 257) + " => ERROR a key is 1 to 256 bytes without spaces",
		"INCR n => VALUE 1",
		"INCR n\r => VALUE 2",
		"SET n 9223372036854775807 => OK",
		`INCR n => ERROR cannot add one to "9223372036854775807"`,
		"DELETE a => ERROR expected GET key, SET key value, or INCR key",
		" => ERROR expected GET key, SET key value, or INCR key",
		"SET k " + strings.Repeat("v", maxLine) + " => ERROR line is longer than 65536 bytes",
	} {
		command, want, _ := strings.Cut(step, " => ")
		if strings.HasPrefix(step, "set a\t") {
			command, want, _ = strings.Cut(step, "=> ")
		}
		if _, err := io.WriteString(conn, command+"\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := in.ReadString('\n'); err != nil || got != want+"\n" {
			t.Errorf("%.40q: got %q, %v; want %q", command, got, err, want)
		}
	}
}

func TestConcurrentIncrements(t *testing.T) {
	addr, _ := startServer(t, filepath.Join(t.TempDir(), "data"))
	const clients, each = 8, 10
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				if _, err := ask(addr, "INCR n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n, err := ask(addr, "GET n"); n != fmt.Sprint(clients*each) || err != nil {
		t.Errorf("n = %s, %v", n, err)
	}
}

// A connected idle client doesn't keep the server from stopping.
func TestStopWithClientsConnected(t *testing.T) {
	addr, stop := startServer(t, filepath.Join(t.TempDir(), "data"))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "SET a b\n"); err != nil {
		t.Fatal(err)
	}
	if answer, err := bufio.NewReader(conn).ReadString('\n'); answer != "OK\n" {
		t.Fatal(answer, err)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestServeFails(t *testing.T) {
	dir := t.TempDir()
	addr, _ := startServer(t, filepath.Join(dir, "data"))
	if _, stderr, code := cli("serve", "--listen", addr, "--data", filepath.Join(dir, "data2")); code != 1 ||
		!strings.Contains(stderr, "address already in use") {
		t.Errorf("%d, %s", code, stderr)
	}
	if _, stderr, code := cli("serve", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data")); code != 1 ||
		!strings.Contains(stderr, "in use by another process") {
		t.Errorf("%d, %s", code, stderr)
	}
}

// A store killed under load has every change that it acknowledged, and at most one more per
// client.
func TestKill(t *testing.T) {
	verify.Only(t, "kills real processes")
	rounds := 6
	if testing.Short() {
		rounds = 3
	}
	data := filepath.Join(t.TempDir(), "data")
	const clients = 4
	var answered [clients]int64
	for range rounds {
		ctx, cancel := context.WithCancel(context.Background())
		cmd := exec.CommandContext(ctx, os.Args[0], "serve", "--listen", "127.0.0.1:0", "--data", data)
		cmd.Env = append(os.Environ(), "KEYVALUE_TEST_PROGRAM=1")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ready, err := io.ReadAll(stdout) // the server closes it
		addr, ok := strings.CutPrefix(strings.TrimSpace(string(ready)), "listening on ")
		if err != nil || !ok {
			t.Fatalf("not ready: %q, %v", ready, err)
		}
		for i, want := range answered {
			got, err := ask(addr, fmt.Sprintf("GET n%d", i))
			if want > 0 && (err != nil || got != fmt.Sprint(want) && got != fmt.Sprint(want+1)) {
				t.Errorf("client %d: the last answer was %d, but the store has %s, %v", i, want, got, err)
			}
			if _, err := fmt.Sscan(got, &answered[i]); err != nil && want > 0 {
				t.Error(err)
			}
		}
		var wg sync.WaitGroup
		enough := make(chan bool, clients)
		for i := range clients {
			wg.Go(func() {
				for k := 0; ; k++ {
					n, err := ask(addr, fmt.Sprintf("INCR n%d", i))
					if err != nil {
						return // killed
					}
					fmt.Sscan(n, &answered[i])
					if k == 5+i {
						enough <- true
					}
				}
			})
		}
		for range clients {
			<-enough
		}
		cancel() // SIGKILL
		cmd.Wait()
		wg.Wait()
	}
}
