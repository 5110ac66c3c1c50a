// Site writes the documents as web pages that open without a server: README.md, CHANGELOG.md and the Markdown in doc.
//
//	go run ./doc/tools/site [-root DIR] [-out DIR]
//
// `make site` calls it. A link to a page, heading or file that does not exist is an error, and so is a page that no group of
// nav.go has. Files of the repository that pages link to are pages too.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", ".", "the root of the repository")
	out := flag.String("out", "bin/site", "the directory to write, which is emptied first")
	flag.Parse()
	files, err := build(os.DirFS(*root))
	if err == nil {
		err = write(*out, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files are in %s. To read: %s\n", len(files), *out, filepath.Join(*out, home))
}

// write writes files, by their paths in dir. What dir had is removed, if it is a site.
func write(dir string, files map[string][]byte) error {
	if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
		if _, err := os.Stat(filepath.Join(dir, home)); err != nil {
			return fmt.Errorf("%s has other files than a site: name another directory with -out", dir)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
