package lxd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/canonical/lxd/shared/api"

	"juju/provider"
	"juju/state/entity"
)

// LXD does not respond about a container while it changes the owners of its files, which has taken more than a minute.
const (
	requestTime   = 3 * time.Minute  // for one request
	readTime      = 25 * time.Second // for one attempt at a GET; must exceed waitTime
	waitTime      = 20 * time.Second // how long one request waits for an operation
	operationTime = 15 * time.Minute // for one operation, such as copying an image
)

// A client sends requests to one LXD server. Each is bounded by its context and a timeout.
type client struct {
	http      *http.Client
	transport transport // of http
	endpoint  string    // as configured
	base      string    // URL
	project   string
}

func newClient(config Config) (*client, error) {
	host, err := hostOf(config.Endpoint)
	if err != nil {
		return nil, err
	}
	c := &client{endpoint: config.Endpoint, base: "http://lxd", project: config.Project}
	if host != "" {
		c.base = "https://" + host
	}
	if err := c.transport.set(config); err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: &c.transport}
	return c, nil
}

// A transport makes the connections of a client. Its certificates can be replaced while requests are being made.
type transport struct {
	now atomic.Pointer[http.Transport]
}

// set makes all requests from now on use connections that are made with these certificates.
func (t *transport) set(config Config) error {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	next := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	if filepath.IsAbs(config.Endpoint) {
		next.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", config.Endpoint)
		}
	} else {
		var err error
		if next.TLSClientConfig, err = tlsConfig(config); err != nil {
			return err
		}
	}
	if was := t.now.Swap(next); was != nil {
		was.CloseIdleConnections() // those in use are closed when they have been idle for a minute
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.now.Load().RoundTrip(r)
}

// CloseIdleConnections is called by http.Client.
func (t *transport) CloseIdleConnections() { t.now.Load().CloseIdleConnections() }

// hostOf returns the host and port of an endpoint that is reached over HTTPS, "" for the path of a socket.
func hostOf(endpoint string) (string, error) {
	if filepath.IsAbs(endpoint) {
		return "", nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return "", entity.Errorf(entity.Invalid, "%q is neither a socket path nor https://HOST:PORT", endpoint)
	}
	return u.Host, nil
}

// errOtherServer means that the server's certificate does not match the configured one.
var errOtherServer = entity.Errorf(entity.Invalid, "its certificate is not the configured one")

// tlsConfig returns the TLS configuration for https: it presents the client's certificate, and accepts
// only the configured server certificate.
func tlsConfig(config Config) (*tls.Config, error) {
	pair, err := tls.X509KeyPair([]byte(config.ClientCert), []byte(config.ClientKey))
	if err != nil {
		return nil, entity.Errorf(entity.Invalid, "invalid client certificate or key: %w", err)
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if config.ServerCert == "" {
		return t, nil
	}
	block, _ := pem.Decode([]byte(config.ServerCert))
	if block == nil {
		return nil, entity.Errorf(entity.Invalid, "the server certificate is not PEM")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return nil, entity.Errorf(entity.Invalid, "invalid server certificate: %w", err)
	}
	// LXD's certificate is self-signed, for names that need not match its address, so the certificate
	// itself is compared.
	t.InsecureSkipVerify = true
	t.VerifyConnection = func(state tls.ConnectionState) error {
		if !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
			return errOtherServer
		}
		return nil
	}
	return t, nil
}

func recursion(n int) url.Values { return url.Values{"recursion": {fmt.Sprint(n)}} }

// send sends a request within the project and returns the response, whose body the caller must close.
// An error response is returned as a *apiError.
func (c *client) send(ctx context.Context, method, path string, query url.Values, header http.Header,
	body io.Reader) (*http.Response, error) {
	values := url.Values{}
	for key, v := range query {
		values[key] = v
	}
	if c.project != "" && !values.Has("project") {
		values.Set("project", c.project)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path+"?"+values.Encode(), body)
	if err != nil {
		return nil, err
	}
	for key, v := range header {
		req.Header[key] = v
	}
	if b, ok := body.(*countedBody); ok {
		req.ContentLength, req.GetBody = b.size, b.again
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		var said api.Response
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err == nil && json.Unmarshal(text, &said) == nil && said.Error != "" {
			return nil, responseError(resp.StatusCode, said.Error)
		}
		return nil, responseError(resp.StatusCode, resp.Status)
	}
	return resp, nil
}

