package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"juju/apiserver/client"
	"juju/state/entity"
	"juju/state/entity/shell"
)

//go:embed templates static
var files embed.FS

// Path is where the pages are.
const Path = "/dashboard/"

// A Page is what the layout of all pages shows.
type Page struct {
	Title      string
	Controller string
	User       string // "" before the log-in
	Model      string // OWNER/NAME; "" outside a model
	Writes     bool   // the user may change the model
	Here       string // the name of the tab
	At         string // where the page is, below the path of its model
	Content    any    // what the page's own template shows
}

// A Visit is a request for a page of a model.
type Visit struct {
	Mirror *Mirror
	Model  string // its UUID
	Name   string // of what the page is about: "web/0"
	After  string // what the rows of a list come after
	// Connect logs the page's user in to the API of a model, or with "" of the controller. Pages are clients of it like
	// others.
	Connect func(ctx context.Context, model string) (*client.Conn, error)
}

// call calls the API of the model.
func (v Visit) call(ctx context.Context, f func(*client.Conn) error) error {
	api, err := v.Connect(ctx, v.Model)
	if err != nil {
		return err
	}
	defer api.Close()
	return f(api)
}

// A page is a page of a model.
type page struct {
	name   string // in its path, and of its template
	tab    string // "" for one about something by name
	read   func(context.Context, Visit) (any, error)
	topics func(name string) []Topic // when they change, so does the page
}

func of(topics ...Topic) func(string) []Topic { return func(string) []Topic { return topics } }

// mirrored returns the content of a page that shows only what the mirror has.
func mirrored[T any](f func(*Mirror, Visit) T) func(context.Context, Visit) (any, error) {
	return func(_ context.Context, v Visit) (any, error) { return f(v.Mirror, v), nil }
}

var pages = []page{
	{"topology", "Topology", mirrored(func(*Mirror, Visit) any { return nil }), of(Everything)},
	{"services", "Services", mirrored(func(m *Mirror, _ Visit) any { return m.Services() }), of("service", "unit", "relation")},
	{"units", "Units", mirrored(func(m *Mirror, v Visit) any { return m.Units(v.After) }), of("unit")},
	{"machines", "Machines", mirrored(func(m *Mirror, _ Visit) any { return m.Machines() }), of("machine", "unit")},
	{"waits", "Waiting", waitsPage, of(Everything)},
	{"removals", "Removals", removalsPage, of(Everything)},
	{"changes", "Events", mirrored(func(m *Mirror, _ Visit) any { return m.Changes() }), of(Everything)},
	{"operations", "Actions", operationsPage, of("task")},
	{"secrets", "Secrets", secretsPage, of("model")},
	{"access", "Access", accessPage, of("model")},
	{"service", "", servicePage, func(name string) []Topic {
		return []Topic{Topic("service " + name), Topic("units-of " + name), "relation"}
	}},
	{"unit", "", unitPage, func(name string) []Topic {
		service, _, _ := strings.Cut(name, "/")
		return []Topic{Topic("unit " + name), Topic("service " + service)}
	}},
	{"machine", "", machinePage, func(name string) []Topic {
		return []Topic{Topic("machine " + name), Topic("units-on " + name)}
	}},
	{"operation", "", operationPage, of("task")},
}

// find returns the page at a path below that of its model, and what it is about.
func find(below string) (p page, name string, ok bool) {
	word, name, about := strings.Cut(below, "/")
	if below == "" {
		word = "topology"
	}
	for _, p := range pages {
		if p.name == word && about == (p.tab == "") && (name != "") == about {
			return p, name, true
		}
	}
	return p, "", false
}

// TopicsOf returns what the page at a path below that of its model shows; none if there is no such page.
func TopicsOf(below string) []Topic {
	if p, name, ok := find(below); ok {
		return p.topics(name)
	}
	return nil
}

// Read fills in a page of a model, by its path below that of the model, and returns the name of its template.
func (p *Page) Read(ctx context.Context, below string, v Visit) (template string, err error) {
	one, name, ok := find(below)
	if !ok {
		return "", entity.Errorf(entity.NotFound, "there is no such page")
	}
	v.Name = name
	p.Here, p.At = one.tab, below
	if p.Title = one.tab; name != "" {
		p.Title = strings.ToUpper(one.name[:1]) + one.name[1:] + " " + name
	}
	p.Content, err = one.read(ctx, v)
	return one.name, err
}

// A tab is a link to a page of a model.
type tab struct {
	Name, Path string
	Here       bool
}

