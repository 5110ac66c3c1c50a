package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The tests with changed lines are found, and no others: not helpers, and not tests beside the lines.
func TestAlteredTests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a_test.go")
	if err := os.WriteFile(file, []byte(`package a

func TestOne(t *testing.T) {
	one()
}

func one() {
}

func TestTwo(t *testing.T) {
}

func TestThree(t *testing.T) {
	three()
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	changed := changedLines("--- a/a_test.go\n+++ b/a_test.go\n@@ -4 +4 @@ func\n-x\n+\tone()\n@@ -6,0 +7,2 @@\n+func one() {\n+}\n" +
		"@@ -14,2 +13,0 @@\n-gone\n-gone\n")
	names, err := testsAt(file, changed["a_test.go"])
	if want := []string{"TestOne", "TestThree"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v; want %q", names, err, want)
	}
}
