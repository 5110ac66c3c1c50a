package charmstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"juju/charm"
	"juju/charm/charmhub"
	"juju/state/entity"
)

const (
	maxCharm    = 1 << 30 // bytes
	maxResource = 4 << 30
)

// An Uploaded is a file that the store has taken, or had.
type Uploaded struct {
	Name     string   `json:"name"` // of the charm
	Revision int      `json:"revision"`
	Bases    []string `json:"bases,omitempty"`
	Had      bool     `json:"had"` // the same content was there already
}

// Upload takes a .charm as the next revision of the charm that it is. The same content again is the same revision.
func (d *Directory) Upload(ctx context.Context, in io.Reader) (up Uploaded, err error) {
	dr, err := d.receive(in, maxCharm)
	if err != nil {
		return up, err
	}
	defer dr.drop()
	name, rev, err := examine(ctx, dr.Name())
	if err != nil {
		return up, err
	}
	return up, d.change(ctx, func() error {
		if err := os.MkdirAll(d.folder(name), 0o755); err != nil {
			return err
		}
		e, err := d.read(ctx, name)
		if err != nil {
			return err
		}
		next := 1
		for _, one := range e.Revisions {
			if one.SHA384 == rev.SHA384 {
				up = Uploaded{name, one.Revision, one.Bases, true}
				return nil
			}
			next = max(next, one.Revision+1)
		}
		if err := dr.place(d.charmPath(name, next)); err != nil {
			return err
		}
		up = Uploaded{name, next, rev.Bases, false}
		rev.Revision = next // of the same file, which need not be examined again
		e.Revisions = append(e.Revisions, rev)
		return d.save(name, e.record)
	})
}

