package entity

import (
	"strings"
	"testing"
)

// Names that, with what is added to them, are too long for a file system are refused.
func TestNamesAreBounded(t *testing.T) {
	for kind, valid := range map[string]func(string) bool{
		"service": IsValidService, "user": IsValidUser, "model": IsValidModel, "pool": IsValidPool, "store": IsValidStore,
	} {
		if !valid(strings.Repeat("a", MaxName)) || valid(strings.Repeat("a", MaxName+1)) {
			t.Errorf("the name of a %s is not bounded by %d", kind, MaxName)
		}
	}
}
