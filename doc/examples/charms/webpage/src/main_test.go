package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"juju/doc/tools/verify"
)

// startPage runs "webpage serve" in this process. It returns the page's URL and a function that
// stops the server and returns its exit code.
func startPage(t *testing.T, args ...string) (url string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, stdout := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), stdout, &stderr)
		stdout.Close()
	}()
	line, err := io.ReadAll(ready)
	addr, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "listening on ")
	if err != nil || !ok {
		t.Fatalf("not ready: %q, %v; exit code %d, %s", line, err, <-code, &stderr)
	}
	stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	t.Cleanup(func() {
		stop()
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + addr + "/", stop
}

// fakeStore answers INCR as the keyvalue store does.
type fakeStore struct {
	net.Listener
	mu     sync.Mutex
	counts map[string]int
	answer string // if not "", sent instead of the count
}

func startStore(t *testing.T, addr string) *fakeStore {
	t.Helper()
	l := verify.Listen(t, addr)
	s := &fakeStore{Listener: l, counts: map[string]int{}}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			s.mu.Lock()
			if key, ok := strings.CutPrefix(line, "INCR "); ok && s.answer == "" {
				s.counts[strings.TrimSpace(key)]++
				fmt.Fprintf(conn, "VALUE %d\n", s.counts[strings.TrimSpace(key)])
			} else {
				io.WriteString(conn, s.answer)
			}
			s.mu.Unlock()
			conn.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		done.Wait()
	})
	return s
}

func fetch(t *testing.T, method, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func visits(t *testing.T, url string) string {
	t.Helper()
	status, body := fetch(t, "GET", url)
	m := regexp.MustCompile(`<b id="visits">(\d+)</b>`).FindStringSubmatch(body)
	if status != 200 || m == nil {
		t.Fatalf("%d: %s", status, body)
	}
	return m[1]
}

func TestTwoUnitsShareACount(t *testing.T) {
	store := startStore(t, "127.0.0.1:0")
	one, _ := startPage(t, "--title", "Hello & <welcome>", "--unit", "web/0", "--store", store.Addr().String(), "--key",
		"visits:web")
	two, _ := startPage(t, "--title", "Hello", "--unit", "web/1", "--store", store.Addr().String(), "--key", "visits:web")
	for i, url := range []string{one, two, one, one, two} {
		if n := visits(t, url); n != fmt.Sprint(i+1) {
			t.Errorf("visit %d was counted as %s", i+1, n)
		}
	}
	// These don't count as visits.
	fetch(t, "HEAD", one)
	if status, _ := fetch(t, "GET", one+"favicon.ico"); status != 404 {
		t.Errorf("favicon: %d", status)
	}
	if status, _ := fetch(t, "POST", one); status != 405 {
		t.Errorf("POST: %d", status)
	}
	if n := visits(t, one); n != "6" {
		t.Errorf("the sixth visit was counted as %s", n)
	}
	_, body := fetch(t, "GET", one)
	for _, want := range []string{"<h1>Hello &amp; &lt;welcome&gt;</h1>", `<span id="unit">web/0</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

func TestWithoutAStore(t *testing.T) {
	url, stop := startPage(t, "--title", "Hello", "--unit", "web/0")
	status, body := fetch(t, "GET", url)
	if status != 200 || !strings.Contains(body, "This page has no store") || strings.Contains(body, "Visits") ||
		!strings.Contains(body, "web/0") {
		t.Errorf("%d: %s", status, body)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// While the store is unavailable, the page is still served; afterwards the count continues.
func TestStoreThatDoesNotAnswer(t *testing.T) {
	store := startStore(t, "127.0.0.1:0")
	url, _ := startPage(t, "--unit", "web/0", "--store", store.Addr().String(), "--key", "k")
	if n := visits(t, url); n != "1" {
		t.Errorf("first visit: %s", n)
	}
	uncounted := func(about string) {
		t.Helper()
		if status, body := fetch(t, "GET", url); status != 503 || !strings.Contains(body, "does not answer") {
			t.Errorf("%s: %d: %s", about, status, body)
		}
	}
	for _, answer := range []string{"ERROR disk is full\n", "VALUE", "VALUE x\n", "NONE\n"} {
		store.mu.Lock()
		store.answer = answer
		store.mu.Unlock()
		uncounted(answer)
	}
	store.Close()
	uncounted("closed")
	restarted := startStore(t, store.Addr().String())
	restarted.counts["k"] = 1
	if n := visits(t, url); n != "2" {
		t.Errorf("second visit: %s", n)
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"", 2, `expected the command "serve"`},
		{"serve", 2, "--listen is missing"},
		{"serve --listen 127.0.0.1:0 more", 2, `unexpected "more"`},
		{"serve --listen 127.0.0.1:0 --store x:1", 2, "--store needs a --key"},
		{"serve --listn x", 2, "flag provided but not defined"},
		{"serve --listen 127.0.0.1:99999", 1, "invalid port"},
	} {
		_, stdout := io.Pipe()
		var stderr bytes.Buffer
		if code := run(context.Background(), strings.Fields(test.args), stdout, &stderr); code != test.code ||
			!strings.Contains(stderr.String(), test.want) {
			t.Errorf("%q: %d, %s", test.args, code, &stderr)
		}
	}
}
