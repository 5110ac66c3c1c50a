package sealing

import (
	"fmt"
	"strings"
	"testing"
)

// What is sealed opens with the same key and name only, and not once a bit of it has changed.
func TestSeal(t *testing.T) {
	key := New()
	sealed := key.Seal("a", []byte("pass"))
	if text, err := key.Open("a", sealed); err != nil || string(text) != "pass" {
		t.Fatalf("opened %q, %v", text, err)
	}
	if strings.Contains(string(sealed), "pass") {
		t.Error("the text is in what was sealed")
	}
	if again := key.Seal("a", []byte("pass")); string(again) == string(sealed) {
		t.Error("the same text is sealed alike")
	}
	for what, err := range map[string]error{
		"another name": second(key.Open("b", sealed)),
		"another key":  second(New().Open("a", sealed)),
		"cut off":      second(key.Open("a", sealed[:10])),
		"nothing":      second(key.Open("a", nil)),
	} {
		if err == nil {
			t.Errorf("%s opens it", what)
		}
	}
	for i := range sealed {
		sealed[i] ^= 1
		if _, err := key.Open("a", sealed); err == nil {
			t.Errorf("opened although byte %d has changed", i)
		}
		sealed[i] ^= 1
	}
}

func second(_ []byte, err error) error { return err }

// A key is read back from its text, and neither printing it nor an error shows it.
func TestText(t *testing.T) {
	key := New()
	again, err := Parse(key.Text())
	if err != nil || again.ID() != key.ID() {
		t.Fatalf("read back %v, %v", again, err)
	}
	inner := strings.TrimSpace(strings.TrimPrefix(key.Text(), header))
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if text := fmt.Sprintf(format, key); strings.Contains(text, inner) || text != "key "+key.ID() {
			t.Errorf("%s prints %q", format, text)
		}
	}
	for _, bad := range []string{"", inner, header, header + inner[:20], header + inner + inner} {
		if _, err := Parse(bad); err == nil || strings.Contains(err.Error(), inner[:20]) {
			t.Errorf("parsing %q: %v", bad, err)
		}
	}
}

// A derived key is always the same for a secret and a name, and no other's.
func TestDerive(t *testing.T) {
	a := Derive("secret", "a")
	if a.Text() != Derive("secret", "a").Text() || a.ID() == Derive("secret", "b").ID() || a.ID() == Derive("secrets", "a").ID() {
		t.Error("a key is not that of its secret and name")
	}
	if text, err := a.Open("x", Derive("secret", "a").Seal("x", []byte("text"))); err != nil || string(text) != "text" {
		t.Errorf("got %q and error %v", text, err)
	}
}
