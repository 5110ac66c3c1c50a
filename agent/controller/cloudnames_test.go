package controller

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"juju/provider"
)

// The controller asks what a cloud's machines are, not what the cloud's name is, except where clouds are registered.
func TestCloudsAreNamedInOnePlace(t *testing.T) {
	t.Parallel()
	if machinesOf[localCloud] != (provider.Machines{ShareHost: true}) || machinesOf[lxdCloud] != (provider.Machines{OwnHost: true}) {
		t.Errorf("the machines of the clouds are %v", machinesOf)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`\b(localCloud|lxdCloud)\b|"local"|"lxd"|\bCloud (==|!=) `)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || slices.Contains([]string{"bootstrap.go", "run.go"}, file) {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := name.FindString(string(text)); found != "" {
			t.Errorf("%s has %s", file, found)
		}
	}
}
