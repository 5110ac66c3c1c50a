// Package storetest has a charm store for tests.
package storetest

import (
	"archive/zip"
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"juju/charm/charmstore"
)

// A Store is a charm store with its server.
type Store struct {
	testing.TB
	Dir *charmstore.Directory
	URL string
	// Meddle, unless it is nil, answers a request in place of the store if it returns true. Set it before there are requests.
	Meddle func(w http.ResponseWriter, r *http.Request) bool

	mu    sync.Mutex
	asked []string // the paths
}

// New starts a store that is empty.
func New(t testing.TB) *Store {
	t.Helper()
	dir, err := charmstore.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{TB: t, Dir: dir}
	serves := charmstore.NewServer(dir, "")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		s.mu.Unlock()
		if s.Meddle == nil || !s.Meddle(w, r) {
			serves.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Asked returns how many requests there were for paths that begin so.
func (s *Store) Asked(prefix string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range s.asked {
		if strings.HasPrefix(path, prefix) {
			n++
		}
	}
	return n
}

// Publish releases a charm that has these metadata and files, given as pairs of names and contents, in channels. It returns the
// revision.
func (s *Store) Publish(metadata string, channels []string, files ...string) int {
	s.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i, all := 0, append([]string{"metadata.yaml", metadata}, files...); i < len(all); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: all[i], ExternalAttrs: 0o755 << 16})
		if err == nil {
			_, err = w.Write([]byte(all[i+1]))
		}
		if err != nil {
			s.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		s.Fatal(err)
	}
	up, err := s.Dir.Upload(s.Context(), &out)
	if err == nil && len(channels) > 0 {
		err = s.Dir.Release(s.Context(), up.Name, up.Revision, channels, nil)
	}
	if err != nil {
		s.Fatal(err)
	}
	return up.Revision
}

// Resource uploads a file for a resource of a charm, and returns its revision.
func (s *Store) Resource(charm, name, content string) int {
	s.Helper()
	up, err := s.Dir.UploadResource(s.Context(), charm, name, strings.NewReader(content))
	if err != nil {
		s.Fatal(err)
	}
	return up.Revision
}

// Release releases a revision of a charm with revisions of its resources.
func (s *Store) Release(charm string, revision int, channel string, resources map[string]int) {
	s.Helper()
	if err := s.Dir.Release(s.Context(), charm, revision, []string{channel}, resources); err != nil {
		s.Fatal(err)
	}
}
