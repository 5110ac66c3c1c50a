package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// elsewhere matches links that lead out of the repository.
var elsewhere = regexp.MustCompile(`^(https?://|mailto:)`)

// A linker turns links between documents into links between pages.
type linker struct {
	root    fs.FS
	anchors map[string]map[string]string // document → heading, or "" → path of the page and #heading
	titles  map[string]string            // of documents
	files   map[string]bool              // of the repository that pages link to
	images  map[string]bool              // that pages show
}

func newLinker(root fs.FS, pages []*page) *linker {
	l := &linker{root, map[string]map[string]string{}, map[string]string{}, map[string]bool{}, map[string]bool{}}
	for _, p := range pages {
		its := l.anchors[p.source]
		if its == nil { // the first part of a split document is the whole
			its = map[string]string{"": p.path}
			l.anchors[p.source], l.titles[p.source] = its, p.title
		}
		for i, h := range p.headings {
			switch _, taken := its[h.ID]; {
			case taken:
			case i == 0:
				its[h.ID] = p.path
			default:
				its[h.ID] = p.path + "#" + h.ID
			}
		}
	}
	return l
}

// page changes all links of a page.
func (l *linker) page(p *page) error {
	var wrong []error
	err := ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			to := string(link.Destination)
			url, err := l.resolve(p.source, to)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s links to %s: %w", p.source, to, err))
				return ast.WalkContinue, nil
			}
			if title := l.titles[path.Join(path.Dir(p.source), to)]; title != "" && p.textOf(link) == to {
				link.RemoveChildren(link)
				link.AppendChild(link, ast.NewString([]byte(title)))
			}
			if !elsewhere.MatchString(url) {
				url = up(p.path) + url
			}
			link.Destination = []byte(url)
		}
		if image, ok := n.(*ast.Image); ok && entering {
			file := path.Join(path.Dir(p.source), string(image.Destination))
			if _, err := fs.Stat(l.root, file); err != nil {
				wrong = append(wrong, fmt.Errorf("%s shows %s: %w", p.source, image.Destination, err))
				return ast.WalkContinue, nil
			}
			l.images[file] = true
			image.Destination = []byte(up(p.path) + file)
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(append(wrong, err)...)
}

// resolve returns where a link of a document leads: the path of a page, with its heading, or a URL elsewhere.
func (l *linker) resolve(source, to string) (string, error) {
	if elsewhere.MatchString(to) {
		return to, nil
	}
	file, anchor, _ := strings.Cut(to, "#")
	target := source
	if file != "" {
		target = path.Join(path.Dir(source), file)
	}
	if anchors, ok := l.anchors[target]; ok {
		if url, ok := anchors[anchor]; ok {
			return url, nil
		}
		return "", fmt.Errorf("%s has no heading #%s", target, anchor)
	}
	if _, err := fs.Stat(l.root, target); err != nil {
		return "", err
	}
	l.files[target] = true
	return filePath(target), nil
}

// filePath returns the path of the page of a file or directory of the repository.
func filePath(file string) string { return path.Join("files", file+".html") }
