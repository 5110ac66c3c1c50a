package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// home is the path of the page of README.md.
const home = "index.html"

// A page is a document, or a part of one that is split.
type page struct {
	source   string // the document, as doc/cli.md
	path     string // of the page, below the site's root
	title    string
	text     []byte
	doc      ast.Node
	headings []heading
}

// A heading is one that links can lead to.
type heading struct {
	Level    int
	ID, Text string
}

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(codeRenderer{}, 1))),
)

// readPages reads all documents.
func readPages(root fs.FS) (pages []*page, err error) {
	sources := []string{"README.md", "CHANGELOG.md"}
	for _, pattern := range []string{"doc/*.md", "doc/*/*.md"} {
		found, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		sources = append(sources, found...)
	}
	for _, source := range sources {
		text, err := fs.ReadFile(root, source)
		if err != nil {
			return nil, err
		}
		parts := []string{string(text)}
		if split[source] {
			parts = strings.Split(string(text), "\n## ")
		}
		for i, part := range parts {
			p := &page{source: source, path: pathOf(source)}
			if i > 0 {
				title, _, _ := strings.Cut(part, "\n")
				part = "# " + part
				p.path = strings.TrimSuffix(p.path, ".html") + "/" + title + ".html"
			}
			if err := p.parse(part); err != nil {
				return nil, fmt.Errorf("%s: %w", source, err)
			}
			pages = append(pages, p)
		}
	}
	return pages, nil
}

// pathOf returns the path of a document's page.
func pathOf(source string) string {
	if source == "README.md" {
		return home
	}
	return strings.TrimPrefix(strings.TrimSuffix(source, ".md"), "doc/") + ".html"
}

// comment matches a comment of HTML, which pages may have.
var comment = regexp.MustCompile(`(?s)\A\s*<!--.*?-->\s*\z`)

// parse reads the text. HTML in it is an error, because it would not be shown: it is a forgotten `.
func (p *page) parse(markup string) error {
	p.text = []byte(markup)
	p.doc = markdown.Parser().Parse(text.NewReader(p.text))
	var html []ast.Node
	err := ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			h := heading{n.Level, string(id.([]byte)), p.textOf(n)}
			p.headings = append(p.headings, h)
		case *ast.RawHTML:
			if raw := string(n.Segments.Value(p.text)); !comment.MatchString(raw) {
				return ast.WalkStop, fmt.Errorf("%s is HTML, which is not shown: put it between backticks", raw)
			}
			html = append(html, n)
		case *ast.HTMLBlock:
			if raw := p.lines(n); !comment.MatchString(raw) {
				return ast.WalkStop, fmt.Errorf("%s is HTML, which is not shown", raw)
			}
			html = append(html, n)
		}
		return ast.WalkContinue, nil
	})
	for _, n := range html {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	if err == nil && (len(p.headings) == 0 || p.headings[0].Level != 1) {
		err = errors.New("it does not begin with its title: # TITLE")
	}
	if err == nil {
		p.title = p.headings[0].Text
	}
	return err
}

// lines returns the lines of a block.
func (p *page) lines(n ast.Node) string {
	all := string(n.Lines().Value(p.text))
	if block, ok := n.(*ast.HTMLBlock); ok && block.HasClosure() {
		all += string(block.ClosureLine.Value(p.text))
	}
	return all
}

// textOf returns a node's text, without markup.
func (p *page) textOf(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(t.Segment.Value(p.text))
				if t.SoftLineBreak() || t.HardLineBreak() {
					b.WriteByte('\n')
				}
			}
		case *ast.String:
			if entering {
				b.Write(t.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(t.Label(p.text))
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.WriteString(p.lines(t))
			}
		}
		if !entering && n.Type() == ast.TypeBlock {
			b.WriteByte('\n')
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// up returns the way from a page to the site's root.
func up(pagePath string) string {
	return strings.Repeat("../", strings.Count(path.Clean(pagePath), "/"))
}
