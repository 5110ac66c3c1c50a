package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/debuglog"
	"juju/apiserver/params"
)

// A LogQuery selects lines of a model's log. Entities are names or tags, and may end in "*". A module includes the
// modules below it.
type LogQuery struct {
	IncludeEntity, ExcludeEntity []string
	IncludeModule, ExcludeModule []string
	Level                        string // the minimum, "" for all
	Replay                       bool   // from the oldest; else the last Backlog lines
	Backlog                      int
	Limit                        int  // the number of lines, 0 for no limit
	NoTail                       bool // end instead of waiting for more
}

func (q LogQuery) values() url.Values {
	v := url.Values{
		"includeEntity": q.IncludeEntity, "excludeEntity": q.ExcludeEntity,
		"includeModule": q.IncludeModule, "excludeModule": q.ExcludeModule,
	}
	for key, n := range map[string]int{"backlog": q.Backlog, "maxLines": q.Limit} {
		if n > 0 {
			v.Set(key, strconv.Itoa(n))
		}
	}
	for key, b := range map[string]bool{"replay": q.Replay, "noTail": q.NoTail} {
		if b {
			v.Set(key, "true")
		}
	}
	if q.Level != "" {
		v.Set("level", q.Level)
	}
	return v
}

// DebugLog calls line with each line of the model's log that the query selects, until line fails, the limit is reached,
// ctx or the connection ends or, with NoTail, the log is exhausted. At the limit and at the end of the log it returns
// nil.
func (c *Conn) DebugLog(ctx context.Context, q LogQuery, line func(debuglog.Message) error) error {
	s, err := c.stream(ctx, "/log?"+q.values().Encode())
	if err != nil {
		return err
	}
	defer s.close()
	for {
		var m debuglog.Message
		if err := s.read(&m); websocket.IsCloseError(err, websocket.CloseNormalClosure) {
			return nil
		} else if err != nil {
			return s.why(err)
		}
		if err := line(m); err != nil {
			return err
		}
	}
}

// A LogSink sends an agent's log to the controller.
type LogSink struct {
	s       *socket
	writing sync.Mutex
}

// LogSink opens a LogSink. It ends with ctx or with the connection.
func (c *Conn) LogSink(ctx context.Context) (*LogSink, error) {
	s, err := c.stream(ctx, "/logsink")
	if err != nil {
		return nil, err
	}
	s.tasks.Go(func() { // responds to the server's pings and detects the end
		for {
			var nothing struct{}
			if err := s.read(&nothing); err != nil {
				s.cancel(err)
				return
			}
		}
	})
	return &LogSink{s: s}, nil
}

// Send sends one line. If the controller is slow, it blocks for a limited time.
func (l *LogSink) Send(record params.LogRecord) error {
	text, err := json.Marshal(record)
	if err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if err = l.s.ws.SetWriteDeadline(time.Now().Add(writeTime)); err == nil {
		err = l.s.ws.WriteMessage(websocket.TextMessage, text)
	}
	if err != nil {
		return l.s.why(err)
	}
	return nil
}

// Close closes the sink.
func (l *LogSink) Close() error {
	bye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = l.s.ws.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
	l.s.close()
	return nil
}

// A socket is a websocket of its own, which carries no requests.
type socket struct {
	ws     *websocket.Conn
	ctx    context.Context
	cancel context.CancelCauseFunc
	stops  []func() bool
	tasks  sync.WaitGroup
}

// stream opens a socket at a path of the connection's model and reads the server's greeting.
func (c *Conn) stream(ctx context.Context, path string) (*socket, error) {
	header := http.Header{}
	c.dialer.authorise(header)
	dialCtx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	ws, err := c.dialer.websocket(dialCtx, c.dialer.address, path, header)
	if err != nil {
		return nil, err
	}
	s := &socket{ws: ws}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.stops = []func() bool{
		context.AfterFunc(c.ctx, func() { s.cancel(lost(c.Err())) }),
		context.AfterFunc(s.ctx, func() { ws.Close() }),
	}
	ws.SetReadLimit(1 << 20)
	ws.SetPingHandler(func(text string) error {
		_ = ws.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(writeTime))
		return ws.SetReadDeadline(time.Now().Add(silence))
	})
	var greeting params.ErrorResult
	if err := s.read(&greeting); err != nil {
		defer s.close()
		return nil, s.why(err)
	}
	if greeting.Error != nil {
		defer s.close()
		return nil, params.FromError(greeting.Error)
	}
	return s, nil
}

func (s *socket) read(v any) error {
	if err := s.ws.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return err
	}
	return s.ws.ReadJSON(v)
}

// why returns the cause of an error on the socket.
func (s *socket) why(err error) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	return lost(err)
}

func (s *socket) close() {
	s.cancel(errClosed)
	s.ws.Close()
	s.tasks.Wait()
	for _, stop := range s.stops {
		stop()
	}
}
