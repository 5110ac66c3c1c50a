package backups

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"juju/agent/backup"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A passphrase says where the passphrase of a backup comes from.
type passphrase struct {
	*cli.Session
	file string
}

func (p *passphrase) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "passphrase-file", "",
		"a `FILE` whose first line is the passphrase; by default, the command prompts for it")
}

// maxPassphrase is the maximum size of a file with a passphrase.
const maxPassphrase = 64 << 10

// given returns the passphrase in the file, "" without one.
func (p *passphrase) given() (string, error) {
	if p.file == "" {
		return "", nil
	}
	text, err := cli.ReadWhole(p.file, maxPassphrase)
	if err != nil {
		return "", fmt.Errorf("cannot read the passphrase: %w", err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line = strings.TrimRight(line, "\r"); line == "" {
		return "", fmt.Errorf("cannot read the passphrase: the first line of %s is empty", p.file)
	}
	return line, nil
}

// new returns the passphrase of a new backup.
func (p *passphrase) new(ctx context.Context) (string, error) {
	if text, err := p.given(); text != "" || err != nil {
		return text, err
	}
	text, err := p.NewPassword(ctx, "passphrase of the backup: ", "the same again: ")
	if err != nil {
		return "", entity.WithHint(fmt.Errorf("cannot encrypt the backup: %w", err),
			"To read the passphrase from a file: --passphrase-file FILE; to store everything readable: --plain")
	}
	return text, nil
}

// oneFile checks that there is one argument, a file.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cli.WithHelp(cmd, cli.Usagef("no file specified"))
	}
	return cli.AtMost(1)(cmd, args)
}

// isEncrypted is how an encrypted file begins.
const isEncrypted = "age-encryption.org/"

// seal returns a writer that encrypts to w. It must be closed.
func seal(w io.Writer, passphrase string) (io.WriteCloser, error) {
	to, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, fmt.Errorf("cannot encrypt the backup: %w", err)
	}
	return age.Encrypt(w, to)
}

// A file is a backup in a file. It may be read several times.
type file struct {
	*os.File
	passphrase string // "" if it is not encrypted
}

// open opens a backup, and asks for its passphrase if it needs one.
func (p *passphrase) open(ctx context.Context, path string) (*file, error) {
	f, err := cli.OpenFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the backup: %w", err)
	}
	start := make([]byte, len(isEncrypted))
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, fmt.Errorf("cannot read the backup: %w", err)
	}
	b := &file{File: f}
	if !bytes.Equal(start[:n], []byte(isEncrypted)) {
		return b, nil
	}
	if b.passphrase, err = p.given(); b.passphrase == "" && err == nil {
		b.passphrase, err = p.AskSecret(ctx, "passphrase of the backup: ")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return b, nil
}

// plain returns the decrypted contents, from the start.
func (f *file) plain() (io.Reader, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("cannot read the backup: %w", err)
	}
	if f.passphrase == "" {
		return bufio.NewReader(f.File), nil
	}
	from, err := age.NewScryptIdentity(f.passphrase)
	if err != nil {
		return nil, fmt.Errorf("cannot decrypt the backup: %w", err)
	}
	r, err := age.Decrypt(bufio.NewReader(f.File), from)
	var wrong *age.NoIdentityMatchError
	if errors.As(err, &wrong) {
		return nil, entity.Errorf(entity.Unauthorized, "cannot decrypt the backup: the passphrase is wrong")
	}
	if err != nil {
		return nil, entity.Errorf(entity.Invalid, "cannot decrypt the backup: it is damaged: %w", err)
	}
	return r, nil
}

// verify reads the whole backup, and returns its description.
func (f *file) verify(ctx context.Context) (m backup.Manifest, err error) {
	r, err := f.plain()
	if err != nil {
		return m, err
	}
	m, err = backup.Verify(ctx, r)
	if err == nil {
		return m, nil
	}
	if f.passphrase != "" && entity.KindOf(err) == "" && ctx.Err() == nil {
		err = entity.Errorf(entity.Invalid, "it is damaged: %w", err) // decryption noticed it
	}
	return m, fmt.Errorf("cannot read %s: %w", f.Name(), err)
}
