package sshkey

import (
	"errors"
	"strings"
	"testing"

	"juju/state/entity"
)

const (
	alice = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINVriTYChZqsDbV/KdI1eMrglPcVX51CdX77Ez+epq0o alice@laptop"
	bob   = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICSGFFbRVhso0UK0uny8QifL916FipVSDrv6VCXl2bTi bob"
)

func TestParse(t *testing.T) {
	key, err := Parse("  " + strings.Replace(alice, " alice", "   alice", 1) + " \n")
	want := Key{alice, "SHA256:C1lpG5gWOORSjq3S777ekZh9wRXNWAXVI+d1OeXeBB0", "35:06:f6:62:96:9a:59:7b:0d:00:dc:46:76:51:11:ac", "alice@laptop"}
	if err != nil || key != want {
		t.Errorf("got %+v, %v, want %+v", key, err, want)
	}
	if more, err := Parse("\n# mine\n" + alice + "\r\n\n  # of the laptop\n"); err != nil || more != key {
		t.Errorf("with blank lines and comments it is %+v, %v", more, err)
	}
	for id, is := range map[string]bool{want.Fingerprint: true, want.Legacy: true, "alice@laptop": true, "": false,
		"alice": false, alice: true, strings.Join(strings.Fields(alice)[:2], " "): true, bob: false} {
		if key.Is(id) != is {
			t.Errorf("%q names the key: %v", id, !is)
		}
	}
	if key, err := Parse(strings.Join(strings.Fields(bob)[:2], " ")); err != nil || key.Comment != "" || key.Is("") {
		t.Errorf("without a comment: %+v, %v", key, err)
	}
	for _, line := range []string{"", "ssh-ed25519", "ssh-ed25519 AAAA x", alice + "\n" + bob, "# " + alice,
		`command="reboot" ` + alice, alice + "\x1b[2J", alice + "\u202e", alice + "\x1b[2J", alice + "\u202e", "cert-authority " + alice} {
		if key, err := Parse(line); !errors.Is(err, entity.Invalid) {
			t.Errorf("%q: %+v, %v", line, key, err)
		}
	}
}

func TestParseAll(t *testing.T) {
	all, err := ParseAll("# mine\n\n" + alice + "\r\n  " + bob + "\n")
	if err != nil || len(all) != 2 || Join(all) != alice+"\n"+bob {
		t.Errorf("got %+v, %v", all, err)
	}
	if all, err := ParseAll(" \n"); err != nil || len(all) != 0 || Join(all) != "" {
		t.Errorf("blank lines: %+v, %v", all, err)
	}
	for _, text := range []string{alice + "\nx", strings.Repeat("a", 2<<20)} {
		if _, err := ParseAll(text); !errors.Is(err, entity.Invalid) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func FuzzParseAll(f *testing.F) {
	f.Add(alice + "\n" + bob)
	f.Add("# x\n" + alice)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseAll(text)
		if err != nil {
			return
		}
		again, err := ParseAll(Join(all))
		if err != nil || Join(again) != Join(all) {
			t.Errorf("%q is parsed again as %q (%v)", Join(all), Join(again), err)
		}
		for _, key := range all {
			if strings.ContainsAny(key.Line, "\n\r") {
				t.Errorf("%q has two lines", key.Line)
			}
		}
	})
}
