package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/params"
	"juju/doc/tools/verify"
	"juju/state/entity"
)

// A rawConn exchanges single frames, as a client that is not ours might.
type rawConn struct {
	testing.TB
	ws *websocket.Conn
	id uint64
}

func clientTLS() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(pki().ca.Cert))
	return &tls.Config{RootCAs: pool}
}

// raw connects to a path over TLS, without a login.
func (w *world) raw(path string) *rawConn {
	w.Helper()
	d := websocket.Dialer{TLSClientConfig: clientTLS(), HandshakeTimeout: verify.Patience}
	ws, _, err := d.DialContext(w.Context(), "wss://"+w.address+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { ws.Close() })
	return &rawConn{TB: w, ws: ws}
}

// rawMemory connects within the process.
func (w *world) rawMemory(path string) *rawConn {
	w.Helper()
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return w.server.Dial(ctx)
	}}
	ws, _, err := d.DialContext(w.Context(), "ws://memory"+path, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { ws.Close() })
	return &rawConn{TB: w, ws: ws}
}

func (w *world) modelPath() string { return "/model/" + w.st.UUID() + "/api" }

// send writes a request and returns its id.
func (r *rawConn) send(facade string, version int, method, watcher string, args any) uint64 {
	r.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		r.Fatal(err)
	}
	r.id++
	err = r.ws.WriteJSON(params.Request{RequestID: r.id, Type: facade, Version: version, ID: watcher, Request: method,
		Params: text})
	if err != nil {
		r.Fatal(err)
	}
	return r.id
}

// read reads the next reply.
func (r *rawConn) read() (reply params.Response) {
	r.Helper()
	if err := r.ws.SetReadDeadline(time.Now().Add(verify.Patience)); err != nil {
		r.Fatal(err)
	}
	if err := r.ws.ReadJSON(&reply); err != nil {
		r.Fatal(err)
	}
	return reply
}

// call makes one request and waits for its reply.
func (r *rawConn) call(facade string, version int, method string, args any) params.Response {
	r.Helper()
	id := r.send(facade, version, method, "", args)
	reply := r.read()
	if reply.RequestID != id {
		r.Fatalf("the reply to %d is to %d", id, reply.RequestID)
	}
	return reply
}

// do is call for requests with a result, a pointer or nil, which it reads from the reply.
func (r *rawConn) do(facade string, version int, method string, args, result any) error {
	r.Helper()
	reply := r.call(facade, version, method, args)
	if err := reply.Err(); err != nil || result == nil {
		return err
	}
	if err := json.Unmarshal(reply.Response, result); err != nil {
		r.Fatal(err)
	}
	return nil
}

// login logs in, or fails the test.
func (r *rawConn) login(tag entity.Tag, password, nonce string) *rawConn {
	r.Helper()
	reply := r.call("Admin", 3, "Login",
		params.LoginRequest{AuthTag: params.TagOf(tag), Credentials: password, Nonce: nonce})
	if err := reply.Err(); err != nil {
		r.Fatalf("%s cannot log in: %v", tag, err)
	}
	return r
}

// ended waits until the server closes the connection, and returns the code.
func (r *rawConn) ended() int {
	r.Helper()
	if err := r.ws.SetReadDeadline(time.Now().Add(verify.Patience)); err != nil {
		r.Fatal(err)
	}
	for {
		if _, _, err := r.ws.ReadMessage(); err != nil {
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				r.Fatal("the connection stays open")
			}
			if ce, ok := err.(*websocket.CloseError); ok {
				return ce.Code
			}
			return 0
		}
	}
}

// request makes a plain HTTP request below the model, as other clients do, and returns the
// status and the body.
func (w *world) request(method, path, as, password, content string, header ...string) (int, string) {
	w.Helper()
	r, err := http.NewRequestWithContext(w.Context(), method, "https://"+w.address+"/model/"+w.st.UUID()+path,
		strings.NewReader(content))
	if err != nil {
		w.Fatal(err)
	}
	r.SetBasicAuth(as, password)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: clientTLS(), DisableKeepAlives: true}}
	response, err := hc.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		w.Fatal(err)
	}
	return response.StatusCode, string(body)
}
