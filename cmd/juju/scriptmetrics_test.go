package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"juju/cmd/juju/store"
)

// scriptMetrics scrapes the current controller with a user's password, as Prometheus does, until each of some expressions
// matches a line.
func scriptMetrics(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) < 3 {
		ts.Fatalf("usage: metrics USER PASSWORD REGEXP...")
	}
	st, err := store.New(ts.Getenv("JUJU_DATA"))
	ts.Check(err)
	contents, err := st.Read()
	ts.Check(err)
	ctrl := contents.Controllers[contents.Current]
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ctrl.CACert))
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer hc.CloseIdleConnections()
	scrape := func() (string, error) {
		r, err := http.NewRequest("GET", "https://"+ctrl.Addresses[0]+"/metrics", nil)
		ts.Check(err)
		r.SetBasicAuth("user-"+args[0], args[1])
		response, err := hc.Do(r)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return fmt.Sprintf("%d\n%s", response.StatusCode, text), err
	}
	missing := ""
	eventuallyOr(ts, fmt.Sprintf("metrics with %q", args[2:]), func() bool {
		text, err := scrape()
		if missing = fmt.Sprint(err); err != nil {
			return false
		}
		for _, want := range args[2:] {
			if !regexp.MustCompile("(?m)" + want).MatchString(text) {
				missing = fmt.Sprintf("nothing matches %s in\n%s", want, text)
				return false
			}
		}
		return true
	}, func() string { return missing })
}

// scriptJSONLog checks that each line of a log file is a JSON object with the given entity, model and some message.
func scriptJSONLog(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) != 4 {
		ts.Fatalf("usage: json-log FILE ENTITY MODEL REGEXP")
	}
	files, err := filepath.Glob(ts.MkAbs(args[0]))
	if err != nil || len(files) != 1 {
		ts.Fatalf("%s: %v %v", args[0], files, err)
	}
	text, err := os.ReadFile(files[0])
	ts.Check(err)
	found := false
	for line := range bytes.Lines(text) {
		var e struct{ Time, Level, Module, Location, Entity, Model, Message string }
		if err := json.Unmarshal(line, &e); err != nil || e.Entity != args[1] || e.Model != args[2] || e.Time == "" || e.Level == "" || e.Module == "" {
			ts.Fatalf("%s has the line %s: %v", files[0], line, err)
		}
		found = found || regexp.MustCompile(args[3]).MatchString(e.Message)
	}
	if !found {
		ts.Fatalf("no message of %s matches %s", files[0], args[3])
	}
}
