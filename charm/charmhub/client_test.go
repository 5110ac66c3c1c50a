package charmhub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"juju/state/entity"
)

// newClient returns a client of a server that answers with a function. Its pauses take no time.
func newClient(t *testing.T, answer http.HandlerFunc) (*Client, string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := New(Options{URL: server.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return c, server.URL
}

func sends(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// A store that can't answer now is asked again, three times in all; one that has an answer is not.
func TestRequestsAreTriedAgain(t *testing.T) {
	asked := 0
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch {
		case r.URL.Path == "/v2/charms/info/slow" && asked < 3:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/v2/charms/info/busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case r.URL.Path == "/v2/charms/info/broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			sends(w, http.StatusOK, Info{Name: "slow", Type: "charm"})
		}
	})
	for name, want := range map[string]struct {
		asked int
		err   string
	}{"slow": {3, ""}, "busy": {3, "429"}, "broken": {1, "server error"}} {
		asked = 0
		_, err := c.Info(t.Context(), name, "")
		if asked != want.asked || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: asked %d times, %v", name, asked, err)
		}
	}
}

// What a broken or hostile store answers is bounded, and refused by name.
func TestStrangeReplies(t *testing.T) {
	charm := func(name string, revision int) *Charm { return &Charm{Name: name, Revision: revision} }
	answer := func(a Answer) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			var q RefreshRequest
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
				t.Error(err)
			}
			if a.InstanceKey == "" {
				a.InstanceKey = q.Actions[0].InstanceKey
			}
			sends(w, http.StatusOK, RefreshReply{Results: []Answer{a}})
			a.InstanceKey = ""
		}
	}
	for want, f := range map[string]http.HandlerFunc{
		"unexpected content-type from server \"text/html\"": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
		},
		"unexpected charm-hub url": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) },
		"is larger than 32 MiB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for chunk := bytes.Repeat([]byte(" "), 1<<20); ; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		},
		"cannot read the reply": func(w http.ResponseWriter, _ *http.Request) { sends(w, http.StatusOK, []int{1}) },
		"more than 10 redirections": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
		},
		`unsupported protocol scheme`: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusTemporaryRedirect)
		},
		"charm or bundle not found": func(w http.ResponseWriter, _ *http.Request) {
			sends(w, http.StatusNotFound, ErrorReply{[]Error{{Code: CodeNotFound}}})
		},
		"one two": func(w http.ResponseWriter, _ *http.Request) {
			sends(w, http.StatusBadRequest, ErrorReply{[]Error{{Code: "x", Message: "one\ntwo"}}})
		},
		"install action key not valid":              answer(Answer{InstanceKey: "other", Entity: charm("web", 1)}),
		`it names the charm "../../etc"`:            answer(Answer{Entity: charm("../../etc", 1)}),
		`it names the charm "other"`:                answer(Answer{Name: "web", Entity: charm("other", 1)}),
		"it has the revision -1":                    answer(Answer{Entity: charm("web", -1)}),
		"it has no charm, and no error":             answer(Answer{}),
		"resolving error: rate limit":               answer(Answer{Error: &Error{Code: "rate-limit-exceeded", Message: "rate limit"}}),
		"resolving error: no":                       answer(Answer{Error: &Error{Code: "other", Message: "no", Extra: Extra{DefaultBases: []Base{{"ubuntu", "24.04", "amd64"}}}}}),
		`bases matching architecture "amd64" not`:   answer(Answer{Error: &Error{Code: CodeInvalidBase, Extra: Extra{DefaultBases: []Base{{"ubuntu", "24.04", "arm64"}}}}}),
		`no releases found for channel "14/stable"`: answer(Answer{Error: &Error{Code: CodeInvalidBase}}),
	} {
		c, _ := newClient(t, f)
		_, err := c.Choose(t.Context(), Install, Choice{Name: "web", Channel: Channel{"14", "stable", ""}, Revision: -1, Base: Base{Architecture: "amd64"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// A release that is not there is an error that says what is.
func TestReleasesThatThereAre(t *testing.T) {
	releases := []Offered{{Base{"ubuntu", "22.04", "amd64"}, "14/stable"}, {Base{"ubuntu", "22.04", "arm64"}, "14/stable"}, {Base{"ubuntu", "24.04", "amd64"}, "16/edge"}}
	c, _ := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		var q RefreshRequest
		_ = json.NewDecoder(r.Body).Decode(&q)
		sends(w, http.StatusOK, RefreshReply{Results: []Answer{{InstanceKey: q.Actions[0].InstanceKey, Result: "error",
			Error: &Error{Code: CodeRevisionNotFound, Extra: Extra{Releases: releases}}}}})
	})
	_, err := c.Choose(t.Context(), Install, Choice{Name: "web", Channel: Channel{Risk: "stable"}, Revision: -1, Base: Base{"ubuntu", "20.04", "amd64"}})
	want := "selecting releases: charm or bundle not found for channel \"stable\", base \"ubuntu@20.04\"\navailable releases are:\n" +
		"  channel \"14/stable\": available bases are: ubuntu@22.04\n  channel \"16/edge\": available bases are: ubuntu@24.04"
	if err == nil || err.Error() != want || !entity.IsNotFound(err) {
		t.Errorf("%v; want %s", err, want)
	}
	releases = nil
	if _, err = c.Choose(t.Context(), Install, Choice{Name: "web", Revision: 7}); err == nil || !strings.HasSuffix(err.Error(), "for revision 7\nno releases available") {
		t.Errorf("%v", err)
	}
}

func file(url string, content []byte) File {
	sum := sha256.Sum256(content)
	return File{URL: url, Size: int64(len(content)), HashSHA256: hex.EncodeToString(sum[:])}
}

func target(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A download that is cut off goes on where it was; if the store can't do that, or the file has changed, it begins anew. What has
// another hash, more bytes or fewer is refused.
func TestDownloads(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	var asked []string
	cut, ranges, etag := 0, true, `"1"`
	c, url := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Range"))
		w.Header().Set("ETag", etag)
		if !ranges {
			r.Header.Del("Range")
		}
		if cut > 0 {
			cut--
			w = &cutting{w, 100_000}
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
	fetch := func(f File, limit int64) ([]byte, error) {
		t.Helper()
		asked = nil
		w := target(t)
		err := c.Fetch(t.Context(), f, w, limit, nil)
		text, _ := os.ReadFile(w.Name())
		return text, err
	}
	good := file(url+"/web.charm", content)
	for _, resumes := range []bool{true, false} {
		cut, ranges = 2, resumes
		got, err := fetch(good, 1<<30)
		if err != nil || !bytes.Equal(got, content) || len(asked) != 3 || asked[0] != "" || asked[1] == "" {
			t.Errorf("it resumes %v: %d bytes after %q, %v", resumes, len(got), asked, err)
		}
	}
	ranges, cut = true, 100
	if _, err := fetch(File{URL: good.URL, HashSHA256: good.HashSHA256}, 50_000); err == nil || !strings.Contains(err.Error(), "more than the 50000 bytes") {
		t.Errorf("more than the limit: %v", err)
	}
	cut = 0
	other := good
	other.HashSHA256 = strings.Repeat("0", 64)
	if _, err := fetch(other, 1<<30); err == nil || err.Error() != "detected SHA256 hash mismatch" {
		t.Errorf("another hash: %v", err)
	}
	other = good
	other.Size++
	if _, err := fetch(other, 1<<30); err == nil || !strings.Contains(err.Error(), "and not the 262145") {
		t.Errorf("fewer bytes: %v", err)
	}
	for want, f := range map[string]File{
		"has no hash": {URL: good.URL}, "the limit is": {URL: good.URL, Size: 2 << 30, HashSHA256: "x"},
		"names a file at": {URL: "file:///etc/passwd", HashSHA256: "x"}, "names a file at \"://": {URL: "://", HashSHA256: "x"},
	} {
		if _, err := fetch(f, 1<<30); err == nil || !strings.Contains(err.Error(), want) || len(asked) != 0 {
			t.Errorf("%+v: %v, asked %q; want %s", f, err, asked, want)
		}
	}
}

// A store that cuts off every attempt without a byte more is given up.
func TestDownloadsEnd(t *testing.T) {
	var asked atomic.Int64
	c, url := newClient(t, func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	})
	if err := c.Fetch(t.Context(), file(url, []byte("x")), target(t), 10, nil); err == nil || asked.Load() != pieces {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	gone, goneURL := newClient(t, http.NotFound)
	if err := gone.Fetch(t.Context(), file(goneURL, []byte("x")), target(t), 10, nil); !entity.IsNotFound(err) {
		t.Errorf("a file that is gone: %v", err)
	}
}

// A cutting writer breaks the connection after some bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// A store with a certificate of its own is trusted by that, and does not lead away from https.
func TestTLS(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/away") {
			http.Redirect(w, r, plain.URL, http.StatusFound)
			return
		}
		sends(w, http.StatusOK, Info{Name: "web"})
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that fails
	server.StartTLS()
	defer server.Close()
	ask := func(ca, name string) error {
		c, err := New(Options{URL: server.URL, CACert: ca})
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Info(t.Context(), name, "")
		return err
	}
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	if err := ask(ca, "web"); err != nil {
		t.Error(err)
	}
	if err := ask(ca, "away"); err == nil || !strings.Contains(err.Error(), "redirection from https to http") {
		t.Errorf("a redirection to http: %v", err)
	}
	if err := ask("", "web"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %v", err)
	}
	if err := ask("none", "web"); !isInvalid(err) {
		t.Errorf("no certificate: %v", err)
	}
}

func TestURLs(t *testing.T) {
	for text, want := range map[string]bool{"https://api.charmhub.io/": true, "http://10.0.0.1:8080": true, "http://h/store": true,
		"": false, "ftp://h": false, "h:80": false, "http://": false, "http://u:p@h": false, "http://h?x": false} {
		if _, err := ParseURL(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A reply of any bytes is an answer that can be used, or an error.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"error-list":[],"results":[{"instance-key":"k","result":"install","name":"web","charm":{"name":"web","revision":3,"bases":[{"name":"ubuntu"}]}}]}`))
	f.Add([]byte(`{"results":[{"instance-key":"k","result":"error","charm":null,"error":{"code":"revision-not-found","extra":{"releases":[{"channel":"x"}]}}}]}`))
	f.Add([]byte(`{"error-list":[{"code":"not-found"}]}`))
	c := &Client{retried: func(error) {}, sleep: func(context.Context, time.Duration) error { return nil }, http: &http.Client{}}
	c.base = &url.URL{Scheme: "http", Host: "h"}
	f.Fuzz(func(t *testing.T, body []byte) {
		c.http.Transport = roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body))}, nil
		})
		answers, err := c.Refresh(t.Context(), RefreshRequest{Actions: []Action{{Action: Install, InstanceKey: "k", Name: "web"}}})
		if err != nil {
			return
		}
		if a := answers[0]; a.Error == nil && (a.Entity == nil || strings.ContainsAny(a.Entity.Name, "/. ") || a.Entity.Revision < 0) {
			t.Errorf("%s is taken", body)
		}
		if e := answers[0].Error; e != nil {
			if text := fmt.Sprint((Choice{Name: "web"}).refused(e)); strings.ContainsRune(text, 0x1b) {
				t.Errorf("%q has control characters", text)
			}
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
