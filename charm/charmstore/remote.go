package charmstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"juju/charm/charmhub"
)

// A Remote publishes in a store on another host, with a token. Its methods are those of Directory.
type Remote struct {
	url, token string
	http       *http.Client
}

// NewRemote returns the store at a URL. caCert is a certificate that vouches for it, in PEM; "" for the system's.
func NewRemote(url, token, caCert string) (*Remote, error) {
	url, err := charmhub.ParseURL(url)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = 10 * time.Minute // the store examines what it has received
	if caCert != "" {
		if transport.TLSClientConfig, err = charmhub.Trusting(caCert); err != nil {
			return nil, err
		}
	}
	return &Remote{url, token, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the store redirects: the token is not sent elsewhere")
	}}}, nil
}

// Upload is Directory.Upload.
func (r *Remote) Upload(ctx context.Context, in io.Reader) (up Uploaded, err error) {
	return up, r.call(ctx, http.MethodPost, "/publish/charms", in, &up)
}

// UploadResource is Directory.UploadResource.
func (r *Remote) UploadResource(ctx context.Context, name, of string, in io.Reader) (up Uploaded, err error) {
	return up, r.call(ctx, http.MethodPost, "/publish/charms/"+url.PathEscape(name)+"/resources/"+url.PathEscape(of), in, &up)
}

// Release is Directory.Release.
func (r *Remote) Release(ctx context.Context, name string, n int, channels []string, resources map[string]int) error {
	body, err := json.Marshal(publication{n, channels, resources})
	if err != nil {
		return err
	}
	return r.call(ctx, http.MethodPost, "/publish/charms/"+url.PathEscape(name)+"/releases", bytes.NewReader(body), &struct{}{})
}

// Shut is Directory.Shut.
func (r *Remote) Shut(ctx context.Context, name, channel string) error {
	c, err := charmhub.ParseChannel(channel)
	if err != nil {
		return err
	}
	return r.call(ctx, http.MethodDelete, "/publish/charms/"+url.PathEscape(name)+"/releases/"+c.String(), nil, &struct{}{})
}

func (r *Remote) call(ctx context.Context, method, path string, body io.Reader, result any) error {
	q, err := http.NewRequestWithContext(ctx, method, r.url+path, body)
	if err != nil {
		return err
	}
	q.Header.Set("Authorization", "Bearer "+r.token)
	reply, err := r.http.Do(q)
	if err != nil {
		return fmt.Errorf("cannot reach the charm store: %w", err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("cannot read the reply of the charm store: %w", err)
	}
	if reply.StatusCode != http.StatusOK {
		var no charmhub.ErrorReply
		if json.Unmarshal(text, &no) == nil && len(no.Errors) > 0 {
			return errors.New(no.Errors[0].Message)
		}
		return fmt.Errorf("the charm store answers %s: %s", reply.Status, strings.TrimSpace(string(text[:min(len(text), 200)])))
	}
	return json.Unmarshal(text, result)
}
