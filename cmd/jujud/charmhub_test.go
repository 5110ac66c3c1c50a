package main

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A charm is published in a directory by commands, which say what they have done, and what is missing.
func TestCharmhubCommands(t *testing.T) {
	dir, charm := filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "web.charm")
	f, err := os.Create(charm)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("metadata.yaml")
	if err == nil {
		_, err = w.Write([]byte("name: web\nsummary: s\ndescription: d\nresources: {page: {type: file, filename: p}}\n"))
	}
	if err != nil || z.Close() != nil || f.Close() != nil {
		t.Fatal("cannot make a charm")
	}
	says := func(code int, want, line string) string {
		t.Helper()
		args := strings.Fields(strings.NewReplacer("DIR", dir, "CHARM", charm).Replace(line))
		var out, errs bytes.Buffer
		cmd := root()
		cmd.SetArgs(append([]string{"charmhub"}, args...))
		cmd.SetOut(&out)
		cmd.SetErr(&errs)
		if got := run(t.Context(), cmd); got != code || !strings.Contains(out.String()+errs.String(), want) {
			t.Errorf("jujud charmhub %s: %d, %q, %q; want %d, %s", line, got, &out, &errs, code, want)
		}
		return out.String()
	}
	says(2, "no --dir given", "")
	says(2, "--cert and --key belong together", "--dir DIR --cert x")
	says(1, "no such file or directory", "upload --dir DIR CHARM") // a mistyped directory is no new store
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	says(2, "no CHARM given", "upload --dir DIR")
	says(2, "either --dir or --url", "upload CHARM")
	says(2, "no --token-file given", "upload --url http://h CHARM")
	says(0, "is revision 1 of charm web, for all@all/all", "upload --dir DIR CHARM")
	says(0, "was already revision 1 of charm web", "upload --dir DIR CHARM --release 2/stable")
	says(0, "is revision 1 of resource page", "upload-resource --dir DIR web page CHARM")
	says(2, "no --revision given", "release --dir DIR web --channel edge")
	says(1, "no channel is named", "release --dir DIR web --revision 1")
	says(2, "expected NAME:REVISION", "release --dir DIR web --revision 1 --channel edge --resource page")
	says(0, "released in 2/edge, 2/beta", "release --dir DIR web --revision 1 --channel 2/edge,2/beta --resource page:1")
	says(0, "channel 2/beta of charm web is closed", "close --dir DIR web 2/beta")
	says(0, "web    1       2/stable  all@all/all  1         -\nweb    1       2/edge    all@all/all  1         page:1\n", "status --dir DIR")
	says(1, "the store has no charm", "status --dir DIR nosuch")
	if token := strings.TrimSpace(says(0, "", "add-token --dir DIR ci")); len(token) < 20 {
		t.Errorf("the token is %q", token)
	}
	says(0, "", "remove-token --dir DIR ci")
	says(1, "there is no token", "remove-token --dir DIR ci")
	says(2, "too many components", "mirror --dir DIR web=a/b/c/d")
	says(1, "not valid", "mirror --dir DIR --from ftp://x web")
	code, stdout, _ := start(t, "charmhub", "--dir", dir, "--listen", "127.0.0.1:0")
	if code != 0 && !strings.Contains(stdout, "serving the charms of") {
		t.Errorf("it ends with %d, and has printed %q", code, stdout)
	}
}
