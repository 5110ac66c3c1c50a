package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"juju/agent/host/atomicfile"
)

// cookiesName is the directory with a file of cookies for each controller. This client has no use for cookies, but others
// that read the store open the file, and keep theirs in it.
const cookiesName = "cookies"

// writeCookies makes the files that are missing, and removes those of controllers that are not there any more.
func (s *Store) writeCookies(c *Contents) error {
	dir := filepath.Join(s.dir, cookiesName)
	if len(c.Controllers) > 0 {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	has := map[string]bool{}
	for _, f := range files {
		name, ours := strings.CutSuffix(f.Name(), ".json")
		if has[name] = true; ours && c.Controllers[name] == nil {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	for name := range c.Controllers {
		if !has[name] {
			if err := atomicfile.WriteFile(filepath.Join(dir, name+".json"), []byte("[]\n"), 0o600); err != nil {
				return err
			}
		}
	}
	if len(c.Controllers) == 0 {
		_ = os.Remove(dir) // succeeds only if it is empty
	}
	return nil
}
