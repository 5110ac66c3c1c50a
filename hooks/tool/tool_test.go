package tool

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"juju/doc/tools/verify"
)

func TestMain(m *testing.M) {
	code := m.Run()
	var stacks bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&stacks, 1)
	if strings.Contains(stacks.String(), "juju/hooks/tool.(*Server)") {
		fmt.Fprintf(os.Stderr, "the tests have left goroutines:\n%s", &stacks)
		code = 1
	}
	os.Exit(code)
}

// serve serves in a directory of the test's.
func serve(t *testing.T, handle Handler) (socket string, server *Server) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	server, err := Serve(socket, handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return socket, server
}

// A result is what a tool's process leaves behind.
type result struct {
	code           int
	stdout, stderr string
}

// String shows the beginning of what may be much.
func (r result) String() string { return fmt.Sprintf("%d %.200q %.200q", r.code, r.stdout, r.stderr) }

// use runs a tool as a process would.
func use(socket, stdin, name string, args ...string) result {
	env := map[string]string{ContextVar: "some-context", SocketVar: socket}
	var stdout, stderr bytes.Buffer
	code := Main(name, args, func(name string) string { return env[name] },
		Streams{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr})
	return result{code, stdout.String(), stderr.String()}
}

// The handler gets the tool's request, and the tool prints the handler's reply.
func TestConversation(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	socket, _ := serve(t, func(ctx context.Context, req Request, read func(string) ([]byte, error)) Reply {
		if len(req.Args) > 0 && req.Args[0] == "--out" {
			return Reply{Stdout: []byte("written"), Stderr: []byte("and a remark\n"), Output: req.Args[1], Code: 4}
		}
		var got []string
		for _, name := range req.Args {
			data, err := read(name)
			got = append(got, fmt.Sprintf("%s %v", data, err))
		}
		return Reply{Stdout: []byte(fmt.Sprintf("%s %s %q", req.Context, req.Tool, got))}
	})
	missing := filepath.Join(filepath.Dir(file), "missing")
	for _, test := range []struct {
		args []string
		want result
	}{
		{nil, result{0, `some-context do-it []`, ""}},
		{[]string{"-"}, result{0, `some-context do-it ["from stdin <nil>"]`, ""}},
		{[]string{file, "-"}, result{0, `some-context do-it ["from a file <nil>" "from stdin <nil>"]`, ""}},
		{[]string{missing},
			result{0, fmt.Sprintf("some-context do-it [%q]", " open "+missing+": no such file or directory"), ""}},
	} {
		if got := use(socket, "from stdin", "do-it", test.args...); got != test.want {
			t.Errorf("%q gave %v, want %v", test.args, got, test.want)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if got, want := use(socket, "", "do-it", "--out", out), (result{4, "", "and a remark\n"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "written" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// More than either side takes is refused with a word, not cut short.
func TestTooMuch(t *testing.T) {
	socket, _ := serve(t, func(ctx context.Context, req Request, read func(string) ([]byte, error)) Reply {
		if req.Tool == "big" {
			return Reply{Stdout: make([]byte, MaxMessage)}
		}
		_, err := read("-")
		return Failure(err, "a hint")
	})
	got := use(socket, strings.Repeat("x", MaxContent+1), "stdin")
	if want := (result{1, "",
		fmt.Sprintf("ERROR the standard input holds more than %d bytes\nhint: a hint\n", MaxContent)}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	got = use(socket, strings.Repeat("x", MaxContent), "stdin")
	if want := (result{1, "", "ERROR <nil>\nhint: a hint\n"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	got = use(socket, "", "big")
	if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "is larger than") {
		t.Errorf("got %v", got)
	}
	got = use(socket, "", "stdin", strings.Repeat("x", MaxMessage))
	if got.code != 1 || !strings.Contains(got.stderr, "is larger than") {
		t.Errorf("got %v", got)
	}
}

// Whatever arrives, the server answers with an error or hangs up, and goes on.
func TestNonsense(t *testing.T) {
	socket, _ := serve(t, func(context.Context, Request, func(string) ([]byte, error)) Reply {
		return Reply{Stdout: []byte("fine")}
	})
	for _, test := range []struct{ sent, want string }{
		{"\xff\xff\xff\xff", "is larger than"},
		{"\x00\x00\x00\x02{x", "is not understood"},
		{"\x00\x00\x00\x02[]", "is not understood"},
		{"\x00\x00\x00\x09{}", io.ErrUnexpectedEOF.Error()},
		{"\x00\x00", io.ErrUnexpectedEOF.Error()},
		{"", "EOF"},
	} {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(verify.Patience))
		if _, err := conn.Write([]byte(test.sent)); err != nil {
			t.Fatal(err)
		}
		conn.(*net.UnixConn).CloseWrite()
		var a answer
		if err := readMessage(conn, &a); err != nil {
			t.Errorf("%q: %v", test.sent, err)
		} else if a.Code != 1 || !strings.Contains(string(a.Stderr), test.want) {
			t.Errorf("%q was answered with %d %q", test.sent, a.Code, a.Stderr)
		}
		conn.Close()
	}
	if got := use(socket, "", "x"); got.stdout != "fine" {
		t.Errorf("got %v", got)
	}
}

// Closing the server ends all tools: those in a handler, those asked for a file, and those in
// the queue.
func TestCloseEndsTools(t *testing.T) {
	entered := make(chan string)
	socket, server := serve(t, func(ctx context.Context, req Request, read func(string) ([]byte, error)) Reply {
		entered <- req.Tool
		if req.Tool == "reads" {
			_, err := read("-")
			return Failure(err, "")
		}
		<-ctx.Done()
		return Failure(ctx.Err(), "")
	})
	stdin, never := io.Pipe()
	defer never.Close()
	var tools sync.WaitGroup
	results := make(chan result, maxTools+10)
	for i := range maxTools + 10 {
		tools.Go(func() {
			if i > 0 {
				results <- use(socket, "", "waits")
				return
			}
			env := map[string]string{ContextVar: "c", SocketVar: socket}
			var stderr bytes.Buffer
			// It reads its own standard input, which the server can't end: a real
			// process would be killed with its group, or read on for nothing.
			code := Main("reads", nil, func(n string) string { return env[n] }, Streams{stdin, io.Discard, &stderr})
			results <- result{code, "", stderr.String()}
		})
	}
	for range maxTools {
		<-entered
	}
	server.Close()
	never.Close()
	tools.Wait()
	for range maxTools + 10 {
		if got := <-results; got.code != 1 || !strings.HasPrefix(got.stderr, "ERROR unit agent did not answer: ") &&
			!strings.HasPrefix(got.stderr, "ERROR cannot reach the unit agent: ") {
			t.Errorf("got %v", got)
		}
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
	if err := server.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// Neither a dead agent's socket nor a long path is in the way.
func TestSockets(t *testing.T) {
	hello := func(context.Context, Request, func(string) ([]byte, error)) Reply {
		return Reply{Stdout: []byte("hello")}
	}
	deep := filepath.Join(t.TempDir(), strings.Repeat("d", 200))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, socket := range []string{filepath.Join(t.TempDir(), "s"), filepath.Join(deep, "agent.socket")} {
		short, done, err := shortPath(socket)
		if err != nil {
			t.Fatal(err)
		}
		dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		dead.SetUnlinkOnClose(false)
		dead.Close()
		done()
		if got := use(socket, "", "x"); got.code != 1 || !strings.Contains(got.stderr, "connection refused") {
			t.Errorf("with a dead agent: %v", got)
		}
		server, err := Serve(socket, hello)
		if err != nil {
			t.Fatal(err)
		}
		if got := use(socket, "", "x"); got.stdout != "hello" {
			t.Errorf("got %v", got)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(filepath.Dir(socket)); err != nil || len(entries) != 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	}
	if _, err := Serve(filepath.Join(deep, "missing", "s"), hello); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// What the decoder accepts it can encode again, and it takes no more memory than it was sent.
func FuzzReadMessage(f *testing.F) {
	frame := func(body string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
	}
	f.Add(frame(`{"context":"c","tool":"config-get","args":["a","-"]}`))
	f.Add(frame(`{"code":1,"stdout":"aGk=","read":"-"}`))
	f.Add(frame(`null`))
	f.Add([]byte("\x00\xff\xff\xff{"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		var req Request
		r := bytes.NewReader(data)
		if err := readMessage(r, &req); err == nil {
			if size := len(data) - r.Len() - 4; size != int(binary.BigEndian.Uint32(data)) {
				t.Errorf("took %d bytes for a message of %d", size, binary.BigEndian.Uint32(data))
			}
			var buf bytes.Buffer
			var again Request
			if err := writeMessage(&buf, req); err != nil {
				t.Fatal(err)
			}
			if err := readMessage(&buf, &again); err != nil || fmt.Sprint(again) != fmt.Sprint(req) {
				t.Errorf("%v became %v, %v", req, again, err)
			}
		}
		var a answer
		if readMessage(bytes.NewReader(data), &a) == nil && len(a.Stdout) > len(data) {
			t.Errorf("%d bytes became %d", len(data), len(a.Stdout))
		}
	})
}
