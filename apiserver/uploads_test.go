package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"juju/apiserver/facades/facadestest"
	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state/entity"
	"juju/state/statetest"
)

// post uploads by plain HTTP, as other clients do.
func (w *world) post(ctx context.Context, user string, body io.Reader) (*http.Response, params.CharmsResponse, error) {
	w.Helper()
	return w.postSized(ctx, user, body, -1)
}

// postSized is post of so many bytes, which are sent when the server asks for them.
func (w *world) postSized(ctx context.Context, user string, body io.Reader, size int64) (
	*http.Response, params.CharmsResponse, error) {
	w.Helper()
	var answer params.CharmsResponse
	request, err := http.NewRequestWithContext(ctx, "POST", "https://"+w.address+"/model/"+w.st.UUID()+"/charms", body)
	if err != nil {
		w.Fatal(err)
	}
	tag := entity.UserTag(user)
	request.SetBasicAuth(params.TagOf(tag).String(), cmp.Or(w.passwords[tag], statetest.Password))
	if size >= 0 {
		request.ContentLength = size
		request.Header.Set("Expect", "100-continue")
	}
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(), DisableKeepAlives: true,
		ExpectContinueTimeout: verify.Patience}}
	response, err := hc.Do(request)
	if err != nil {
		return nil, answer, err
	}
	defer response.Body.Close()
	if content := response.Header.Get("Content-Type"); content != "application/json" {
		w.Errorf("the answer to an upload is %s", content)
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		w.Fatal(err)
	}
	return response, answer, nil
}

func archiveBytes(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(statetest.CharmArchive(t, statetest.Riak))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The number of uploads is limited, for each user and in total, and so is their size on disk.
// Beyond the limits clients are told to try again, and later succeed.
func TestLimitsOfUploads(t *testing.T) {
	w := newWorld(t, limited(func(l *Limits) { l.Uploads, l.UserUploads = 3, 2 }))
	u := w.server.uploads
	archive := archiveBytes(t)
	u.limits.UploadBytes = int64(len(archive)) + 20
	u.limits.UserUploadBytes = int64(len(archive)) + 10
	begin := func(user string) func() {
		t.Helper()
		end, err := u.begin(entity.UserTag(user))
		if err != nil {
			t.Fatal(err)
		}
		return end
	}
	refused := func(name, want string) {
		t.Helper()
		response, answer, err := w.post(t.Context(), statetest.Admin, bytes.NewReader(archive))
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" ||
			answer.ErrorCode != "try again" ||
			answer.Error != "cannot accept the upload: "+want || answer.ErrorInfo["hint"] != "Try again when they have finished" {
			t.Errorf("%s: %s, %+v", name, response.Status, answer)
		}
	}
	first, second := begin(statetest.Admin), begin(statetest.Admin)
	refused("a third of one user", `user "admin" has 2 uploads in progress`)
	first()
	second()
	ends := []func(){begin("bob"), begin("bob"), begin("carol")}
	refused("a fourth of all", "the controller has 3 uploads in progress")
	for _, end := range ends {
		end()
	}
	occupied := func(user string, bytes int64, want string) {
		t.Helper()
		if err := u.take(entity.UserTag(user), bytes); err != nil {
			t.Fatal(err)
		}
		refused("more than the disk is to hold", want)
		u.release(entity.UserTag(user), bytes)
	}
	if err := u.take(entity.UserTag("bob"), u.limits.UserUploadBytes); err != nil {
		t.Errorf("all that a user may have: %v", err)
	}
	u.release(entity.UserTag("bob"), u.limits.UserUploadBytes)
	occupied("bob", 21, fmt.Sprintf("uploads in progress use all of the %d bytes reserved for them", u.limits.UploadBytes))
	occupied(statetest.Admin, 11, fmt.Sprintf(`uploads in progress of user "admin" use all of their %d bytes`, u.limits.UserUploadBytes))
	if _, answer, err := w.post(t.Context(), statetest.Admin, bytes.NewReader(archive)); err != nil ||
		answer.CharmURL == "" {
		t.Errorf("when there is room: %+v, %v", answer, err)
	}
	w.noUploads(t)
}

// noUploads waits until no upload is left.
func (w *world) noUploads(t *testing.T) {
	t.Helper()
	u := w.server.uploads
	eventually(t, "uploads are left", func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		_, _, begun := u.begun.Take(entity.Tag{}, 0, 0)
		return begun == 0 && len(u.bytes) == 0 && len(u.judging) == 0
	})
	eventually(t, "files are left", func() bool {
		left, err := filepath.Glob(filepath.Join(w.server.config.TempDir, "*"))
		return err == nil && len(left) == 0
	})
}

// claimed is a reader that says how many bytes it has.
type claimed struct {
	io.Reader
	size int64
}

func (c claimed) Seek(_ int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return c.size, nil
	}
	return 0, nil
}

