package main

import (
	"html"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// addFile adds the page of a file of the repository; or that of a directory, with those of all files in it.
func (s *site) addFile(name string) error {
	if _, done := s.files[filePath(name)]; done {
		return nil
	}
	info, err := fs.Stat(s.root, name)
	if err != nil {
		return err
	}
	at := filePath(name)
	if info.IsDir() {
		return s.addDirectory(name)
	}
	text, err := fs.ReadFile(s.root, name)
	if err != nil {
		return err
	}
	s.files[path.Join("files", name+".txt")] = text // not .go: the site is within the module
	base := html.EscapeString(path.Base(name))
	body := `<h1 class="file">` + html.EscapeString(name) + `</h1><p><a download="` + base + `" href="` + base +
		`.txt">Download</a></p><pre tabindex="0"><code>` + html.EscapeString(string(text)) + "</code></pre>"
	return s.render(at, view{Title: name, Body: body})
}

// addDirectory adds a page that lists the text files of a directory, and theirs. Programs that are built there are left out.
func (s *site) addDirectory(name string) error {
	var list strings.Builder
	err := fs.WalkDir(s.root, name, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains([]string{"bin", ".git"}, e.Name()):
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		if text, err := fs.ReadFile(s.root, file); err != nil || !utf8.Valid(text) {
			return err
		}
		to := up(filePath(name)) + filePath(file)
		list.WriteString(`<li><a href="` + html.EscapeString(to) + `">` +
			html.EscapeString(strings.TrimPrefix(file, name+"/")) + "</a>")
		return s.addFile(file)
	})
	if err != nil {
		return err
	}
	body := `<h1 class="file">` + html.EscapeString(name) + "</h1><ul>" + list.String() + "</ul>"
	return s.render(filePath(name), view{Title: name, Body: body})
}
