package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

//go:embed page.html site.css search.js
var assets embed.FS

var layout = template.Must(template.ParseFS(assets, "page.html"))

// A site is what is built from the documents below root.
type site struct {
	root    fs.FS
	links   *linker
	files   map[string][]byte // by path
	entries []entry
}

// An entry is what search finds: the text below a heading.
type entry struct {
	URL     string `json:"u"`
	Title   string `json:"t"`
	Heading string `json:"h,omitempty"`
	Text    string `json:"x"`
	Weight  int    `json:"w"`
}

// A view is what the layout shows of a page.
type view struct {
	Title    string
	Body     string
	Source   string    // the document; "" for a file of the repository
	Headings []heading // of the contents list
	Search   bool      // the page has the results of a search

	Up  string
	Nav []navGroup
}

// HTML returns the body, which is written by goldmark or escaped.
func (v view) HTML() template.HTML { return template.HTML(v.Body) }

type navGroup struct {
	Title string
	Items []navItem
}

type navItem struct {
	URL, Title string
	Here       bool
}

// build returns the files of the site, by path.
func build(root fs.FS) (map[string][]byte, error) {
	pages, err := readPages(root)
	if err != nil {
		return nil, err
	}
	s := &site{root: root, links: newLinker(root, pages), files: map[string][]byte{}}
	wrong := s.checkNavigation(pages)
	for _, p := range pages {
		wrong = append(wrong, s.links.page(p))
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	for _, p := range pages {
		if err := s.add(p); err != nil {
			return nil, fmt.Errorf("%s: %w", p.source, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.links.files)) {
		if err := s.addFile(name); err != nil {
			return nil, err
		}
	}
	for name := range s.links.images {
		if s.files[name], err = fs.ReadFile(root, name); err != nil {
			return nil, err
		}
	}
	return s.files, s.addSearch()
}

// checkNavigation returns what is wrong with it: documents that are not there, and those that it lacks.
func (s *site) checkNavigation(pages []*page) (wrong []error) {
	has := map[string]bool{}
	for _, g := range navigation {
		for _, i := range g.Items {
			source, _, _ := strings.Cut(i.Source, "#")
			has[source] = true
			if _, err := s.links.resolve("", i.Source); err != nil {
				wrong = append(wrong, fmt.Errorf("the navigation links to %s: %w", i.Source, err))
			}
		}
	}
	for _, p := range pages {
		if !has[p.source] {
			wrong = append(wrong, fmt.Errorf("%s is in no group of doc/tools/site/nav.go", p.source))
			has[p.source] = true
		}
	}
	return wrong
}

// add adds a document's page, and its entries of the search.
func (s *site) add(p *page) error {
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.text, p.doc); err != nil {
		return err
	}
	body := strings.ReplaceAll(b.String(), "<table>", `<div class="table" tabindex="0"><table>`)
	body = strings.ReplaceAll(body, "</table>", "</table></div>")
	weight := 1
	for _, g := range navigation[:forUsers] {
		if slices.ContainsFunc(g.Items, func(i item) bool { return i.Source == p.source }) {
			weight = 2
		}
	}
	e := entry{URL: p.path, Title: p.title, Weight: weight}
	flush := func() {
		e.Text = strings.Join(strings.Fields(e.Text), " ")
		s.entries = append(s.entries, e)
	}
	for n := p.doc.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		switch {
		case !ok:
			e.Text += p.textOf(n) + " "
		case h.Level > 1:
			flush()
			id, _ := h.AttributeString("id")
			e = entry{URL: p.path + "#" + string(id.([]byte)), Title: p.title, Heading: p.textOf(h), Weight: weight}
		}
	}
	flush()
	inner := slices.DeleteFunc(slices.Clone(p.headings), func(h heading) bool { return h.Level == 1 || h.Level > 3 })
	return s.render(p.path, view{Title: p.title, Body: body, Source: p.source, Headings: inner})
}

// addSearch adds the page of the search, with what it searches, and the files that all pages use.
func (s *site) addSearch() error {
	for _, name := range []string{"site.css", "search.js"} {
		text, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		s.files[name] = text
	}
	// A script and not JSON: pages that were opened without a server may not fetch files.
	text, err := json.Marshal(s.entries)
	if err != nil {
		return err
	}
	s.files["search-data.js"] = append(append([]byte("const entries = "), text...), ";\n"...)
	return s.render("search.html", view{Title: "Search", Search: true})
}

// render adds a page.
func (s *site) render(at string, v view) error {
	v.Up = up(at)
	for _, g := range navigation {
		shown := navGroup{Title: g.Title}
		for _, i := range g.Items {
			url, err := s.links.resolve("", i.Source)
			if err != nil {
				return err
			}
			shown.Items = append(shown.Items, navItem{v.Up + url, i.Title, i.Source == v.Source})
		}
		v.Nav = append(v.Nav, shown)
	}
	var b bytes.Buffer
	if err := layout.Execute(&b, v); err != nil {
		return err
	}
	s.files[at] = b.Bytes()
	return nil
}
