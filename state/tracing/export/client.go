package export

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// maxReply limits the bytes of a reply that are read, so that its connection can be used again.
const maxReply = 64 << 10

// A client is an otlptrace.Client that sends each batch once.
type client struct {
	url     string
	headers map[string]string
	http    *http.Client
}

// newClient returns a client that takes up to a time for each batch. roots are the certificates that it trusts; the system's if
// nil. It has no certificate of its own, and follows no redirections, so nothing is sent anywhere else.
func newClient(url string, headers map[string]string, roots *x509.CertPool, timeout time.Duration) *client {
	return &client{url: url, headers: headers, http: &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConns: 1,
			IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxReply},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start implements otlptrace.Client.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. TracesData has the form of the request.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range c.headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxReply)
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s responded with %s", c.url, response.Status)
	}
	return nil
}
