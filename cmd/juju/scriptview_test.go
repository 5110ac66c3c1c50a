package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"juju/doc/tools/verify"
)

// lastID matches the id of the last event in what was printed of a stream.
var lastID = regexp.MustCompile(`(?s)^.*\nid: (\S+)\n`)

// scriptView sends a GET to the controller, with the token in a file if one is named, and prints the body of the reply, which
// must have the status. Of a stream of events it prints all until one of that name has a text; with another file, it resumes
// after the events that this has.
func scriptView(ts *testscript.TestScript, neg bool, args []string) {
	noNot(ts, neg)
	if len(args) < 2 {
		ts.Fatalf("usage: view STATUS PATH [TOKEN [EVENT TEXT [EVENTS]]]")
	}
	ctx, cancel := context.WithTimeout(context.Background(), verify.Patience)
	defer cancel()
	address, client := controllerOf(ts)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+args[1], nil)
	ts.Check(err)
	if len(args) > 2 {
		request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(ts.ReadFile(args[2])))
	}
	if len(args) > 5 {
		request.Header.Set("Last-Event-ID", lastID.FindStringSubmatch(ts.ReadFile(args[5]))[1])
	}
	reply, err := client.Do(request)
	ts.Check(err)
	defer reply.Body.Close()
	var text string
	if len(args) > 4 && reply.StatusCode == http.StatusOK {
		text = eventsUntil(ts, reply.Body, args[3], args[4])
	} else {
		body, err := io.ReadAll(reply.Body)
		ts.Check(err)
		text = string(body)
	}
	_, err = io.WriteString(ts.Stdout(), text)
	ts.Check(err)
	if strconv.Itoa(reply.StatusCode) != args[0] {
		ts.Fatalf("%s, want %s\n%s", reply.Status, args[0], text)
	}
}

// controllerOf returns the address of the client's controller, and an HTTP client that trusts it.
func controllerOf(ts *testscript.TestScript) (address string, client http.Client) {
	ts.Check(ts.Exec("juju", "show-controller", "--format", "json"))
	var all map[string]struct {
		Details struct {
			Addresses []string `json:"api-endpoints"`
			CACert    string   `json:"ca-cert"`
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &all))
	roots := x509.NewCertPool()
	for _, c := range all {
		address = c.Details.Addresses[0]
		roots.AppendCertsFromPEM([]byte(c.Details.CACert))
	}
	return address, http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots}}}
}

// eventsUntil reads server-sent events until one of that name has a text.
func eventsUntil(ts *testscript.TestScript, stream io.Reader, name, text string) string {
	var all strings.Builder
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	for event := ""; lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if value, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = value
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && event == name && strings.Contains(data, text) {
			return all.String()
		}
	}
	ts.Fatalf("no event %s has %q: %v\n%s", name, text, lines.Err(), &all)
	return ""
}
