package charmdir

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"

	"juju/agent/host/atomicfile"
)

// A packfile writes a git packfile. It becomes part of the repository when it is finished.
type packfile struct {
	file    *os.File
	out     *bufio.Writer
	deflate *zlib.Writer
	at      int64 // bytes written to out
	index   idxfile.Writer
	has     map[plumbing.Hash]bool
	durable bool // finish must sync it to disk
}

// packHeader is the length of the header.
const packHeader = 12

// newPackfile starts a packfile for the repository in dir.
func newPackfile(dir string) (*packfile, error) {
	dir = filepath.Join(dir, gitDir, "objects", "pack")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "tmp_pack_*") // a name that git gc removes
	if err != nil {
		return nil, err
	}
	p := &packfile{file: file, out: bufio.NewWriterSize(file, 1<<18), has: map[plumbing.Hash]bool{}}
	// The directory is on the unit's own disk, so speed matters more than size.
	if p.deflate, err = zlib.NewWriterLevel(nil, zlib.BestSpeed); err == nil {
		_, err = p.Write(make([]byte, packHeader)) // finish fills it in
	}
	if err != nil {
		p.close()
	}
	return p, err
}

// Write writes to the pack.
func (p *packfile) Write(b []byte) (int, error) {
	n, err := p.out.Write(b)
	p.at += int64(n)
	return n, err
}

// add adds an object.
func (p *packfile) add(o plumbing.EncodedObject) error {
	if p.has[o.Hash()] {
		return nil
	}
	at, crc := p.at, crc32.NewIEEE()
	w := io.MultiWriter(p, crc)
	if _, err := w.Write(objectHeader(o.Type(), o.Size())); err != nil {
		return err
	}
	p.deflate.Reset(w)
	r, err := o.Reader()
	if err == nil {
		_, err = io.Copy(p.deflate, r)
	}
	if err == nil {
		err = p.deflate.Close()
	}
	if err != nil {
		return err
	}
	p.has[o.Hash()] = true
	p.index.Add(o.Hash(), uint64(at), crc.Sum32())
	return nil
}

// objectHeader encodes the type and length of an object in a pack: four bits of the length in the first byte,
// seven in each that follows. The eighth bit means that another byte follows.
func objectHeader(kind plumbing.ObjectType, length int64) []byte {
	header := []byte{byte(kind)<<4 | byte(length&0x0f)}
	for length >>= 4; length > 0; length >>= 7 {
		header[len(header)-1] |= 0x80
		header = append(header, byte(length&0x7f))
	}
	return header
}

// packLoose moves the loose objects of the repository in dir into a packfile.
func packLoose(dir string) error {
	repo, err := openRepository(dir)
	if err != nil {
		return err
	}
	p, err := newPackfile(dir)
	if err != nil {
		return err
	}
	defer p.close()
	err = repo.ForEachObjectHash(func(hash plumbing.Hash) error {
		stored, err := repo.EncodedObject(plumbing.AnyObject, hash)
		if err != nil {
			return err
		}
		return p.add(stored)
	})
	if err != nil || len(p.has) == 0 {
		return err
	}
	p.durable = true // because the loose copies are deleted
	if err := p.finish(); err != nil {
		return err
	}
	for hash := range p.has {
		if err := repo.DeleteLooseObject(hash); err != nil {
			return err
		}
	}
	return nil
}

// finish completes the pack and adds it to the repository.
func (p *packfile) finish() error {
	if err := p.out.Flush(); err != nil {
		return err
	}
	header := binary.BigEndian.AppendUint32([]byte("PACK"), 2) // the version
	header = binary.BigEndian.AppendUint32(header, uint32(len(p.has)))
	if _, err := p.file.WriteAt(header, 0); err != nil {
		return err
	}
	sum := sha1.New()
	if _, err := io.Copy(sum, io.NewSectionReader(p.file, 0, p.at)); err != nil {
		return err
	}
	var name plumbing.Hash
	sum.Sum(name[:0])
	if _, err := p.file.Write(name[:]); err != nil {
		return err
	}
	final := filepath.Join(filepath.Dir(p.file.Name()), "pack-"+name.String())
	// The index comes first: go-git can't use a repository that has a pack without one.
	if err := p.writeIndex(name, final+".idx"); err != nil {
		return err
	}
	if err := p.file.Chmod(0o444); err != nil {
		return err
	}
	if !p.durable {
		return os.Rename(p.file.Name(), final+".pack")
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), final+".pack"); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(final))
}

// writeIndex writes the index of the pack with the given checksum.
func (p *packfile) writeIndex(sum plumbing.Hash, path string) error {
	if err := p.index.OnFooter(sum); err != nil {
		return err
	}
	index, err := p.index.Index()
	if err != nil {
		return err
	}
	var encoded bytes.Buffer
	if _, err := idxfile.NewEncoder(&encoded).Encode(index); err != nil {
		return err
	}
	if p.durable {
		return atomicfile.WriteFile(path, encoded.Bytes(), 0o600)
	}
	return os.WriteFile(path, encoded.Bytes(), 0o444)
}

// close closes the file, and removes it if it was not finished.
func (p *packfile) close() {
	p.file.Close()
	os.Remove(p.file.Name())
}
