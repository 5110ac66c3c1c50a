package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
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
	Addresses []string // "host:port", tried in random order; the first where the login succeeds is used
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
	d, err := newDialer(info)
	if err != nil {
		return nil, err
	}
	return d.any(ctx, (*Conn).login)
}

// connect is Dial without the login.
func connect(ctx context.Context, info Info) (*Conn, error) {
	d, err := newDialer(info)
	if err != nil {
		return nil, err
	}
	return d.any(ctx, func(*Conn, context.Context) error { return nil })
}

// A dialer opens websockets and makes HTTP requests to one controller.
type dialer struct {
	info    Info
	tls     *tls.Config
	scheme  string // "" or "s"
	address string // of the connection
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

// How long an address may take to respond, and its controller to log the client in, before the next one is tried as well.
// A controller that can't reach the store takes a while to say so. A busy one takes a few seconds for a login, and must not
// make all its clients busy the others too.
const (
	nextDial  = 300 * time.Millisecond
	nextLogin = 5 * time.Second
)

// any connects to the first address where login succeeds. The order is random, so that clients spread over several
// controllers. If login fails for any other reason than Unavailable, the other controllers would say the same. A different
// server, at an address that was a controller's once, speaks for none of them. What a controller says about itself with a
// hint is the error, rather than that others can't be reached, and they have little more time then.
func (d *dialer) any(ctx context.Context, login func(*Conn, context.Context) error) (*Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		conn *Conn
		err  error
	}
	outcomes, opened := make(chan outcome), make(chan struct{})
	order := rand.Perm(len(d.info.Addresses))
	dialling := 0
	slow := time.NewTimer(nextDial)
	defer slow.Stop()
	dial := func() {
		if len(order) == 0 {
			return
		}
		address := d.info.Addresses[order[0]]
		order = order[1:]
		dialling++
		slow.Reset(nextDial)
		go func() {
			conn, err := d.open(ctx, address)
			if err == nil {
				opened <- struct{}{}
				if err = login(conn, ctx); err != nil {
					conn.Close()
				}
			}
			outcomes <- outcome{conn, err}
		}()
	}
	var first *Conn
	var certain, said error
	var errs []error
	for dial(); dialling > 0; {
		select {
		case <-slow.C:
			dial()
		case <-opened:
			slow.Reset(nextLogin)
		case o := <-outcomes:
			dialling--
			switch {
			case o.err == nil && first == nil:
				first, order = o.conn, nil
				cancel() // the others fail soon
			case o.err == nil:
				o.conn.Close()
			case first != nil, certain != nil:
			case entity.KindOf(o.err) == entity.Unavailable, errors.Is(o.err, ErrForeign):
				errs = append(errs, o.err)
				if said == nil && entity.Hint(o.err) != "" {
					said = o.err
					rest := time.AfterFunc(2*nextLogin, cancel)
					defer rest.Stop()
				}
				dial()
			default:
				certain, order = o.err, nil
				cancel()
			}
		}
	}
	switch {
	case first != nil:
		return first, nil
	case certain != nil:
		return nil, certain
	case said != nil:
		return nil, said
	}
	return nil, errors.Join(errs...)
}

// open connects to the controller at an address.
func (d *dialer) open(ctx context.Context, address string) (*Conn, error) {
	ws, err := d.websocket(ctx, address, "/api", nil)
	if err != nil {
		return nil, err
	}
	own := *d
	own.address = address
	return newConn(ws, &own), nil
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
		return nil, fmt.Errorf("cannot connect to the controller at %s: %w: %w", address, ErrForeign, err)
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		err = cause
	}
	return nil, entity.Errorf(entity.Unavailable, "cannot connect to the controller at %s: %w", address,
		noAnswer{err})
}

// ErrForeign is in the chain of Dial's error if a server has responded that has no certificate of the controller.
var ErrForeign = errors.New("a different server is listening there")

// ErrSilent is in the chain of Dial's error if a controller has accepted the connection, but did not answer the login in time.
var ErrSilent = errors.New("it accepts connections but does not answer")

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
