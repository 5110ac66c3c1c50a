package charmstore

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	maxConnections = 512
	headerTime     = 30 * time.Second
	stallTime      = time.Minute // for which a client may send or take nothing
	idleTime       = 2 * time.Minute
	closeTime      = 10 * time.Second // for requests that run when the server ends
)

// Serve serves until ctx ends, over TLS if there are files with a certificate and its key.
func (s *Server) Serve(ctx context.Context, l net.Listener, certFile, keyFile string) error {
	server := &http.Server{Handler: unstalled{s}, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	l = netutil.LimitListener(l, maxConnections)
	ended := make(chan error, 1)
	go func() {
		if certFile != "" {
			ended <- server.ServeTLS(l, certFile, keyFile)
		} else {
			ended <- server.Serve(l)
		}
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err := errors.Join(server.Shutdown(closing), server.Close())
	<-ended
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil // a download was cut off, and its client goes on
	}
	return err
}

// unstalled ends a request whose client sends, or takes, nothing for a while.
type unstalled struct{ http.Handler }

func (u unstalled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	r.Body = body{r.Body, control}
	u.Handler.ServeHTTP(writer{w, control}, r)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
}

type body struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b body) Read(p []byte) (int, error) {
	if err := b.control.SetReadDeadline(time.Now().Add(stallTime)); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

type writer struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (w writer) Write(p []byte) (int, error) {
	if err := w.control.SetWriteDeadline(time.Now().Add(stallTime)); err != nil {
		return 0, err
	}
	return w.ResponseWriter.Write(p)
}