var resourceName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$`)

// UploadResource takes a file as the next revision of a resource, which a revision of the charm must declare.
func (d *Directory) UploadResource(ctx context.Context, name, of string, in io.Reader) (up Uploaded, err error) {
	if !charm.IsValidName(name) || !resourceName.MatchString(of) {
		return up, entity.Errorf(entity.Invalid, "%s has no resource %s", entity.Named(name), entity.Named(of))
	}
	dr, err := d.receive(in, maxResource)
	if err != nil {
		return up, err
	}
	defer dr.drop()
	known, err := hashes(dr.Name())
	if err != nil {
		return up, err
	}
	return up, d.edit(ctx, name, func(e *entry) error {
		filename, err := d.declares(ctx, e, of)
		if err != nil {
			return err
		}
		next := 1
		for _, one := range e.Resources[of] {
			if one.SHA384 == known.SHA384 {
				up = Uploaded{name, one.Revision, nil, true}
				return nil
			}
			next = max(next, one.Revision+1)
		}
		path := d.resourcePath(name, of, next)
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // a crash left it, and the record has no word of it
			return err
		}
		if err := dr.place(path); err != nil {
			return err
		}
		if e.Resources == nil {
			e.Resources = map[string][]resource{}
		}
		e.Resources[of] = append(e.Resources[of], resource{next, filename, known})
		up = Uploaded{name, next, nil, false}
		return nil
	})
}

// declares returns the name of the file that a charm's latest revision wants as a resource.
func (d *Directory) declares(ctx context.Context, e *entry, of string) (filename string, err error) {
	var names []string
	for _, one := range slices.Backward(e.Revisions) {
		a, err := charm.ReadArchive(ctx, d.charmPath(e.name, one.Revision))
		if err != nil {
			return "", err
		}
		if r, ok := a.Meta.Resources[of]; ok {
			return r.Filename, nil
		}
		for name := range a.Meta.Resources {
			names = append(names, name)
		}
		break
	}
	slices.Sort(names)
	err = entity.Errorf(entity.NotFound, "the latest revision of charm %s declares no resource %s", e.name, entity.Named(of))
	if len(names) > 0 {
		err = entity.WithHint(err, "It declares %s.", strings.Join(names, ", "))
	}
	return "", err
}

// edit changes the record of a charm that exists. If f fails, nothing changes.
func (d *Directory) edit(ctx context.Context, name string, f func(*entry) error) error {
	if _, err := d.find(ctx, name); err != nil {
		return err
	}
	return d.change(ctx, func() error {
		e, err := d.read(ctx, name)
		if err != nil {
			return err
		}
		if err := f(e); err != nil {
			return err
		}
		return d.save(name, e.record)
	})
}

// Release puts a revision into channels, with revisions of its resources: those that are not named are the newest.
func (d *Directory) Release(ctx context.Context, name string, n int, channels []string, resources map[string]int) error {
	if len(channels) == 0 {
		return entity.Errorf(entity.Invalid, "no channel is named")
	}
	return d.edit(ctx, name, func(e *entry) error {
		if e.revision(n) == nil {
			return entity.Errorf(entity.NotFound, "charm %s has no revision %d", name, n)
		}
		a, err := charm.ReadArchive(ctx, d.charmPath(name, n))
		if err != nil {
			return err
		}
		with := map[string]int{}
		for of := range a.Meta.Resources {
			if list := e.Resources[of]; len(list) > 0 {
				with[of] = list[len(list)-1].Revision
			}
		}
		for of, n := range resources {
			if _, ok := a.Meta.Resources[of]; !ok || e.resource(of, n) == nil {
				return entity.Errorf(entity.NotFound, "charm %s has no revision %d of a resource %s", name, n, entity.Named(of))
			}
			with[of] = n
		}
		for _, text := range channels {
			c, err := charmhub.ParseChannel(text)
			if err != nil {
				return err
			}
			if len(e.Releases) == 0 && e.DefaultTrack == "" { // who names no track means the only one
				e.DefaultTrack = c.Track
			}
			e.add(release{Channel: c.In(e.defaultTrack()).String(), Revision: n, Resources: with, ReleasedAt: time.Now().UTC()})
		}
		return nil
	})
}

// Shut takes all releases out of a channel: who asks for it then gets what a more stable one has.
func (d *Directory) Shut(ctx context.Context, name, channel string) error {
	c, err := charmhub.ParseChannel(channel)
	if err != nil {
		return err
	}
	return d.edit(ctx, name, func(e *entry) error {
		if !e.close(c) {
			return entity.Errorf(entity.NotFound, "charm %s has no release in channel %s", name, c)
		}
		return nil
	})
}

// codeUnauthorized is the code of the error for a request without a token of the store.
const codeUnauthorized = "user-authentication-error"

// A publication is the request that releases a revision.
type publication struct {
	Revision  int            `json:"revision"`
	Channels  []string       `json:"channels"`
	Resources map[string]int `json:"resources,omitempty"`
}

// publishing adds what changes the store.
func (s *Server) publishing() {
	s.mux.HandleFunc("POST /publish/charms", s.answer(s.writing(func(r *http.Request) (any, error) {
		return s.dir.Upload(r.Context(), r.Body)
	})))
	s.mux.HandleFunc("POST /publish/charms/{name}/resources/{resource}", s.answer(s.writing(func(r *http.Request) (any, error) {
		return s.dir.UploadResource(r.Context(), r.PathValue("name"), r.PathValue("resource"), r.Body)
	})))
	s.mux.HandleFunc("POST /publish/charms/{name}/releases", s.answer(s.writing(func(r *http.Request) (any, error) {
		var p publication
		if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxQuestion)).Decode(&p); err != nil {
			return nil, entity.Errorf(entity.Invalid, "cannot read the request: %w", err)
		}
		return struct{}{}, s.dir.Release(r.Context(), r.PathValue("name"), p.Revision, p.Channels, p.Resources)
	})))
	s.mux.HandleFunc("DELETE /publish/charms/{name}/releases/{channel...}", s.answer(s.writing(func(r *http.Request) (any, error) {
		return struct{}{}, s.dir.Shut(r.Context(), r.PathValue("name"), r.PathValue("channel"))
	})))
}

// writing lets only those publish who have a token, over TLS or on this host.
func (s *Server) writing(f func(*http.Request) (any, error)) func(*http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); r.TLS == nil && (err != nil || ip == nil || !ip.IsLoopback()) {
			return nil, refuse(http.StatusForbidden, codeUnauthorized, "the store takes charms over https only")
		}
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return nil, entity.Errorf(entity.Unauthorized, "to publish needs a token of the store")
		}
		if err := s.tokens.check(token); err != nil {
			return nil, err
		}
		return f(r)
	}
}

// tokenFile has the hashes of the tokens with which the store is written, one a line, with their names.
const tokenFile = ".tokens"

type tokens struct{ dir *Directory }

func (t *tokens) check(token string) error {
	text, err := os.ReadFile(filepath.Join(t.dir.path, tokenFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		hash, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		found |= sameHash(hash, token)
	}
	if found == 0 {
		return entity.Errorf(entity.Unauthorized, "the token is none of the store's")
	}
	return nil
}

// AddToken makes a token that can publish, and returns it: the store keeps only its hash, under a name.
func (d *Directory) AddToken(ctx context.Context, name string) (token string, err error) {
	if !resourceName.MatchString(name) {
		return "", entity.Errorf(entity.Invalid, "%s is not a name of a token: letters, digits, dots, dashes and underlines", entity.Named(name))
	}
	return token, d.change(ctx, func() error {
		lines, err := d.tokenLines()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, " "+name) }) {
			return entity.Errorf(entity.AlreadyExists, "there is a token %s already", name)
		}
		var hash string
		token, hash = newToken()
		return d.writeTokens(append(lines, hash+" "+name))
	})
}

// RemoveToken ends a token.
func (d *Directory) RemoveToken(ctx context.Context, name string) error {
	return d.change(ctx, func() error {
		lines, err := d.tokenLines()
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return strings.HasSuffix(line, " "+name) })
		if len(left) == len(lines) {
			return entity.Errorf(entity.NotFound, "there is no token %s", entity.Named(name))
		}
		return d.writeTokens(left)
	})
}

// A Status says what a charm has where.
type Status struct {
	Name     string
	Channels []ChannelStatus
	Latest   int
}

// A ChannelStatus is a release for one base.
type ChannelStatus struct {
	Channel, Base string
	Revision      int
	Resources     map[string]int
}

// Statuses returns what each charm has, by name, or one of them.
func (d *Directory) Statuses(ctx context.Context, name string) (all []Status, err error) {
	var entries []*entry
	if name != "" {
		e, err := d.find(ctx, name)
		if err != nil {
			return nil, err
		}
		entries = []*entry{e}
	} else if entries, err = d.all(ctx, unread); err != nil {
		return nil, err
	}
	for _, e := range entries {
		s := Status{Name: e.name, Latest: e.Revisions[len(e.Revisions)-1].Revision}
		for _, one := range e.list() {
			s.Channels = append(s.Channels, ChannelStatus{one.Listed(), cmp.Or(one.base.String(), "all") + "/" + one.base.Architecture,
				one.revision.Revision, one.Resources})
		}
		all = append(all, s)
	}
	return all, nil
}
