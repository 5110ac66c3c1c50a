package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"html/template"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// page serves the page.
type page struct {
	Title string
	Unit  string
	Store string // host:port; "" for none
	Key   string // the key of the count in the store
	log   *log.Logger
}

var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{{.Page.Title}}</title></head>
<body>
<h1>{{.Page.Title}}</h1>
{{if .Err}}<p>The store at {{.Page.Store}} does not answer, so this visit was not counted.</p>
{{else if .Page.Store}}<p>Visits: <b id="visits">{{.Visits}}</b></p>
{{else}}<p>This page has no store, so visits are not counted.</p>
{{end}}<p>Served by <span id="unit">{{.Page.Unit}}</span>.</p>
</body>
</html>
`))

// ServeHTTP serves the page at /. A GET counts as a visit, a HEAD does not.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "expected GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	view := struct {
		Page   *page
		Visits int64
		Err    error
	}{Page: p}
	if p.Store != "" {
		if view.Visits, view.Err = countVisit(r.Context(), p.Store, p.Key); view.Err != nil {
			p.log.Printf("cannot count a visit: %v", view.Err)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	var body bytes.Buffer
	if err := pageTemplate.Execute(&body, view); err != nil {
		p.log.Print(err)
		return
	}
	w.Write(body.Bytes())
}

// countVisit increments the count in the store and returns it. It does not retry, because the
// visit may have been counted even if the answer was lost.
func countVisit(ctx context.Context, store, key string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", store)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	if _, err := fmt.Fprintf(conn, "INCR %s\n", key); err != nil {
		return 0, err
	}
	answer, err := bufio.NewReader(io.LimitReader(conn, 1<<10)).ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("no answer from %s: %w", store, err)
	}
	number, ok := strings.CutPrefix(strings.TrimSpace(answer), "VALUE ")
	if !ok {
		return 0, fmt.Errorf("%s answered %q", store, strings.TrimSpace(answer))
	}
	return strconv.ParseInt(number, 10, 64)
}
