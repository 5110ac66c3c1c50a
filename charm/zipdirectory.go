package charm

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// maxDirectory bounds an archive's directory, in bytes. It suffices for as many files as a
// charm may have, with names of 300 bytes.
const maxDirectory = 16 << 20

// The records of a zip file that list its content; see APPNOTE.TXT 4.3.12 to 4.3.16.
const (
	entrySignature     = "PK\x01\x02"
	endSignature       = "PK\x05\x06"
	end64Signature     = "PK\x06\x06"
	locator64Signature = "PK\x06\x07"

	entryLen     = 46 // without name, extra field and comment
	endLen       = 22 // without comment
	end64Len     = 56
	locator64Len = 20
)

// boundDirectory refuses an archive whose directory is larger than a charm's may be. Package
// zip reads the whole directory into memory, however many entries it has and whatever number it
// states. So this counts the entries first, one at a time, where package zip would read them.
func boundDirectory(r io.ReaderAt, size int64, l limits) error {
	entries, starts, err := findDirectory(r, size)
	if err == nil && entries > uint64(l.entries) {
		err = tooManyFiles(l)
	}
	for _, start := range starts {
		if err == nil {
			err = countEntries(r, size, start, l)
		}
	}
	return err
}

func tooManyFiles(l limits) error { return invalidf("charm contains more than %d files", l.entries) }

// countEntries counts the entries of a directory, one after another.
func countEntries(r io.ReaderAt, size, start int64, l limits) error {
	entry := make([]byte, entryLen)
	at := start
	for count := 0; ; count++ {
		if err := readAt(r, size, entry, at); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if string(entry[:4]) != entrySignature {
			return nil
		}
		if count == l.entries {
			return tooManyFiles(l)
		}
		for _, field := range []int{28, 30, 32} { // the lengths of name, extra field and comment
			at += int64(binary.LittleEndian.Uint16(entry[field:]))
		}
		if at += entryLen; at-start > maxDirectory {
			return invalidf("directory of the archive is larger than %d bytes", maxDirectory)
		}
	}
}

// findDirectory finds a directory where package zip does: by the last end record, or by that of
// zip64 if a number does not fit into the last one. It returns the stated number of entries,
// and where they may begin: just before the end record, or at the stated offset, which differs
// if the archive follows other content. Package zip uses the second if it can read an entry
// there.
func findDirectory(r io.ReaderAt, size int64) (entries uint64, starts []int64, err error) {
	record, at, err := lastEnd(r, size)
	if err != nil {
		return 0, nil, err
	}
	entries = uint64(binary.LittleEndian.Uint16(record[10:]))
	length := uint64(binary.LittleEndian.Uint32(record[12:]))
	offset := uint64(binary.LittleEndian.Uint32(record[16:]))
	if entries == 0xffff || length == 0xffff || offset == 0xffffffff {
		at64, err := findEnd64(r, size, at)
		if err != nil {
			return 0, nil, err
		}
		if at64 >= 0 {
			record := make([]byte, end64Len)
			if err := readAt(r, size, record, at64); err != nil {
				return 0, nil, err
			}
			if string(record[:4]) != end64Signature {
				return 0, nil, zip.ErrFormat
			}
			at = at64
			entries = binary.LittleEndian.Uint64(record[32:])
			length = binary.LittleEndian.Uint64(record[40:])
			offset = binary.LittleEndian.Uint64(record[48:])
		}
	}
	if length > uint64(at) {
		return 0, nil, zip.ErrFormat
	}
	return entries, []int64{at - int64(length), int64(min(offset, uint64(size)))}, nil
}

// lastEnd returns the last end record and its offset. A comment may follow it.
func lastEnd(r io.ReaderAt, size int64) (record []byte, at int64, err error) {
	for _, length := range []int64{1 << 10, 65 << 10} {
		tail := make([]byte, min(length, size))
		if err := readAt(r, size, tail, size-int64(len(tail))); err != nil {
			return nil, 0, err
		}
		for end := len(tail); ; {
			i := bytes.LastIndex(tail[:end], []byte(endSignature))
			if i < 0 {
				break
			}
			if i+endLen <= len(tail) {
				if i+endLen+int(binary.LittleEndian.Uint16(tail[i+20:])) > len(tail) {
					return nil, 0, zip.ErrFormat // the file ends inside its comment
				}
				return tail[i:], size - int64(len(tail)-i), nil
			}
			end = i + len(endSignature) - 1
		}
	}
	return nil, 0, zip.ErrFormat
}

// findEnd64 returns the offset of the zip64 end record, or -1.
func findEnd64(r io.ReaderAt, size, end int64) (int64, error) {
	if end < locator64Len {
		return -1, nil
	}
	locator := make([]byte, locator64Len)
	if err := readAt(r, size, locator, end-locator64Len); err != nil {
		return -1, err
	}
	if string(locator[:4]) != locator64Signature || binary.LittleEndian.Uint32(locator[4:]) != 0 ||
		binary.LittleEndian.Uint32(locator[16:]) != 1 {
		return -1, nil
	}
	return int64(binary.LittleEndian.Uint64(locator[8:])), nil
}

// readAt fills p, and returns io.EOF if the file ends before.
func readAt(r io.ReaderAt, size int64, p []byte, at int64) error {
	if at < 0 || at > size-int64(len(p)) {
		return io.EOF
	}
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil // even with io.EOF, at the very end
	}
	return err
}
