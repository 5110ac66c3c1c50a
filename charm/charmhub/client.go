package charmhub

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"juju/state/entity"
	"juju/state/entity/backoff"
)

// DefaultURL is Charmhub's.
const DefaultURL = "https://api.charmhub.io"

// Options say which store a Client asks, and how.
type Options struct {
	URL    string // of the store; "" is DefaultURL
	CACert string // certificates that vouch for the store, in PEM, in place of the system's; "" for those
	// Proxy returns the proxy for a request; nil is that of the environment.
	Proxy func(*http.Request) (*url.URL, error)
	// Retried is called before a request is sent again, for a log; nil for none.
	Retried func(error)
}

// A Client asks a store. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	http    *http.Client
	retried func(error)
	sleep   func(context.Context, time.Duration) error
}

const (
	maxReply     = 32 << 20 // bytes of a reply that is no archive
	replyTime    = time.Minute
	headTime     = 30 * time.Second // until the header of a reply
	dialTime     = 10 * time.Second
	maxRedirects = 10
	attempts     = 3
	firstPause   = time.Second
	longestPause = 30 * time.Second // also where a store asks for a longer one
)

// ParseURL checks the URL of a store, and returns it as it is stored. Its errors are Invalid.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", entity.Errorf(entity.Invalid, "charm-hub url %q not valid: %w", text, err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", entity.Errorf(entity.Invalid, "charm-hub url %q not valid: expected http://HOST or https://HOST", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", entity.Errorf(entity.Invalid, "charm-hub url %q not valid: it has more than a host and a path", text)
	}
	return strings.TrimRight(text, "/"), nil
}

// New returns a client of a store. Its errors are Invalid.
func New(o Options) (*Client, error) {
	if o.URL == "" {
		o.URL = DefaultURL
	}
	text, err := ParseURL(o.URL)
	if err != nil {
		return nil, err
	}
	base, _ := url.Parse(text)
	transport := &http.Transport{
		Proxy:       o.Proxy,
		DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, TLSHandshakeTimeout: dialTime, ResponseHeaderTimeout: headTime,
		ForceAttemptHTTP2: true, IdleConnTimeout: replyTime, MaxResponseHeaderBytes: 64 << 10,
	}
	if o.Proxy == nil {
		transport.Proxy = http.ProxyFromEnvironment
	}
	if o.CACert != "" {
		if transport.TLSClientConfig, err = Trusting(o.CACert); err != nil {
			return nil, err
		}
	}
	c := &Client{base: base, retried: o.Retried, sleep: backoff.Sleep}
	if c.retried == nil {
		c.retried = func(error) {}
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= maxRedirects:
			return fmt.Errorf("more than %d redirections", maxRedirects)
		case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
			return fmt.Errorf("a redirection from https to %s", r.URL.Scheme)
		}
		return nil
	}}
	return c, nil
}

// Trusting returns a configuration of TLS in which the certificates of a text in PEM vouch for a store. Its errors are Invalid.
func Trusting(caCert string) (*tls.Config, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(caCert)) {
		return nil, entity.Errorf(entity.Invalid, "the CA certificate of the charm store has no certificate in PEM")
	}
	return &tls.Config{RootCAs: pool}, nil
}

// Close closes the connections that no request uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// URL returns that of the store.
func (c *Client) URL() string { return c.base.String() }

// ask sends a request and decodes the reply, and sends it again if the store can't answer now.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, body, reply any) error {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	var sent []byte
	if body != nil {
		var err error
		if sent, err = json.Marshal(body); err != nil {
			return err
		}
	}
	pause := backoff.New(firstPause, longestPause)
	for attempt := 1; ; attempt++ {
		text, err := c.once(ctx, method, u.String(), sent)
		var later laterError
		switch {
		case err == nil:
			if err = json.Unmarshal(text, reply); err != nil {
				return fmt.Errorf("cannot read the reply of %s: %w", withoutQuery(u.String()), err)
			}
			return nil
		case attempt == attempts || !errors.As(err, &later):
			return err
		}
		c.retried(err)
		if err := c.sleep(ctx, min(max(pause.Next(), later.after), longestPause)); err != nil {
			return err
		}
	}
}

// A laterError is one after which the request can be sent again.
type laterError struct {
	error
	after time.Duration // as the store says
}

func (e laterError) Unwrap() error { return e.error }

// once sends a request and returns the body of its reply.
func (c *Client) once(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, replyTime, fmt.Errorf("%s has not answered for %v", url, replyTime))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	url = withoutQuery(url)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Juju/"+entity.JujuVersion)
	reply, err := c.http.Do(r)
	if err != nil {
		err = unreachable(ctx, url, err)
		if errors.Is(err, io.EOF) {
			return nil, laterError{error: err}
		}
		return nil, err
	}
	defer reply.Body.Close()
	kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	switch reply.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After"))
		return nil, laterError{fmt.Errorf("server error %q: %s", url, reply.Status), time.Duration(min(max(seconds, 0), 3600)) * time.Second}
	}
	switch {
	case reply.StatusCode >= 500:
		return nil, fmt.Errorf("server error %q", url)
	case kind != "application/json" && reply.StatusCode == http.StatusNotFound:
		return nil, entity.WithHint(entity.Errorf(entity.NotFound, "unexpected charm-hub url %q when parsing headers", url),
			"The URL is that of a charm store, without a path below it.")
	case kind != "application/json":
		return nil, fmt.Errorf("unexpected content-type from server %q", kind)
	}
	text, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	if err != nil {
		return nil, laterError{error: unreachable(ctx, url, err)}
	}
	if len(text) > maxReply {
		return nil, fmt.Errorf("the reply of %s is larger than %d MiB", url, maxReply>>20)
	}
	if reply.StatusCode < 200 || reply.StatusCode > 299 {
		return nil, refused(url, reply.Status, text)
	}
	return text, nil
}

// withoutQuery returns a URL as people are shown it.
func withoutQuery(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// unreachable returns the error of a request that got no reply, with why its time was up.
func unreachable(ctx context.Context, url string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var wrapped interface{ Unwrap() error }
	if errors.As(err, &wrapped) {
		if inner := wrapped.Unwrap(); inner != nil { // without the method and the URL
			err = inner
		}
	}
	return entity.WithHint(fmt.Errorf("cannot reach the charm store at %s: %w", url, err),
		"Check charmhub-url, and the proxies of the model or the environment.")
}

// refused returns the error of a reply that has one.
func refused(url, status string, text []byte) error {
	var reply ErrorReply
	if err := json.Unmarshal(text, &reply); err != nil || len(reply.Errors) == 0 {
		return fmt.Errorf("%s answered %s", url, status)
	}
	return reply.Errors[0].asError()
}

// asError returns the error in Juju's words.
func (e Error) asError() error {
	switch e.Code {
	case CodeNotFound:
		return entity.Errorf(entity.NotFound, "charm or bundle not found")
	case CodeNameNotFound:
		return entity.Errorf(entity.NotFound, "charm or bundle name not found")
	case CodeResourceNotFound:
		return entity.Errorf(entity.NotFound, "charm resource not found")
	case CodeAPI:
		return errors.New("unexpected api error attempting to query charm or bundle from the charmhub store")
	case CodeBadArgument:
		return entity.Errorf(entity.Invalid, "query argument %s", plain(e.Message))
	}
	return errors.New(plain(e.Message))
}

// maxMessage is how much of a store's message is shown.
const maxMessage = 500

// plain returns a message of a store that can be shown on a terminal.
func plain(message string) string {
	message = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, message)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	return message
}
