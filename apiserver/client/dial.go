package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/params"
	"juju/state/entity"
)

const (
	// dialTime limits a dial whose context has no deadline.
	dialTime = time.Minute
	// serverName is a name in every controller's certificate; see apiserver.ServerName.
	serverName = "juju-apiserver"
)

// An Info describes how to reach a controller and log in to it.
type Info struct {
	Addresses []string // "host:port"; the first to respond is used
	CACert    string   // PEM; the only trusted authority
	Model     string   // a UUID, or "" for the controller itself
	Tag       entity.Tag
	Password  string
	Nonce     string          // for a machine's agent
	Binaries  entity.Binaries // for an agent: the binaries that it runs
	// Dial, if set, replaces Addresses and CACert; it connects within the process.
	Dial func(context.Context) (net.Conn, error) `json:"-"`
}

// Dial connects and logs in. The error is entity.Unavailable if the controller cannot be reached or is too busy,
// entity.Unauthorized if it rejects the tag or the password, entity.NotProvisioned if a machine has no instance
// recorded yet, and entity.NotFound if the model does not exist.
func Dial(ctx context.Context, info Info) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := connect(ctx, info)
	if err != nil {
		return nil, err
	}
	if err := c.login(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// connect is Dial without the login.
func connect(ctx context.Context, info Info) (*Conn, error) {
	d, err := newDialer(info)
	if err != nil {
		return nil, err
	}
	ws, address, err := d.any(ctx, "/api")
	if err != nil {
		return nil, err
	}
	d.address = address
	return newConn(ws, d), nil
}

// A dialer opens websockets and makes HTTP requests to one controller.
type dialer struct {
	info    Info
	tls     *tls.Config
	scheme  string // "" or "s"
	address string // the one that responded
}

func newDialer(info Info) (*dialer, error) {
	if info.Dial != nil {
		info.Addresses = []string{"memory"}
		return &dialer{info: info}, nil
	}
	if len(info.Addresses) == 0 {
		return nil, entity.Errorf(entity.Invalid, "cannot connect to the controller: no addresses")
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(info.CACert)) {
		return nil, entity.Errorf(entity.Invalid, "cannot connect to the controller: its CA certificate is not PEM")
	}
	return &dialer{info: info, scheme: "s",
		tls: &tls.Config{RootCAs: pool, ServerName: serverName, MinVersion: tls.VersionTLS12}}, nil
}

// netDial connects to the controller, for websockets and for HTTP.
func (d *dialer) netDial(ctx context.Context, network, address string) (net.Conn, error) {
	if d.info.Dial != nil {
		return d.info.Dial(ctx)
	}
	nd := net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return nd.DialContext(ctx, network, address)
}

// modelPath returns a path below the connection's model.
func (d *dialer) modelPath(path string) string {
	if d.info.Model == "" {
		return path
	}
	return "/model/" + d.info.Model + path
}

// any opens a websocket to the first address that responds.
func (d *dialer) any(ctx context.Context, path string) (*websocket.Conn, string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		ws      *websocket.Conn
		address string
		err     error
	}
	outcomes := make(chan outcome)
	for _, address := range d.info.Addresses {
		go func() {
			ws, err := d.websocket(ctx, address, path, nil)
			outcomes <- outcome{ws, address, err}
		}()
	}
	var first outcome
	var errs []error
	for range d.info.Addresses {
		switch o := <-outcomes; {
		case o.err != nil:
			errs = append(errs, o.err)
		case first.ws == nil:
			first = o
			cancel() // the other dials fail soon
		default:
			o.ws.Close()
		}
	}
	if first.ws == nil {
		return nil, "", errors.Join(errs...)
	}
	return first.ws, first.address, nil
}

// websocket opens a websocket at a path of the connection's model.
func (d *dialer) websocket(ctx context.Context, address, path string, header http.Header) (*websocket.Conn, error) {
	wd := websocket.Dialer{
		NetDialContext: d.netDial, TLSClientConfig: d.tls, HandshakeTimeout: 30 * time.Second,
		// Small buffers, because in tests thousands of agents share a process.
		ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10,
	}
	ws, response, err := wd.DialContext(ctx, "ws"+d.scheme+"://"+address+d.modelPath(path), header)
	if err == nil {
		return ws, nil
	}
	if response != nil && errors.Is(err, websocket.ErrBadHandshake) {
		defer response.Body.Close()
		if e := readError(response); e != nil {
			return nil, e
		}
		if response.StatusCode == http.StatusServiceUnavailable {
			return nil, entity.Errorf(entity.Unavailable, "cannot connect to the controller at %s: it is too busy; try again",
				address)
		}
		return nil, fmt.Errorf("cannot connect to the controller at %s: it responded with %s", address, response.Status)
	}
	var unknown x509.UnknownAuthorityError
	var badName x509.HostnameError
	if errors.As(err, &unknown) || errors.As(err, &badName) {
		// Retrying won't help: a different server is listening there.
		return nil, fmt.Errorf("cannot connect to the controller at %s: %w", address, err)
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		err = cause
	}
	return nil, entity.Errorf(entity.Unavailable, "cannot connect to the controller at %s: %w", address,
		noAnswer{err})
}

// ErrNoAnswer is in the chain of Dial's error if nothing responded.
var ErrNoAnswer = errors.New("no answer")

// noAnswer is a network error that is also ErrNoAnswer.
type noAnswer struct{ error }

func (e noAnswer) Unwrap() []error { return []error{e.error, ErrNoAnswer} }

// authorise adds the connection's credential to an HTTP request.
func (d *dialer) authorise(header http.Header) {
	r := http.Request{Header: header}
	r.SetBasicAuth(params.TagOf(d.info.Tag).String(), d.info.Password)
	if d.info.Nonce != "" {
		header.Set(params.NonceHeader, d.info.Nonce)
	}
}
