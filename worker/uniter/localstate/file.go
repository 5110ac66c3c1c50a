package localstate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"juju/agent/host/atomicfile"
)

// A File stores a State.
type File struct {
	path string
	doc  *atomicfile.Document
	last []byte // its content; nil if unknown
	// secret means that the content of secrets is in the file, or may be.
	secret bool
}

// Open returns the file at path, which need not exist; its directory must.
func Open(path string) *File { return &File{path: path, doc: atomicfile.OpenDocument(path)} }

// Read returns the stored State, or the zero State if there is no file. A file that can't be parsed is an
// error, because treating the unit as new would run its install hook again.
func (f *File) Read() (State, error) {
	content, err := f.doc.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("cannot read the unit's state: %w", err)
	}
	var s State
	decoder := json.NewDecoder(bytes.NewReader(content))
	// Don't silently drop fields that a later version has added.
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return State{}, fmt.Errorf("cannot parse the unit's state in %s: %w", f.path, err)
	}
	f.last, f.secret = content, s.hasSecrets()
	return s, nil
}

// Write stores s durably, unless the file already holds it. Once s has no content of secrets, the file has none either.
func (f *File) Write(s State) error {
	content, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot write the unit's state: %w", err)
	}
	if bytes.Equal(content, f.last) {
		return nil
	}
	secret := s.hasSecrets()
	write := f.doc.Write
	if f.secret && !secret { // Write leaves the content before the last
		write = f.doc.Rewrite
	}
	f.last, f.secret = nil, f.secret || secret
	if err := write(content); err != nil {
		return fmt.Errorf("cannot write the unit's state: %w", err)
	}
	f.last, f.secret = content, secret
	return nil
}