// call sends a request with the JSON of in as its body, unless in is nil, and decodes the response.
func (c *client) call(ctx context.Context, method, path string, query url.Values, header http.Header,
	in any) (api.Response, http.Header, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTime, errSlow)
	defer cancel()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return api.Response{}, nil, err
		}
		body = bytes.NewReader(text)
	}
	resp, err := c.send(ctx, method, path, query, header, body)
	if err != nil {
		return api.Response{}, nil, err
	}
	defer resp.Body.Close()
	var said api.Response
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		return said, nil, c.unreachable(ctx, err)
	}
	return said, resp.Header, nil
}

// get decodes an object into *into.
func (c *client) get(ctx context.Context, path string, query url.Values, into any) error {
	_, err := c.getTagged(ctx, path, query, into)
	return err
}

// getTagged is get that also returns the object's ETag, for doIf. It retries requests that time out, because
// LXD has been seen to drop single requests while it answers others.
func (c *client) getTagged(ctx context.Context, path string, query url.Values, into any) (etag string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTime, errSlow)
	defer cancel()
	for {
		try, cancel := context.WithTimeoutCause(ctx, readTime, errSlow)
		said, header, err := c.call(try, http.MethodGet, path, query, nil, nil)
		late := try.Err() != nil && ctx.Err() == nil
		cancel()
		if err != nil && late {
			continue
		}
		if err == nil && into != nil {
			err = json.Unmarshal(said.Metadata, into)
		}
		return header.Get("ETag"), err
	}
}

// do sends a change. If LXD starts an operation for it, do waits for the operation and returns it. If
// ctx is done first, LXD may still complete the operation.
func (c *client) do(ctx context.Context, method, path string, query url.Values, in any) (api.Operation, error) {
	return c.doIf(ctx, method, path, query, "", in)
}

// doIf is do with the condition that the object still has this ETag.
func (c *client) doIf(ctx context.Context, method, path string, query url.Values, etag string,
	in any) (api.Operation, error) {
	header := http.Header{}
	if etag != "" {
		header.Set("If-Match", etag)
	}
	said, _, err := c.call(ctx, method, path, query, header, in)
	if err != nil || said.Type != api.AsyncResponse {
		return api.Operation{}, err
	}
	return c.wait(ctx, said.Operation)
}

// wait waits, like watch, for an operation that this client started. If that takes too long, it cancels the
// operation.
func (c *client) wait(ctx context.Context, operation string) (op api.Operation, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, operationTime, errSlow)
	defer cancel()
	path, _, _ := strings.Cut(operation, "?")
	if op, err = c.watch(ctx, path); err != nil && ctx.Err() != nil {
		c.cancel(ctx, path)
	}
	return op, err
}

// watch waits for an operation, which any client may have started. If it fails, the error is a *apiError.
func (c *client) watch(ctx context.Context, path string) (op api.Operation, err error) {
	query := url.Values{"timeout": {fmt.Sprint(int(waitTime.Seconds()))}}
	for {
		if err := c.get(ctx, path+"/wait", query, &op); err != nil {
			if isNotFound(err) { // LXD forgets operations seconds after they complete, and when it restarts
				err = provider.Retryable(errors.New("LXD no longer has the result of an operation"))
			}
			return op, err
		}
		switch {
		case op.StatusCode == api.Success:
			return op, nil
		case op.StatusCode.IsFinal():
			return op, operationError(op.Err)
		}
	}
}

// cancel cancels an operation, if LXD can: few are cancellable.
func (c *client) cancel(ctx context.Context, path string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, _, err := c.call(ctx, http.MethodDelete, path, nil, nil, nil); err != nil {
		logger.Debugf("cannot cancel operation %s: %v", path, err)
	}
}

// instancePath returns the API path of an instance, or of a resource below it.
func instancePath(name string, below ...string) string {
	return "/1.0/instances/" + url.PathEscape(name) + strings.Join(append([]string{""}, below...), "/")
}
