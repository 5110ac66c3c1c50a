package entity

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for _, test := range []struct {
		text string
		max  int
		want string
	}{
		{"", 0, ""},
		{"whole", 5, "whole"},
		{"too long", 3, "too [5 bytes cut]"},
		{"éé", 3, "é [2 bytes cut]"},
		{"é", 1, " [2 bytes cut]"},
	} {
		if got := Cut(test.text, test.max); got != test.want {
			t.Errorf("Cut(%q, %d) is %q, want %q", test.text, test.max, got, test.want)
		}
	}
}

// An untrusted name is logged shortened, and on one line.
func TestNamed(t *testing.T) {
	for name, want := range map[string]string{
		"user-bob":                "user-bob",
		"a\nERROR all is lost":    `"a\nERROR all is lost"`,
		"\x1b[2J":                 `"\x1b[2J"`,
		"\xff":                    `"\xff"`,
		strings.Repeat("x", 1000): strings.Repeat("x", 100) + " [900 bytes cut]",
	} {
		if got := Named(name); got != want {
			t.Errorf("Named(%q) is %q, want %q", name, got, want)
		}
	}
}
