package facades_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/gorilla/websocket"

	"juju/apiserver/client"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/entity"
)

// client returns our client's API, over a pipe in memory.
func (c *caller) client() *client.Conn {
	c.Helper()
	conns := make(pipes)
	server := &http.Server{Handler: c.mux()}
	go server.Serve(conns)
	conn, err := client.Dial(c.Context(), client.Info{Model: c.model, Tag: c.id.Tag, Dial: conns.dial})
	c.ok(err)
	c.Cleanup(func() {
		conn.Close()
		close(conns)
		server.Close()
	})
	return conn
}

// mux serves the API and the files of the model.
func (c *caller) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/api", c.serve)
	mux.HandleFunc("/model/{uuid}/api", c.serve)
	for _, e := range facades.Endpoints() {
		mux.HandleFunc(e.Method+" /model/{uuid}"+e.Path, func(w http.ResponseWriter, r *http.Request) {
			if err := c.visit(e, w, r); err != nil {
				_, _ = io.Copy(io.Discard, r.Body) // a pipe takes nothing more once it is closed
				told := facades.WireError(r.URL.Path, err)
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(params.CharmsResponse{Error: told.Message, ErrorCode: told.Code, ErrorInfo: told.Info})
			}
		})
	}
	return mux
}

// visit serves a file, or receives one.
func (c *caller) visit(e facades.Endpoint, w http.ResponseWriter, r *http.Request) error {
	id, st, err := c.who(r.Context())
	if err != nil {
		return err
	}
	if id.Roles&e.Who == 0 {
		return facades.Lacks(id, st, e.Who)
	}
	if err := e.Effect.AllowedAt(r.Context(), st); err != nil {
		return err
	}
	return e.Serve(&facades.Visitor{Identity: id, Backend: c.backend, Model: st, Transfer: transfer{c, w, r}}, w, r)
}

// request makes a plain HTTP request below the model, and returns the error and the body of the answer.
func (c *caller) request(method, path, content string, header ...string) (body string, err error) {
	c.Helper()
	r := httptest.NewRequestWithContext(c.ctx, method, "/model/"+c.model+path, strings.NewReader(content))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.mux().ServeHTTP(w, r)
	if w.Code == http.StatusOK {
		return w.Body.String(), nil
	}
	var told params.CharmsResponse
	c.ok(json.Unmarshal(w.Body.Bytes(), &told))
	return "", params.FromError(&params.Error{Message: told.Error, Code: told.ErrorCode, Info: told.ErrorInfo})
}

// A transfer is the HTTP request of a visitor.
type transfer struct {
	*caller
	w http.ResponseWriter
	r *http.Request
}

// Receive implements facades.Transfer, as do the methods below.
func (t transfer) Receive(limit int64, what string) (*os.File, func(), error) {
	file, err := os.CreateTemp(t.TempDir(), "upload")
	if err != nil {
		return nil, nil, err
	}
	n, err := io.Copy(file, io.LimitReader(t.r.Body, limit+1))
	if err == nil && n > limit {
		err = entity.TooLarge(what, limit)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	return file, func() { file.Close() }, err
}

// Send implements facades.Transfer.
func (t transfer) Send(file io.Reader, sum, _ string) error {
	t.w.Header().Set(params.SHA256Header, sum)
	_, err := io.Copy(t.w, file)
	return err
}

// Progress implements facades.Transfer.
func (transfer) Progress(int64) {}

// Reply implements facades.Transfer.
func (t transfer) Reply(v any) { _ = json.NewEncoder(t.w).Encode(v) }

// serve answers the requests of a client, several at once.
func (c *caller) serve(w http.ResponseWriter, r *http.Request) {
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	var requests sync.WaitGroup
	defer requests.Wait()
	defer ws.Close()
	defer c.end()
	var writing sync.Mutex
	for {
		var req params.Request
		if ws.ReadJSON(&req) != nil {
			return
		}
		requests.Go(func() {
			if frame, err := c.answer(c.ctx, &req); err == nil {
				writing.Lock()
				defer writing.Unlock()
				_ = ws.WriteMessage(websocket.TextMessage, frame)
			}
		})
	}
}

// pipes is a listener within the process.
type pipes chan net.Conn

func (p pipes) dial(context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p <- theirs
	return ours, nil
}

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.UnixAddr{} }
