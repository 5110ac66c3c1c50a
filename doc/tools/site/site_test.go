package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"juju/doc/tools/verify"
)

// loads are the attributes by which elements load something.
var loads = map[string]string{"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "form": "action"}

// elements calls a function for each element of a page.
func elements(t *testing.T, text []byte, each func(n *html.Node, attributes map[string]string)) {
	t.Helper()
	page, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range page.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		attributes := map[string]string{}
		for _, a := range n.Attr {
			attributes[a.Key] = a.Val
		}
		each(n, attributes)
	}
}

// The site is whole: each link leads to a page and heading of it or to the web, each page loads only files of it, every
// document can be reached, and no two elements of a page have the same id.
func TestSite(t *testing.T) {
	verify.Smoke(t)
	dir := t.TempDir()
	built, err := build(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	if err := write(dir, built); err != nil {
		t.Fatal(err)
	}
	ids := map[string]map[string]bool{}
	type link struct{ from, by, to string }
	var links []link
	for name, text := range built {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		ids[name] = map[string]bool{}
		elements(t, text, func(n *html.Node, attributes map[string]string) {
			for key, value := range attributes {
				switch {
				case key == "id" && ids[name][value]:
					t.Errorf("%s has the id %s twice", name, value)
				case key == "id":
					ids[name][value] = true
				case strings.HasPrefix(key, "on"), key == "style":
					t.Errorf("%s: %s has %s", name, n.Data, key)
				case key == loads[n.Data], key == "href" && n.Data == "a" && !elsewhere.MatchString(value):
					links = append(links, link{name, n.Data, value})
				}
			}
		})
	}
	linked := map[string]bool{}
	for _, l := range links {
		file, anchor, _ := strings.Cut(l.to, "#")
		target := l.from
		if file != "" {
			target = path.Join(path.Dir(l.from), file)
		}
		linked[target] = true
		if _, err := os.Stat(filepath.Join(dir, target)); err != nil || anchor != "" && !ids[target][anchor] {
			t.Errorf("%s: %s leads to %s, which is not there", l.from, l.by, l.to)
		}
	}
	for name := range ids {
		if !linked[name] {
			t.Errorf("nothing links to %s", name)
		}
	}
	for _, name := range []string{"site.css", "search.js"} {
		if found := regexp.MustCompile(`https?:|//[a-z]|@import|url\(|fetch\(|import\(`).Find(built[name]); found != nil {
			t.Errorf("%s has %q, which may load something", name, found)
		}
	}
	if !bytes.Contains(built["search-data.js"], []byte(`"u":"cli/deploy.html"`)) {
		t.Error("search does not find juju deploy")
	}
	if len(ids) < 200 || !ids["cli/deploy.html"]["deploy"] {
		t.Errorf("%d pages; the commands have no pages of their own", len(ids))
	}
}

// documents returns a small repository with all documents of the navigation, some of which have other texts.
func documents(texts map[string]string) fs.FS {
	root := fstest.MapFS{"CHANGELOG.md": {}}
	for _, g := range navigation {
		for _, i := range g.Items {
			source, anchor, _ := strings.Cut(i.Source, "#")
			was := ""
			if f := root[source]; f != nil {
				was = string(f.Data)
			}
			text := was
			if !strings.HasPrefix(was, "# ") {
				text = "# Title\n"
			}
			if anchor != "" {
				text += "\n## " + strings.ReplaceAll(anchor, "-", " ") + "\n"
			}
			root[source] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	for name, text := range texts {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

// What is wrong in a document is an error that says where.
func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# T\n[x](nothing.md)":                   "doc/api.md links to nothing.md: ",
		"# T\n[x](cli.md#nothing)":               "doc/api.md links to cli.md#nothing: doc/cli.md has no heading #nothing",
		"# T\n[x](#t) [y](#s)":                   "doc/api.md links to #s: doc/api.md has no heading #s",
		"# T\n[x](../../elsewhere.md)":           "doc/api.md links to ../../elsewhere.md: ",
		"# T\n[x](javascript:alert(1))":          "doc/api.md links to javascript:alert(1): ",
		"# T\nof <NAME> and":                     "doc/api.md: <NAME> is HTML",
		"# T\n\n<script>\nalert(1)\n</script>\n": "doc/api.md: <script>",
		"no title":                               "doc/api.md: it does not begin with its title",
		"# T\n![x](x.png)":                       "doc/api.md shows x.png: ",
	} {
		_, err := build(documents(map[string]string{"doc/api.md": text}))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	_, err := build(documents(map[string]string{"doc/new.md": "# New\n"}))
	if err == nil || err.Error() != "doc/new.md is in no group of doc/tools/site/nav.go" {
		t.Error(err)
	}
}

// Text stays text, links between documents become links between pages, and files that they link to become pages.
func TestPages(t *testing.T) {
	t.Parallel()
	files, err := build(documents(map[string]string{
		"doc/cli.md": "# Commands\n\nSee [deploy](#deploy).\n\n## deploy\n\n`<b>` &lt;i> \"q\" [status](#status)\n\n## status\n\nx\n",
		"doc/api.md": "# `</title><script>`\n\n<!-- a note -->\n\n```sh a<b.sh\necho '</code><script>'\n```\n\n[cli.md](cli.md) [d](cli.md#deploy) " +
			"[txt](x/a.txt) [x](x)\n",
		"doc/x/a.txt":   "</code><script>alert(1)</script>",
		"doc/x/b/c.txt": "c", "doc/x/bin/program": "\xff", "doc/x/d.bin": "\xff\xfe",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for name, wants := range map[string][]string{
		"cli.html":        {`<a href="cli/deploy.html">deploy</a>`},
		"cli/deploy.html": {`<code>&lt;b&gt;</code> &lt;i&gt; &quot;q&quot; <a href="../cli/status.html">status</a>`, `href="../site.css"`},
		"api.html": {`<p class="file">a&lt;b.sh</p>`, `echo '&lt;/code&gt;&lt;script&gt;'`, `<a href="cli.html">Commands</a>`,
			`<a href="cli/deploy.html">d</a>`, `<a href="files/doc/x/a.txt.html">txt</a>`, `<title>&lt;/title&gt;&lt;script&gt; · juju</title>`},
		"files/doc/x.html":       {`<a href="../../files/doc/x/a.txt.html">a.txt</a>`, `b/c.txt</a>`},
		"files/doc/x/a.txt.html": {`<code>&lt;/code&gt;&lt;script&gt;`, `href="a.txt.txt"`},
		"search-data.js":         {`"t":"\u003c/title\u003e\u003cscript\u003e"`},
	} {
		for _, want := range wants {
			if !strings.Contains(string(files[name]), want) {
				t.Errorf("%s has no %s:\n%s", name, want, files[name])
			}
		}
		if strings.Contains(string(files[name]), "a note") || name != "search-data.js" && strings.Count(string(files[name]), "<script") > 0 {
			t.Errorf("%s has what is not text:\n%s", name, files[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.Contains(name, "bin") {
			t.Errorf("%s is no text", name)
		}
	}
}

// A directory with anything else than a site is not emptied.
func TestOtherDirectoriesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	site := map[string][]byte{home: []byte("x"), "a/b.html": []byte("y")}
	for range 2 {
		if err := write(dir, site); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(path.Join(dir, home)); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, site); err == nil {
		t.Error("a directory with other files was emptied")
	}
}