// A layout is what templates/layout.html needs.
type layout struct {
	Page
	Base, Events string
	Tabs         []tab
	Scripts      []string
	Whole        bool // the content has the whole window
}

// ModelPath returns where the pages of a model are.
func ModelPath(owner, name string) string {
	return Path + url.PathEscape(owner) + "/" + url.PathEscape(name) + "/"
}

// Static returns where a static file is; another one whenever its content is.
func (l layout) Static(name string) string { return Path + "static/" + hashes()[name] + "/" + name }

// hashes returns the hash of each static file.
var hashes = sync.OnceValue(func() map[string]string {
	all := map[string]string{}
	_ = fs.WalkDir(files, "static", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := files.ReadFile(name)
			sum := sha256.Sum256(text)
			all[strings.TrimPrefix(name, "static/")] = hex.EncodeToString(sum[:8])
		}
		return err
	})
	return all
})

// StaticFile returns the content of a static file and its type, by its path below that of Static. ok is false if there is
// none.
func StaticFile(below string) (text []byte, kind string, ok bool) {
	hash, name, _ := strings.Cut(below, "/")
	if hash == "" || hashes()[name] != hash {
		return nil, "", false
	}
	text, err := files.ReadFile("static/" + name)
	return text, kinds[path.Ext(name)], err == nil && kinds[path.Ext(name)] != ""
}

var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// templates are those of the pages, by name.
var templates = sync.OnceValue(func() map[string]*template.Template {
	all := map[string]*template.Template{}
	names, _ := fs.Glob(files, "templates/*.html")
	for _, name := range names {
		if short := strings.TrimSuffix(path.Base(name), ".html"); short != "layout" && short != "parts" {
			all[short] = template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/layout.html",
				"templates/parts.html", name))
		}
	}
	return all
})

// functions are those that templates can call.
var functions = template.FuncMap{
	"line":  shell.Line,
	"ways":  waysOf,
	"acts":  whoActs,
	"time":  timeHTML,
	"took":  func(d time.Duration) string { return d.Round(roundTo(d)).String() },
	"path":  pagePath,
	"size":  entity.MiB,
	"about": func(l layout, content any) layout { l.Content = content; return l },
	"tag": func(text string) Change {
		t, _ := entity.ParseTag(text)
		return Change{Kind: string(t.Kind), Name: t.ID}
	},
}

// timeHTML returns a time in UTC, which the page's script shows as its reader's clock does.
func timeHTML(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(`<time datetime="` + t.UTC().Format(time.RFC3339Nano) + `">` +
		t.UTC().Format(time.DateTime) + "Z</time>")
}

// roundTo returns what a duration is rounded to, so that it has about three digits.
func roundTo(d time.Duration) time.Duration {
	switch {
	case d > time.Minute:
		return time.Second
	case d > time.Second:
		return 10 * time.Millisecond
	}
	return time.Millisecond
}

// whole returns the layout of a page.
func (p Page) whole(template string) layout {
	l := layout{Page: p, Scripts: []string{"vendor/idiomorph.min.js", "app.js"}, Whole: template == "topology"}
	if l.Whole {
		l.Scripts = append(l.Scripts, "vendor/d3.min.js", "topology.js")
	}
	owner, model, ok := strings.Cut(p.Model, "/")
	if !ok {
		return l
	}
	l.Base = ModelPath(owner, model)
	if one, _, ok := find(p.At); ok && one.name == template {
		l.Events = l.Base + "events?" + url.Values{"page": {p.At}}.Encode()
	}
	for _, one := range pages {
		if one.tab == "" {
			continue
		}
		below := one.name
		if one.name == "topology" {
			below = ""
		}
		l.Tabs = append(l.Tabs, tab{one.tab, l.Base + below, one.tab == p.Here})
	}
	return l
}

// Render returns a page made by the template called name.
func Render(name string, p Page) ([]byte, error) { return execute(name, "layout.html", p) }

// RenderPart returns what changes on a page, for one that is shown already.
func RenderPart(name string, p Page) ([]byte, error) { return execute(name, "part", p) }

func execute(name, which string, p Page) ([]byte, error) {
	t := templates()[name]
	if t == nil || t.Lookup(which) == nil {
		return nil, fmt.Errorf("there is no template %q with %q", name, which)
	}
	var text bytes.Buffer
	err := t.ExecuteTemplate(&text, which, p.whole(name))
	return text.Bytes(), err
}
