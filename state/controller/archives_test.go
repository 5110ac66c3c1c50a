package controller_test

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	mgo "gopkg.in/mgo.v2"
	"gopkg.in/mgo.v2/bson"

	"juju/state"
	"juju/state/controller"
	"juju/state/entity"
	"juju/state/statetest"
)

// A shelf is the archives of one model, for tests.
type shelf struct {
	*world
	state.Archives
}

func (w *world) shelf(c *controller.Controller, st *state.State) *shelf {
	return &shelf{w, c.Archives(st.UUID())}
}

func (s *shelf) keeps(text string) (sum string) {
	s.Helper()
	sum, size, err := s.Keep(s.ctx, strings.NewReader(text))
	s.ok(err)
	if want, err := entity.SHA256(strings.NewReader(text)); sum != want || size != int64(len(text)) || err != nil {
		s.Errorf("of %d bytes with the sum %s it keeps %d, %s", len(text), want, size, sum)
	}
	s.holds(sum, text)
	return sum
}

// holds checks that the archive is stored with this text, and that the model refers to it.
func (s *shelf) holds(sum, text string) {
	s.Helper()
	s.finds(sum, true, true)
	file, err := s.Open(s.ctx, sum)
	s.ok(err)
	defer file.Close()
	if got, err := io.ReadAll(file); string(got) != text || err != nil {
		s.Errorf("archive %.8s is %q, %v", sum, got, err)
	}
}

// finds checks whether an archive exists, and whether the model refers to it.
func (s *shelf) finds(sum string, there, referred bool) {
	s.Helper()
	if got, refers, err := s.Find(s.ctx, sum); got != there || refers != referred || err != nil {
		s.Errorf("archive %.8s is there: %v, the model refers to it: %v, %v", sum, got, refers, err)
	}
}

// files returns how many files, chunks of files, and files that are marked for deletion there are.
func (w *world) files() (n [3]int) {
	w.Helper()
	for i, name := range []string{"charms.files", "charms.chunks", "oldfiles"} {
		w.ok(w.db().With(w.Context(), name, func(c *mgo.Collection) (err error) { n[i], err = c.Count(); return err }))
	}
	return n
}

func (w *world) wantFiles(files, chunks int) {
	w.Helper()
	if got := w.files(); got != [3]int{files, chunks, 0} {
		w.Errorf("there are %v files, chunks and files to delete, want %d and %d", got, files, chunks)
	}
}

