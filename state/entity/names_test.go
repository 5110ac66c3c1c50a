package entity

import (
	"cmp"
	"strings"
	"testing"
)

// Numbers are ordered by value, and only identical names are equal.
func TestNaturalOrder(t *testing.T) {
	ordered := []string{"", "01", "1", "9", "10", "a", "a/01", "a/1", "a/1/b", "a/2", "a/10", "aa", "b/1"}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := CompareNatural(a, b); cmp.Compare(got, 0) != cmp.Compare(i, j) {
				t.Errorf("CompareNatural(%q, %q) is %d", a, b, got)
			}
		}
	}
}

// Names that could become file names that are too long are rejected.
func TestNamesAreBounded(t *testing.T) {
	for kind, valid := range map[string]func(string) bool{
		"service": IsValidService, "user": IsValidUser, "model": IsValidModel, "pool": IsValidPool, "store": IsValidStore,
	} {
		if !valid(strings.Repeat("a", MaxName)) || valid(strings.Repeat("a", MaxName+1)) {
			t.Errorf("the name of a %s is not bounded by %d", kind, MaxName)
		}
	}
}
