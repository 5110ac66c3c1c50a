package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/debuglog"
	"juju/apiserver/facades"
	"juju/apiserver/logs"
	"juju/apiserver/params"
	"juju/state/budget"
	"juju/state/entity"
)

const (
	// maxLogFrame limits the size of a frame from an agent.
	maxLogFrame = 256 << 10
	// maxBacklog limits the number of messages that debug-log holds in memory before it sends them.
	maxBacklog = 10_000
)

// serveDebugLog streams a model's log over a websocket. The first frame is an error, or {} if there is none; each of
// the others is a debuglog.Message. The query parameters are Juju's.
func serveDebugLog(s *Server, v *visitor, w http.ResponseWriter, r *http.Request) error {
	q, err := logQuery(r.URL.Query())
	if err != nil {
		return err
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil // the upgrader has responded
	}
	ctx, done, end := s.streaming(r, ws, v, facades.Reader)
	defer done()
	h := s.hold(v.model.UUID(), v.identity, end)
	defer h.Close()
	q.Keep = keeping(ctx, h)
	write := func(text []byte) error {
		if err := ws.SetWriteDeadline(time.Now().Add(s.limits.WriteTime)); err != nil {
			return err
		}
		return ws.WriteMessage(websocket.TextMessage, text)
	}
	if err := write([]byte("{}\n")); err != nil { // Juju's clients read up to the end of the line
		return nil
	}
	err = s.followLog(ctx, v, q, func(m debuglog.Message) error {
		h.Idle() // while the client reads, the memory can be reclaimed for others
		defer h.Busy()
		text, err := json.Marshal(m)
		if err != nil {
			return err
		}
		return write(text)
	})
	if ctx.Err() != nil {
		return nil // streaming closes the socket
	}
	code, why := websocket.CloseNormalClosure, ""
	if errors.Is(err, entity.Unavailable) {
		code, why = websocket.CloseTryAgainLater, err.Error()
	} else if err != nil {
		logger.Debugf("%s@%s: debug-log: %v", v.Tag, r.RemoteAddr, err)
		code, why = websocket.CloseInternalServerErr, params.Internal
	}
	_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why), time.Now().Add(time.Second))
	return nil
}

// keeping returns the Keep of a query, which reserves memory.
func keeping(ctx context.Context, h *budget.Hold) func(bytes int64) error {
	return func(bytes int64) error {
		if bytes < 0 {
			h.Force(bytes)
			return nil
		}
		return h.Grow(ctx, bytes)
	}
}

// followLog follows a model's log: the part that this controller has, for another controller, and all parts for a user.
func (s *Server) followLog(ctx context.Context, v *visitor, q logs.Query, send func(debuglog.Message) error) error {
	model := v.model.UUID()
	own := func(ctx context.Context, q logs.Query, send func(debuglog.Message) error) error {
		return s.config.Logs.Follow(ctx, model, q, send)
	}
	var others []logs.Source
	if s.config.OtherLogs != nil && v.Tag.Kind == entity.KindUser {
		others = s.config.OtherLogs(ctx, model)
	}
	if len(others) == 0 {
		return own(ctx, q, send)
	}
	return logs.Merge(ctx, append(others, logs.Source{Name: "this controller", Follow: own}), q, send)
}

// logQuery parses the query parameters of debug-log.
func logQuery(values url.Values) (q logs.Query, err error) {
	number := func(key string) int {
		text := values.Get(key)
		if text == "" {
			return 0
		}
		n, convErr := strconv.ParseUint(text, 10, 31)
		if convErr != nil {
			err = entity.Errorf(entity.Invalid, "%s value %q is not a valid unsigned number", key, text)
		}
		return int(n)
	}
	flag := func(key string) bool {
		text := values.Get(key)
		if text == "" {
			return false
		}
		b, convErr := strconv.ParseBool(text)
		if convErr != nil {
			err = entity.Errorf(entity.Invalid, "%s value %q is not a valid boolean", key, text)
		}
		return b
	}
	q = logs.Query{
		Filter: logs.Filter{
			Level:         values.Get("level"),
			IncludeEntity: values["includeEntity"], ExcludeEntity: values["excludeEntity"],
			IncludeModule: values["includeModule"], ExcludeModule: values["excludeModule"],
		},
		Replay: flag("replay"), NoTail: flag("noTail"),
		Backlog: min(number("backlog"), maxBacklog), Limit: number("maxLines"),
	}
	if err == nil {
		err = q.Filter.Check()
	}
	return q, err
}

