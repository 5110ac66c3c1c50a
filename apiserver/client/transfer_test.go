package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Files are sent and fetched below the model's path, in the client's name. What is too large is not sent.
func TestTransfers(t *testing.T) {
	t.Parallel()
	var asked, reply string
	status := http.StatusOK
	f := &fakeServer{other: func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		user, password, _ := r.BasicAuth()
		asked = fmt.Sprintf("%s %s %s:%s %q %d %s %q", r.Method, r.URL, user, password, r.Header.Get(params.NonceHeader), r.ContentLength,
			r.Header.Get("Content-Type"), text)
		w.Header().Set(params.SHA256Header, "5a")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, reply)
	}}
	info := f.info(t)
	info.Nonce = "nonce"
	c, err := Dial(t.Context(), info)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	ctx := t.Context()
	const as = ` user-bob:secret "nonce" `
	check := func(what string, err error, want string) {
		t.Helper()
		if err != nil || asked != want {
			t.Errorf("%s: %v\nasked %s\nwant  %s", what, err, asked, want)
		}
	}
	reply = `{"charm-url":"local:jammy/web-1"}`
	url, err := c.UploadCharm(ctx, strings.NewReader("zip"), "jammy")
	check("a charm", err, "POST /model/u/charms?schema=local&series=jammy"+as+`3 application/zip "zip"`)
	if url != "local:jammy/web-1" {
		t.Errorf("it is %q", url)
	}
	_, err = c.UploadCharm(ctx, io.MultiReader(strings.NewReader("zip")), "")
	check("a charm from a pipe", err, "POST /model/u/charms?schema=local"+as+`-1 application/zip "zip"`)
	c.OnlyIfUnchanged("token")
	const resource = "PUT /model/u/applications/web/resources/a%2Fb"
	part := strings.NewReader("skipped file")
	if _, err := part.Seek(8, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	err = c.UploadResource(ctx, "web", "a/b", "", part)
	check("what is left of a file, on a condition", err, resource+"?if-unchanged=token"+as+`4 application/octet-stream "file"`)
	err = c.UploadResource(ctx, "web", "a/b", "id", strings.NewReader(""))
	check("an empty file, afterwards", err, resource+"?pendingid=id"+as+`0 application/octet-stream ""`)
	err = c.UploadBinaries(ctx, strings.NewReader("gz"), entity.Binaries{Version: "1", SHA256: "s"})
	check("binaries", err, "POST /model/u/tools?binaryVersion=1&sha256=s"+as+`2 application/gzip "gz"`)
	reply = "the archive"
	fetched := func(what string, archive io.ReadCloser, err error, want string) {
		t.Helper()
		if check(what, err, want); err != nil {
			return
		}
		defer archive.Close()
		if text, err := io.ReadAll(archive); err != nil || string(text) != reply {
			t.Errorf("%s: %q, %v", what, text, err)
		}
	}
	archive, sum, err := UniterFacade{c}.CharmArchive(ctx, "local:web-1")
	fetched("the archive of a charm", archive, err, "GET /model/u/charms?url=local%3Aweb-1"+as+`0  ""`)
	if sum != "5a" {
		t.Errorf("its sum is %q", sum)
	}
	archive, err = UniterFacade{c}.OpenResource(ctx, entity.UnitTag("web/0"), "a/b")
	fetched("a resource", archive, err, "GET /model/u/units/unit-web-0/resources/a%2Fb?"+as+`0  ""`)
	archive, err = AgentFacade{c}.Archive(ctx, "5a")
	fetched("binaries, which belong to no model", archive, err, "GET /tools/5a"+as+`0  ""`)

	asked = ""
	huge := io.NewSectionReader(strings.NewReader(""), 0, entity.MaxCharm+1)
	if _, err := c.UploadCharm(ctx, huge, ""); !errors.Is(err, entity.Invalid) || asked != "" {
		t.Errorf("a charm that is too large: %v, asked %s", err, asked)
	}
	if _, err := c.UploadCharm(ctx, strings.NewReader("zip"), ""); !errors.Is(err, entity.Unavailable) || !strings.HasPrefix(err.Error(), "cannot read the answer to an upload: ") {
		t.Errorf("an answer that is none: %v", err)
	}
	for text, want := range map[string]string{`{"error":"no","error-code":"not found","error-info":{"hint":"Look"}}`: "no",
		`{"error":""}`: "the controller responded with 418 I'm a teapot", "tea": "the controller responded with 418 I'm a teapot"} {
		status, reply = http.StatusTeapot, text
		_, err := c.UploadCharm(ctx, strings.NewReader("zip"), "")
		if err == nil || err.Error() != want || errors.Is(err, entity.NotFound) != (want == "no") {
			t.Errorf("the answer %s: %v, want %s", text, err, want)
		}
	}
	c.Close()
	if _, err := c.UploadCharm(ctx, strings.NewReader("zip"), ""); err != error(errClosed) {
		t.Errorf("on a closed connection: %v", err)
	}
}

// A transfer may take as long as it moves: while the controller prepares it, and while data comes. One that stands still is
// given up.
func TestSlowTransfers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const minutes = 5
		stand := false
		f := &fakeServer{pings: true, other: func(w http.ResponseWriter, r *http.Request) {
			for n := range 3 {
				time.Sleep(minutes * time.Minute)
				w.Header().Set(params.ProgressHeader, fmt.Sprint(n))
				w.WriteHeader(http.StatusProcessing)
			}
			if stand {
				<-r.Context().Done()
				return
			}
			w.WriteHeader(http.StatusOK)
			for range 3 {
				_, _ = w.Write([]byte("x"))
				w.(http.Flusher).Flush()
				time.Sleep(minutes * time.Minute)
			}
		}}
		c, ctx := f.dial(t), t.Context()
		var told []int64
		archive, err := c.Backup(ctx, false, func(n int64) { told = append(told, n) })
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil || !bytes.Equal(text, []byte("xxx")) || fmt.Sprint(told) != "[0 1 2]" {
			t.Errorf("got %q, %v; was told of %d", text, err, told)
		}
		archive.Close()
		stand = true
		begun := time.Now()
		_, err = c.Backup(ctx, false, func(int64) {})
		if passed := time.Since(begun); !errors.Is(err, entity.Unavailable) || !strings.Contains(err.Error(), "nothing was transferred for ") ||
			passed != 3*minutes*time.Minute+callTime {
			t.Errorf("%v after %v", err, passed)
		}
	})
}
