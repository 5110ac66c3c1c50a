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
	"time"

	"github.com/canonical/lxd/shared/api"

	"juju/provider"
	"juju/state/entity"
)

const (
	requestTime   = time.Minute      // for one request
	readTime      = 25 * time.Second // for one try to read; more than waitTime
	waitTime      = 20 * time.Second // for which one request waits for an operation
	operationTime = 15 * time.Minute // for one operation, such as the copy of an image
)

// A client sends requests to one LXD server. Each is bounded by its context and by a time.
type client struct {
	http     *http.Client
	endpoint string // as configured
	base     string // URL
	project  string
}

func newClient(config Config) (*client, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	transport := &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute, DisableCompression: true,
	}
	c := &client{http: &http.Client{Transport: transport}, endpoint: config.Endpoint, base: "http://lxd",
		project: config.Project}
	u, err := url.Parse(config.Endpoint)
	switch {
	case filepath.IsAbs(config.Endpoint):
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", config.Endpoint)
		}
		return c, nil
	case err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "":
		return nil, entity.Errorf(entity.Invalid, "%q is neither the path of a socket nor https://HOST:PORT", config.Endpoint)
	}
	c.base = "https://" + u.Host
	if transport.TLSClientConfig, err = tlsConfig(config); err != nil {
		return nil, err
	}
	return c, nil
}

// errOtherServer means that a server is not the one that is configured.
var errOtherServer = entity.Errorf(entity.Invalid, "it has another certificate than the one that is configured")

// tlsConfig returns how to reach a server by https: with the client's certificate, and no server but
// the one whose certificate is configured.
func tlsConfig(config Config) (*tls.Config, error) {
	pair, err := tls.X509KeyPair([]byte(config.ClientCert), []byte(config.ClientKey))
	if err != nil {
		return nil, entity.Errorf(entity.Invalid, "the client's certificate or key: %w", err)
	}
	t := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	if config.ServerCert == "" {
		return t, nil
	}
	block, _ := pem.Decode([]byte(config.ServerCert))
	if block == nil {
		return nil, entity.Errorf(entity.Invalid, "the server's certificate is not PEM")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return nil, entity.Errorf(entity.Invalid, "the server's certificate: %w", err)
	}
	// LXD signs its certificate itself, for names that it does not have to be reached by: the whole
	// certificate is compared instead.
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

// send sends a request within the project and returns LXD's answer, whose body the caller closes. A
// refusal is a *refusal.
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
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		var said api.Response
		text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err == nil && json.Unmarshal(text, &said) == nil && said.Error != "" {
			return nil, refused(resp.StatusCode, said.Error)
		}
		return nil, refused(resp.StatusCode, resp.Status)
	}
	return resp, nil
}

// call sends a request whose answer is JSON. in is its body, or nil.
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

// get reads an object into what into points to.
func (c *client) get(ctx context.Context, path string, query url.Values, into any) error {
	_, err := c.getTagged(ctx, path, query, into)
	return err
}

// getTagged is get that also returns the object's ETag, for doIf. LXD has been seen to leave one request
// without an answer while it answered others, so it is sent again.
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

// do sends a change. If LXD makes an operation of it, do returns when that is over, with what it
// says. If ctx is done first, LXD may still complete the operation.
func (c *client) do(ctx context.Context, method, path string, query url.Values, in any) (api.Operation, error) {
	return c.doIf(ctx, method, path, query, "", in)
}

// doIf is do for an object that must still have this ETag.
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

// wait waits for an operation of this client, given by its URL's path, as watch does. It gives up what takes
// too long.
func (c *client) wait(ctx context.Context, operation string) (op api.Operation, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, operationTime, errSlow)
	defer cancel()
	path, _, _ := strings.Cut(operation, "?")
	if op, err = c.watch(ctx, path); err != nil && ctx.Err() != nil {
		c.cancel(ctx, path)
	}
	return op, err
}

// watch waits for an operation, which may be another's. One that has failed is a *refusal.
func (c *client) watch(ctx context.Context, path string) (op api.Operation, err error) {
	query := url.Values{"timeout": {fmt.Sprint(int(waitTime.Seconds()))}}
	for {
		if err := c.get(ctx, path+"/wait", query, &op); err != nil {
			if isGone(err) { // LXD forgets operations some seconds after their end, or when it restarts
				err = provider.Retryable(errors.New("LXD has forgotten how an operation ended"))
			}
			return op, err
		}
		switch {
		case op.StatusCode == api.Success:
			return op, nil
		case op.StatusCode.IsFinal():
			return op, failed(op.Err)
		}
	}
}

// cancel asks LXD to give up an operation, which it can with few.
func (c *client) cancel(ctx context.Context, path string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, _, err := c.call(ctx, http.MethodDelete, path, nil, nil, nil); err != nil {
		logger.Debugf("operation %s goes on: %v", path, err)
	}
}

// instancePath returns the path of an instance in the API, and of what is below it.
func instancePath(name string, below ...string) string {
	return "/1.0/instances/" + url.PathEscape(name) + strings.Join(append([]string{""}, below...), "/")
}