// serveLogSink receives an agent's log over a websocket, one params.LogRecord per frame. The agent is identified by its
// login, not by the record.
func serveLogSink(s *Server, v *visitor, w http.ResponseWriter, r *http.Request) error {
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil
	}
	ctx, from := r.Context().Value(serveKey{}).(context.Context), r.RemoteAddr
	s.goOn(v, func() { s.receiveLog(ctx, v, ws, from) })
	return nil
}

// receiveLog receives an agent's log until it disconnects or ctx ends.
func (s *Server) receiveLog(ctx context.Context, v *visitor, ws *websocket.Conn, from string) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errGone)
	defer s.ending.join(s, v.model, v.identity, cancel)()
	closing := sync.OnceFunc(func() { closeStream(ctx, ws) })
	defer closing()
	defer context.AfterFunc(ctx, closing)()
	ping := s.pinging(ctx, ws, noText)
	defer ping.Stop()
	alive := func(string) error { return ws.SetReadDeadline(time.Now().Add(s.limits.Silence)) }
	ws.SetPongHandler(alive)
	if err := ws.WriteMessage(websocket.TextMessage, []byte("{}")); err != nil {
		return
	}
	for {
		if err := alive(""); err != nil {
			return
		}
		if err := s.receiveRecord(ctx, v, ws, from, cancel); err != nil {
			return
		}
	}
}

// receiveRecord receives one line of an agent's log, once there is memory for it.
func (s *Server) receiveRecord(
	ctx context.Context, v *visitor, ws *websocket.Conn, from string, end context.CancelCauseFunc,
) error {
	h := s.hold(v.model.UUID(), v.identity, end)
	defer h.Close()
	_, frame, err := readFrame(ctx, ws, h, maxLogFrame)
	if err != nil {
		return err
	}
	var record params.LogRecord
	if err := json.Unmarshal(frame, &record); err != nil {
		return err
	}
	err = s.config.Logs.Append(v.model.UUID(), debuglog.Message{
		Entity: v.Tag.String(), Timestamp: record.Time, Severity: record.Level,
		Module: record.Module, Location: record.Location, Message: record.Message,
	})
	if err != nil {
		logger.Warningf("%s@%s: %v", v.Tag, from, err)
	}
	return err
}

// closeStream closes a websocket that only streams. If the client's access was revoked, it is told so.
func closeStream(ctx context.Context, ws *websocket.Conn) {
	if errors.Is(context.Cause(ctx), errRevoked) {
		bye := websocket.FormatCloseMessage(params.CloseRevoked, errRevoked.Error())
		_ = ws.WriteControl(websocket.CloseMessage, bye, time.Now().Add(time.Second))
	}
	ws.Close()
}

// streaming returns a context for a websocket whose client only listens. It ends when the client disconnects or no
// longer has any of the roles, or when the server stops. done ends it and closes the socket; end ends it with a cause.
func (s *Server) streaming(
	r *http.Request, ws *websocket.Conn, v *visitor, who facades.Roles,
) (ctx context.Context, done func(), end context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(r.Context().Value(serveKey{}).(context.Context))
	leave := s.ending.join(s, v.model, v.identity, cancel)
	closing := sync.OnceFunc(func() { closeStream(ctx, ws) })
	stop := context.AfterFunc(ctx, closing)
	ping := s.pinging(ctx, ws, noText)
	reading := make(chan struct{})
	go func() { // detects a disconnect, and reads the pongs
		defer close(reading)
		defer cancel(errGone)
		alive := func(string) error { return ws.SetReadDeadline(time.Now().Add(s.limits.Silence)) }
		ws.SetPongHandler(alive)
		ws.SetReadLimit(1 << 10)
		for alive("") == nil {
			if _, _, err := ws.ReadMessage(); err != nil {
				return
			}
		}
	}()
	following := make(chan struct{})
	go func() {
		defer close(following)
		if v.Tag.Kind != entity.KindUser {
			return // the roles of an agent don't change
		}
		model := r.PathValue("uuid")
		look := func() (identity, error) { return s.identifyBy(ctx, v.identity, model) }
		followRights(ctx, v.Tag, s.watchRights(ctx, v.identity, model), look, func(now facades.Roles) {
			if now&who == 0 {
				cancel(errRevoked)
			}
		})
		cancel(errBye)
	}()
	return ctx, func() {
		leave()
		ping.Stop()
		cancel(errGone)
		stop()
		closing()
		<-reading
		<-following
	}, cancel
}