// An archive is stored once, whichever models and controllers keep it, and is deleted with the last reference.
func TestArchivesAreShared(t *testing.T) {
	w := newWorld(t)
	theirs := w.node(time.Now())
	other := w.mustAddModel("other")
	mine, its := w.shelf(w.ctrl, w.st), w.shelf(theirs.Controller, other)
	const text = "charm"
	sum := mine.keeps(text)
	mine.keeps("another charm")
	its.finds(sum, true, false)
	its.keeps(text)
	its.keeps(text)
	w.wantFiles(2, 2)

	// What is used, and what is kept again meanwhile, stays.
	w.ok(mine.Release(w.ctx, sum, func() (bool, error) { return true, nil }))
	mine.holds(sum, text)
	failed := errors.New("cannot look")
	if err := mine.Release(w.ctx, sum, func() (bool, error) { return false, failed }); !errors.Is(err, failed) {
		t.Errorf("a release whose use is not known returns %v", err)
	}
	mine.holds(sum, text)
	looks := 0
	again := func() (bool, error) {
		if looks++; looks == 1 {
			mine.keeps(text)
		}
		return looks > 1, nil
	}
	w.ok(mine.Release(w.ctx, sum, again))
	if mine.holds(sum, text); looks != 2 {
		t.Errorf("the use is looked at %d times", looks)
	}
	unused := func() (bool, error) { return false, nil }
	w.ok(mine.Release(w.ctx, sum, unused))
	mine.finds(sum, true, false)
	w.ok(mine.Release(w.ctx, sum, unused))
	its.holds(sum, text)
	// The last reference goes with the file.
	w.ok(its.Release(w.ctx, sum, unused))
	its.finds(sum, false, false)
	_, err := its.Open(w.ctx, sum)
	w.refused(err, entity.NotFound, "archive "+sum+" not found")
	w.refused(its.Refer(w.ctx, sum), entity.NotFound, "archive "+sum+" not found")
	w.ok(its.Release(w.ctx, sum, unused))
	w.wantFiles(1, 1)
	// Kept once more it gets another file.
	its.keeps(text)
	w.ok(mine.Refer(w.ctx, sum))
	mine.holds(sum, text)
	w.wantFiles(2, 2)
	// Of two models that release it at once, one is the last.
	w.before(func() { w.ok(its.Release(w.ctx, sum, unused)) })
	w.ok(mine.Release(w.ctx, sum, unused))
	mine.finds(sum, false, false)
	w.wantFiles(1, 1)
	// It may be stored twice, by two processes at once, and both files go.
	its.keeps(text)
	w.ok(w.db().With(w.ctx, "charms.files", func(c *mgo.Collection) error {
		var blob struct{ File string }
		if err := c.Database.C("blobs").FindId(sum).One(&blob); err != nil {
			return err
		}
		file, err := c.Database.GridFS("charms").Create(blob.File)
		if err != nil {
			return err
		}
		_, err = io.WriteString(file, text)
		return errors.Join(err, file.Close())
	}))
	w.wantFiles(3, 3)
	w.ok(its.Release(w.ctx, sum, unused))
	w.wantFiles(1, 1)
}

// A lost archive is a file that is sent twice, and breaks off the second time.
type lost struct {
	io.ReadSeeker
	sent bool
}

var errLost = errors.New("the connection is lost")

func (l *lost) Read(b []byte) (int, error) {
	if l.sent {
		return 0, errLost
	}
	return l.ReadSeeker.Read(b)
}

func (l *lost) Seek(offset int64, whence int) (int64, error) {
	l.sent = true
	return l.ReadSeeker.Seek(offset, whence)
}

// An archive whose upload breaks off is not there, and can be uploaded again. A model that is being removed keeps none.
func TestInterruptedUpload(t *testing.T) {
	w := newWorld(t)
	s := w.shelf(w.ctrl, w.st)
	const text = "charm"
	if _, _, err := s.Keep(w.ctx, &lost{ReadSeeker: strings.NewReader(text)}); !errors.Is(err, errLost) {
		t.Errorf("an upload that breaks off returns %v", err)
	}
	sum, err := entity.SHA256(strings.NewReader(text))
	w.ok(err)
	s.finds(sum, false, true)
	_, err = s.Open(w.ctx, sum)
	w.refused(err, entity.NotFound, "archive "+sum+" not found")
	w.wantFiles(0, 0)
	s.keeps(text)
	ctx, cancel := context.WithCancelCause(w.ctx)
	cancel(errLost)
	if _, _, err := s.Keep(ctx, strings.NewReader("other")); !errors.Is(err, errLost) {
		t.Errorf("an upload that is cancelled returns %v", err)
	}
	w.wantFiles(1, 1)

	w.before(func() { w.beginRemoval(w.st) })
	_, _, err = s.Keep(w.ctx, strings.NewReader("late"))
	w.refused(err, entity.NotFound, "model "+strconv.Quote(w.st.UUID())+" not found")
	_, _, err = s.Keep(w.ctx, strings.NewReader("later"))
	w.refused(err, entity.NotFound, "not found")
	// A file that is marked, because its deletion was interrupted, goes with the next ones.
	w.ok(w.db().With(w.ctx, "oldfiles", func(c *mgo.Collection) error { return c.Insert(bson.M{"_id": "no such file"}) }))
	w.checkResumed()
	w.wantFiles(0, 0)
	statetest.CheckModels(t, w.ctrl, w.store)
}
