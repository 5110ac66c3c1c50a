package charmstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"juju/agent/host/atomicfile"
	"juju/agent/host/lockfile"
	"juju/charm"
	"juju/charm/charmhub"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// A Directory is a store in a directory. It is safe for concurrent use, also by several processes.
type Directory struct {
	path string

	mu     sync.Mutex
	charms map[string]*entry // as last read
	listed time.Time         // when the names were
}

// An entry is a charm as it was read, and the stamp of what was read. It is not changed.
type entry struct {
	name string
	*record
	stamp string
}

const (
	recordFile   = "releases.yaml"
	resourcesDir = "resources"
	draftsDir    = ".drafts" // files that are being received
	lockFile     = ".lock"
	lockTime     = time.Minute // to wait for others who change something
)

// Open opens a store, and makes its directory unless that exists.
func Open(path string) (*Directory, error) {
	if err := os.MkdirAll(filepath.Join(path, draftsDir), 0o755); err != nil {
		return nil, err
	}
	d := &Directory{path: path, charms: map[string]*entry{}}
	return d, d.sweep()
}

// sweep removes what an upload that was cut off has left. It holds the lock, as each upload does that is ending; one that is
// receiving holds its draft open and locked.
func (d *Directory) sweep() error {
	names, err := filepath.Glob(filepath.Join(d.path, draftsDir, "*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		l, err := lockfile.Try(name, "")
		if errors.Is(err, lockfile.ErrHeld) {
			continue
		} else if err != nil {
			return err
		}
		err = os.Remove(name)
		l.Unlock()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// change calls f while no one else changes the store.
func (d *Directory) change(ctx context.Context, f func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another process is changing the charm store"))
	defer cancel()
	l, err := lockfile.Take(ctx, filepath.Join(d.path, lockFile), "")
	if err != nil {
		return err
	}
	defer l.Unlock()
	return f()
}

// A draft is a file that is being received.
type draft struct {
	*os.File
	lock *lockfile.Lock
}

// draft begins a file of the store.
func (d *Directory) draft() (*draft, error) {
	name := filepath.Join(d.path, draftsDir, rand.Text())
	lock, err := lockfile.Try(name, "")
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	return &draft{f, lock}, nil
}

// receive copies what a client sends into a draft, of at most limit bytes.
func (d *Directory) receive(in io.Reader, limit int64) (*draft, error) {
	dr, err := d.draft()
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(dr, io.LimitReader(in, limit+1))
	if err == nil && n > limit {
		err = entity.Errorf(entity.Invalid, "the file has more than %d MiB", limit>>20)
	}
	if err == nil {
		err = dr.Sync()
	}
	if err != nil {
		dr.drop()
		return nil, err
	}
	return dr, nil
}

// drop removes the draft, unless it was placed.
func (dr *draft) drop() {
	dr.Close()
	if err := os.Remove(dr.Name()); err == nil || errors.Is(err, fs.ErrNotExist) {
		dr.lock.Unlock()
	}
}

// place makes the draft a file of the store. The file must not exist.
func (dr *draft) place(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := dr.Chmod(0o644); err != nil {
		return err
	}
	if err := os.Link(dr.Name(), path); err != nil { // unlike a renaming, it replaces nothing
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

func (d *Directory) folder(name string) string { return filepath.Join(d.path, name) }

// charmPath returns where a revision of a charm is.
func (d *Directory) charmPath(name string, n int) string {
	return filepath.Join(d.folder(name), fmt.Sprintf("%s_r%d.charm", name, n))
}

func (d *Directory) resourcePath(name, resource string, n int) string {
	return filepath.Join(d.folder(name), resourcesDir, fmt.Sprintf("%s_r%d", resource, n))
}

// stamp says whether a charm's folder is as it was: of the record and of the folder, in which files appear.
func (d *Directory) stamp(name string) string {
	text := ""
	for _, path := range []string{d.folder(name), filepath.Join(d.folder(name), recordFile), filepath.Join(d.folder(name), resourcesDir)} {
		if info, err := os.Stat(path); err == nil {
			text += fmt.Sprint(info.Size(), info.ModTime().UnixNano(), " ")
		}
	}
	return text
}

// find returns a charm as it is now. If there is none, or it has no revision, the error is NotFound.
func (d *Directory) find(ctx context.Context, name string) (*entry, error) {
	none := entity.Errorf(entity.NotFound, "the store has no charm %s", entity.Named(name))
	if !charm.IsValidName(name) {
		return nil, none
	}
	stamp := d.stamp(name)
	d.mu.Lock()
	e := d.charms[name]
	d.mu.Unlock()
	if e != nil && e.stamp == stamp {
		return e, nil
	}
	if _, err := os.Stat(d.folder(name)); err != nil {
		return nil, none
	}
	err := d.change(ctx, func() error { // what the record lacks is written
		var err error
		e, err = d.read(ctx, name)
		return err
	})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.charms[name] = e
	d.mu.Unlock()
	if len(e.Revisions) == 0 {
		return nil, none
	}
	return e, nil
}

var charmFile = regexp.MustCompile(`^(.+)_r(0|[1-9][0-9]{0,8})\.charm$`)

// read reads a charm, and completes its record: with an id, and with the revisions whose files have appeared or changed. The caller
// holds the lock.
func (d *Directory) read(ctx context.Context, name string) (*entry, error) {
	r, err := readRecord(filepath.Join(d.folder(name), recordFile))
	if err != nil {
		return nil, err
	}
	changed := false
	if r.ID == "" {
		r.ID, changed = newID(), true
	}
	files, err := os.ReadDir(d.folder(name))
	if err != nil {
		return nil, err
	}
	there := map[int]bool{}
	for _, f := range files {
		m := charmFile.FindStringSubmatch(f.Name())
		if m == nil || m[1] != name {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		there[n] = true
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		if known := r.revision(n); known != nil && known.Size == info.Size() && known.Modified.Equal(info.ModTime()) {
			continue
		}
		of, now, err := examine(ctx, d.charmPath(name, n))
		if err == nil && of != name {
			err = entity.Errorf(entity.Invalid, "it is the charm %s", entity.Named(of))
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil { // the other revisions are served
			logger.Errorf("%s is not served: %v", d.charmPath(name, n), err)
			there[n] = false
			continue
		}
		now.Revision = n
		r.Revisions = append(slices.DeleteFunc(r.Revisions, func(one revision) bool { return one.Revision == n }), now)
		changed = true
	}
	before := len(r.Revisions)
	r.Revisions = slices.DeleteFunc(r.Revisions, func(one revision) bool { return !there[one.Revision] })
	changed = changed || len(r.Revisions) != before
	slices.SortFunc(r.Revisions, func(a, b revision) int { return a.Revision - b.Revision })
	if changed {
		if err := d.save(name, r); err != nil {
			return nil, err
		}
	}
	return &entry{name: name, record: r, stamp: d.stamp(name)}, nil
}

// save writes a charm's record. The caller holds the lock.
func (d *Directory) save(name string, r *record) error {
	text, err := safeyaml.Marshal(r, 2)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(d.folder(name), recordFile), text, 0o644)
}

// newID returns an id as Charmhub's are: 32 letters and digits.
func newID() string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	id := make([]byte, 32)
	for i := range id {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		id[i] = letters[n.Int64()]
	}
	return string(id)
}

// listFor is how long the names of all charms are taken to be those that they were.
const listFor = 2 * time.Second

// all returns every charm, by name. One that can't be read is left out, and unread is told why.
func (d *Directory) all(ctx context.Context, unread func(name string, err error)) ([]*entry, error) {
	d.mu.Lock()
	if time.Since(d.listed) < listFor {
		defer d.mu.Unlock()
		return sorted(d.charms), nil
	}
	d.mu.Unlock()
	files, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	there := map[string]*entry{}
	for _, f := range files {
		if !f.IsDir() || strings.HasPrefix(f.Name(), ".") {
			continue
		}
		e, err := d.find(ctx, f.Name())
		switch {
		case err == nil:
			there[e.name] = e
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !entity.IsNotFound(err):
			unread(f.Name(), err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.charms, d.listed = there, time.Now()
	return sorted(there), nil
}

// Load reads every charm, and completes the records of those that people have put there, which takes milliseconds for each.
func (d *Directory) Load(ctx context.Context) error {
	_, err := d.all(ctx, unread)
	return err
}

func sorted(charms map[string]*entry) []*entry {
	all := make([]*entry, 0, len(charms))
	for _, name := range slices.Sorted(maps.Keys(charms)) {
		if e := charms[name]; len(e.Revisions) > 0 {
			all = append(all, e)
		}
	}
	return all
}

// byID returns the charm with an id.
func (d *Directory) byID(ctx context.Context, id string, unread func(string, error)) (*entry, error) {
	all, err := d.all(ctx, unread)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if e.ID == id {
			return e, nil
		}
	}
	return nil, entity.Errorf(entity.NotFound, "the store has no charm with the id %s", entity.Named(id))
}

// A found is a revision that is released somewhere.
type found struct {
	*revision
	release
}

// releasedIn returns what is released in a channel itself, the latest release first.
func (r *record) releasedIn(channel charmhub.Channel) (all []found) {
	text := channel.In(r.defaultTrack()).String()
	for _, one := range slices.Backward(r.Releases) {
		if rev := r.revision(one.Revision); one.Channel == text && rev != nil {
			all = append(all, found{rev, one})
		}
	}
	return all
}