// What is too large is refused before it is sent: by our client, and by the server whose client says how large it is.
func TestUploadsThatAreTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unread := iotest.ErrReader(errors.New("it was read"))
	const want = "charm archive is larger than 536870912 bytes"
	c := w.dial(w.adminInfo(w.st.UUID()))
	if _, err := c.UploadCharm(t.Context(), claimed{unread, entity.MaxCharm + 1}, ""); !errors.Is(err, entity.Invalid) || err.Error() != want {
		t.Errorf("our client: %v", err)
	}
	if err := c.UploadResource(t.Context(), "site", "pages", "", claimed{unread, entity.MaxResource + 1}); !errors.Is(err, entity.Invalid) ||
		err.Error() != "file is larger than 1073741824 bytes" {
		t.Errorf("a resource: %v", err)
	}
	response, answer, err := w.postSized(t.Context(), statetest.Admin, unread, entity.MaxCharm+1)
	if err != nil || response.StatusCode != http.StatusBadRequest || answer.Error != want {
		t.Errorf("another client: %+v, %v", answer, err)
	}
	archive := archiveBytes(t)
	if _, err := c.UploadCharm(t.Context(), claimed{bytes.NewReader(archive), int64(len(archive)) + 1}, ""); err == nil {
		t.Error("our client does not send the length")
	}
	w.noUploads(t)
}

// When the client goes, the server does not judge its archive.
func TestUploadEndsWithItsClient(t *testing.T) {
	w := newWorld(t, limited(func(l *Limits) { l.JudgedUploads = 1 }))
	done, err := w.server.uploads.judging.Take(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	archive := archiveBytes(t)
	go func() {
		_, _, err := w.post(ctx, statetest.Admin, bytes.NewReader(archive))
		ended <- err
	}()
	eventually(t, "the upload does not come", func() bool {
		w.server.uploads.mu.Lock()
		defer w.server.uploads.mu.Unlock()
		return w.server.uploads.bytes[entity.UserTag(statetest.Admin)] == int64(len(archive))
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the upload is still there", func() bool {
		_, _, begun := w.server.uploads.begun.Take(entity.Tag{}, 0, 0)
		return begun == 0
	})
	done()
	w.noUploads(t)
}

// An upload is refused if its user has lost the right to it meanwhile.
func TestUploadOfOneWhoMayNoLonger(t *testing.T) {
	w := newWorld(t)
	w.addUser("bob")
	w.ok(w.controller.GrantModel(t.Context(), w.st.UUID(), "bob", "write", ""))
	type reply struct {
		*http.Response
		params.CharmsResponse
		err error
	}
	replies := make(chan reply)
	body, client := io.Pipe()
	go func() {
		response, answer, err := w.post(t.Context(), "bob", body)
		replies <- reply{response, answer, err}
	}()
	archive := archiveBytes(t)
	if _, err := client.Write(archive[:len(archive)/2]); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the upload does not come", func() bool {
		w.server.uploads.mu.Lock()
		defer w.server.uploads.mu.Unlock()
		return w.server.uploads.bytes[entity.UserTag("bob")] > 0
	})
	w.ok(w.controller.RevokeModel(t.Context(), w.st.UUID(), "bob", "write"))
	if _, err := client.Write(archive[len(archive)/2:]); err != nil {
		t.Fatal(err)
	}
	client.Close()
	if r := facadestest.Receive(t, replies); r.err != nil || r.StatusCode != http.StatusForbidden || r.CharmsResponse.Error != "permission denied" {
		t.Errorf("%v, %+v", r.err, r.CharmsResponse)
	}
	w.noUploads(t)
}

// Errors of uploads name no files of the server.
func TestUploadErrorsNameNoPath(t *testing.T) {
	w := newWorld(t)
	upload := func(body io.Reader) string {
		t.Helper()
		response, answer, err := w.post(t.Context(), statetest.Admin, body)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode == http.StatusOK || strings.Contains(answer.Error, w.server.config.TempDir) ||
			strings.Contains(answer.Error, "juju-upload") {
			t.Errorf("%s: %+v", response.Status, answer)
		}
		return answer.Error
	}
	if got, want := upload(strings.NewReader("no zip")),
		"cannot read charm archive: zip: not a valid zip file"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	dir := w.server.config.TempDir
	w.server.config.TempDir = filepath.Join(dir, "gone")
	if got := upload(bytes.NewReader(archiveBytes(t))); got != params.Internal {
		t.Errorf("got %q", got)
	}
}

// An upload that finds the disk full says so.
func TestUploadToAFullDisk(t *testing.T) {
	w := newWorld(t)
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	w.ok(err)
	full := &upload{uploads: w.server.uploads, user: entity.UserTag(statetest.Admin), file: file}
	if _, err := full.Write([]byte("x")); !errors.Is(err, entity.Unavailable) ||
		err.Error() != "cannot accept the upload: the controller's disk is full" || full.failed != err {
		t.Errorf("a full disk: %v, %v", err, full.failed)
	}
	w.ok(file.Close())
}
