package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"juju/apiserver/admission"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
)

// uploadPattern is the name of an upload's temporary file.
const uploadPattern = "juju-upload-*.zip"

// sweepUploads removes uploads left in dir by a crash.
func sweepUploads(dir string) error {
	if dir == "" {
		return nil // the system cleans its own directory
	}
	left, err := filepath.Glob(filepath.Join(dir, uploadPattern))
	for _, file := range left {
		err = errors.Join(err, os.Remove(file))
	}
	return err
}

// uploads counts the uploads in progress, by user, and their bytes on disk. A slow client can occupy its upload for
// UploadTime, and longer only while data comes.
type uploads struct {
	limits  *Limits
	judging admission.Slots // archives being checked, which takes CPU and memory
	begun   admission.UserSlots

	mu    sync.Mutex
	bytes map[entity.Tag]int64 // by user
}

func newUploads(l *Limits) *uploads {
	return &uploads{limits: l, judging: make(admission.Slots, l.JudgedUploads), bytes: map[entity.Tag]int64{}}
}

// begin counts an upload until end is called, or returns the error that there are too many.
func (u *uploads) begin(user entity.Tag) (end func(), err error) {
	end, mine, all := u.begun.Take(user, u.limits.UserUploads, u.limits.Uploads)
	switch {
	case end != nil:
		return end, nil
	case mine >= u.limits.UserUploads:
		return nil, tryUploadAgain("user %q has %d uploads in progress", user.ID, mine)
	}
	return nil, tryUploadAgain("the controller has %d uploads in progress", all)
}

// take counts bytes of a user on disk, or returns the error that there are too many.
func (u *uploads) take(user entity.Tag, bytes int64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := bytes
	for _, n := range u.bytes {
		all += n
	}
	switch {
	case u.bytes[user]+bytes > u.limits.UserUploadBytes:
		return tryUploadAgain("uploads in progress of user %q use all of their %d bytes", user.ID, u.limits.UserUploadBytes)
	case all > u.limits.UploadBytes:
		return tryUploadAgain("uploads in progress use all of the %d bytes reserved for them", u.limits.UploadBytes)
	}
	u.bytes[user] += bytes
	return nil
}

// release uncounts bytes of a user.
func (u *uploads) release(user entity.Tag, bytes int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.bytes[user] -= bytes; u.bytes[user] == 0 {
		delete(u.bytes, user)
	}
}

// tryUploadAgain returns the error of an upload that exceeds a limit now.
func tryUploadAgain(format string, args ...any) error {
	return entity.WithHint(entity.Errorf(entity.Unavailable, "cannot accept the upload: "+format, args...),
		"Try again when they have finished")
}

// An upload is the temporary file of an upload. Its errors don't reveal the file's path.
type upload struct {
	uploads *uploads
	user    entity.Tag
	file    *os.File
	size    int64
	failed  error // why the last Write failed
}

// open creates the file of a user's upload.
func (u *uploads) open(user entity.Tag, dir string) (*upload, error) {
	file, err := os.CreateTemp(dir, uploadPattern)
	if err != nil {
		return nil, diskError(err)
	}
	return &upload{uploads: u, user: user, file: file}, nil
}

// Write implements io.Writer.
func (u *upload) Write(p []byte) (n int, err error) {
	if err = u.uploads.take(u.user, int64(len(p))); err == nil {
		u.size += int64(len(p))
		if n, err = u.file.Write(p); err != nil {
			err = diskError(err)
		}
	}
	u.failed = err
	return n, err
}

// close removes the file.
func (u *upload) close() {
	if err := errors.Join(u.file.Close(), os.Remove(u.file.Name())); err != nil {
		logger.Warningf("cannot remove an upload: %v", err)
	}
	u.uploads.release(u.user, u.size)
}

// diskError returns the error for a client after a disk error of the server. It reveals only whether the disk is full,
// which may be temporary.
func diskError(err error) error {
	if entity.IsDiskFull(err) {
		logger.Errorf("cannot accept an upload: %v", err)
		return facades.DiskFull("cannot accept the upload: ")
	}
	return fmt.Errorf("cannot accept the upload: %w", err)
}

// receive receives a file of at most limit bytes; what is its name in errors. done must be called when the file has
// been read. It fails when the client disconnects.
func (s *Server) receive(
	v *visitor, w http.ResponseWriter, r *http.Request, limit int64, what string,
) (file *os.File, done func(), err error) {
	if r.ContentLength > limit {
		return nil, nil, entity.TooLarge(what, limit)
	}
	var ends []func()
	endAll := func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	defer func() {
		if err != nil {
			endAll()
		}
	}()
	end, err := s.uploads.begin(v.Tag)
	if err != nil {
		return nil, nil, err
	}
	ends = append(ends, end)
	// The server's other deadlines are for websockets.
	pace, err := s.start(http.NewResponseController(w).SetReadDeadline)
	if err != nil {
		return nil, nil, err
	}
	u, err := s.uploads.open(v.Tag, s.config.TempDir)
	if err != nil {
		return nil, nil, err
	}
	ends = append(ends, u.close)
	_, err = io.Copy(io.MultiWriter(u, pace), http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, nil, entity.TooLarge(what, limit)
	case u.failed != nil:
		return nil, nil, u.failed
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, nil, entity.Errorf(entity.Invalid, "cannot read the upload: after %s it had less than %d bytes a second",
			s.limits.UploadTime, slowest)
	case err != nil:
		logger.Debugf("%s@%s: an upload was interrupted: %v", v.Tag, r.RemoteAddr, err)
		return nil, nil, entity.Errorf(entity.Invalid, "cannot read the upload: it was interrupted")
	}
	if _, err = u.file.Seek(0, io.SeekStart); err != nil {
		return nil, nil, diskError(err)
	}
	wait, cancel := context.WithTimeout(r.Context(), s.limits.UploadTime)
	defer cancel()
	end, err = s.uploads.judging.Take(wait, s.limits.UploadTime)
	if err != nil {
		return nil, nil, err
	}
	ends = append(ends, end)
	return u.file, endAll, s.still(r, v, facades.Writer)
}

// progress tells the client how many bytes a file has that is still being made.
func (s *Server) progress(w http.ResponseWriter, bytes int64) {
	if _, err := s.start(http.NewResponseController(w).SetWriteDeadline); err != nil {
		return
	}
	w.Header().Set(params.ProgressHeader, strconv.FormatInt(bytes, 10))
	w.WriteHeader(http.StatusProcessing)
	w.Header().Del(params.ProgressHeader)
}

// send sends a file, with its SHA-256 in a header; what is its name in the log.
func (s *Server) send(w http.ResponseWriter, r *http.Request, v *visitor, file io.Reader, sum, what string) error {
	if err := s.barrier(r.Context()); err != nil {
		return fmt.Errorf("cannot pass the barrier: %w", err)
	}
	pace, err := s.start(http.NewResponseController(w).SetWriteDeadline)
	if err != nil {
		return err
	}
	w.Header().Set(params.SHA256Header, sum)
	if sized, ok := file.(interface{ Size() int64 }); ok {
		w.Header().Set("Content-Length", strconv.FormatInt(sized.Size(), 10))
	}
	if _, err := io.Copy(io.MultiWriter(w, pace), file); err != nil {
		logger.Warningf("%s@%s: cannot send %s: %v", v.Tag, r.RemoteAddr, what, err)
		panic(http.ErrAbortHandler) // a partial file must not look complete
	}
	return nil
}
