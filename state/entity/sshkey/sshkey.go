// Package sshkey parses SSH public keys in the format of authorized_keys and id_*.pub files.
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
	Line        string // type, key and comment
	Fingerprint string // "SHA256:…"
	Legacy      string // the older form of the fingerprint, "ab:cd:…"
	Comment     string
}

// Parse parses one key, with which blank lines and comments may come, as in a file. The error is Invalid if the line is not a
// key, or has options, because those could make a machine run commands.
func Parse(line string) (Key, error) {
	public, comment, options, rest, err := ssh.ParseAuthorizedKey([]byte(line))
	switch {
	case strings.TrimSpace(line) == "":
		return Key{}, entity.Errorf(entity.Invalid, "invalid ssh key: it is empty")
	case err != nil, !isBlank(string(rest)):
		return Key{}, entity.Errorf(entity.Invalid, "invalid ssh key: %s", shorten(line))
	case strings.ContainsFunc(comment, unprintable):
		return Key{}, entity.Errorf(entity.Invalid, "invalid ssh key: %q: the comment has unprintable characters", shorten(line))
	case len(options) > 0:
		return Key{}, entity.Errorf(entity.Invalid, "invalid ssh key: %s: options are not allowed", shorten(line))
	}
	text := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
	if comment = strings.Join(strings.Fields(comment), " "); comment != "" {
		text += " " + comment
	}
	return Key{text, ssh.FingerprintSHA256(public), ssh.FingerprintLegacyMD5(public), comment}, nil
}

// isBlank reports whether a text is only blank lines and comments.
func isBlank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// unprintable reports whether a character could affect a terminal or an editor.
func unprintable(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }

// ParseAll parses a text with one key per line. It skips blank lines and comments.
func ParseAll(text string) ([]Key, error) {
	var all []Key
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if isBlank(line) {
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

// Join returns a text with one key per line.
func Join(all []Key) string {
	lines := make([]string, len(all))
	for i, k := range all {
		lines[i] = k.Line
	}
	return strings.Join(lines, "\n")
}

// Is reports whether id names the key: by a fingerprint, by the whole comment, or by the key itself with any comment.
func (k Key) Is(id string) bool {
	if id == k.Fingerprint || id == k.Legacy || id != "" && id == k.Comment {
		return true
	}
	key, err := Parse(id)
	return err == nil && key.Fingerprint == k.Fingerprint
}

// shorten cuts a line for use in errors.
func shorten(line string) string { return entity.Cut(strings.TrimSpace(line), 60) }
