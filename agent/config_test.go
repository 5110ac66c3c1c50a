package agent

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"

	"juju/state/entity"
)

// An agent reads the configuration that was written for it, whatever is in it.
func TestConfigSurvives(t *testing.T) {
	tag, err := entity.ParseTag("unit-web-0")
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Tag: tag, Password: "\n secret: #\u2028", Model: "0x1F", ModelName: "yes", Addresses: []string{" \n[::1]:1", "\n\nx"},
		CACert: "-----BEGIN\nx\n", LogDir: "\xff/", OwnHost: true}
	dir := t.TempDir()
	if err := want.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := ReadConfig(dir)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestBuiltFrom(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	clean := debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	for _, test := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, ""},
		{[]debug.BuildSetting{modified}, ""},
		{[]debug.BuildSetting{revision, clean}, "0123456789ab"},
		{[]debug.BuildSetting{modified, revision}, "0123456789ab-dirty"},
	} {
		if got := builtFrom(test.settings); got != test.want {
			t.Errorf("%v: %q, want %q", test.settings, got, test.want)
		}
	}
}
