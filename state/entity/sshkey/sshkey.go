// Package sshkey reads public keys of SSH, as files authorized_keys and id_*.pub have them.
package sshkey

import (
	"bufio"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"

	"juju/state/entity"
)

// A Key is a public key.
type Key struct {
	Line        string // type, key and comment, in one line
	Fingerprint string // "SHA256:…"
	Legacy      string // the older form of the fingerprint, "ab:cd:…"
	Comment     string
}

// Parse reads one key. The error is Invalid if the line is none, or has options, which could make a
// machine run commands.
func Parse(line string) (Key, error) {
	public, comment, options, rest, err := ssh.ParseAuthorizedKey([]byte(line))
	switch {
	case err != nil, len(rest) > 0:
		return Key{}, entity.Errorf(entity.Invalid, "invalid ssh key: %s", shorten(line))
	case strings.ContainsFunc(comment, unprintable):
		return Key{}, entity.Errorf(entity.Invalid, "invalid ssh key: %q: its comment cannot be printed", shorten(line))
	case len(options) > 0:
		return Key{}, entity.Errorf(entity.Invalid, "invalid ssh key: %s: it has options", shorten(line))
	}
	text := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
	if comment = strings.Join(strings.Fields(comment), " "); comment != "" {
		text += " " + comment
	}
	return Key{text, ssh.FingerprintSHA256(public), ssh.FingerprintLegacyMD5(public), comment}, nil
}

// unprintable reports whether a character can have an effect on a terminal or an editor.
func unprintable(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }

// ParseAll reads the keys of a text, one a line. Blank lines and comments are skipped.
func ParseAll(text string) ([]Key, error) {
	var all []Key
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := Parse(line)
		if err != nil {
			return nil, err
		}
		all = append(all, key)
	}
	if err := lines.Err(); err != nil {
		return nil, entity.Errorf(entity.Invalid, "invalid ssh keys: %w", err)
	}
	return all, nil
}

// Join returns the text of keys, one a line.
func Join(all []Key) string {
	lines := make([]string, len(all))
	for i, k := range all {
		lines[i] = k.Line
	}
	return strings.Join(lines, "\n")
}

// Is reports whether id names the key: by a fingerprint, or by the whole comment.
func (k Key) Is(id string) bool {
	return id == k.Fingerprint || id == k.Legacy || id != "" && id == k.Comment
}

// shorten returns the beginning of a line, for errors.
func shorten(line string) string { return entity.Cut(strings.TrimSpace(line), 60) }
