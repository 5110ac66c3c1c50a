package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/debuglog"
	"juju/apiserver/params"
	"juju/state/entity"
)

// A log comes over a connection of its own, until its end, or as long as the reader wants.
func TestDebugLog(t *testing.T) {
	t.Parallel()
	asked, ends := "", make(chan error, 1)
	greeting, code := `{}`, websocket.CloseNormalClosure
	f := &fakeServer{other: func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked = fmt.Sprint(r.URL.Path, " ", r.URL.Query(), " ", user, ":", password)
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		for _, text := range []string{greeting, `{"msg":"one"}`, `{"msg":"two"}`} {
			_ = ws.WriteMessage(websocket.TextMessage, []byte(text))
		}
		if code != 0 {
			_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Minute))
		}
		_, _, err = ws.ReadMessage()
		ends <- err
	}}
	c := f.dial(t)
	var lines []string
	add := func(m debuglog.Message) error {
		lines = append(lines, m.Message)
		return nil
	}
	for _, test := range []struct {
		q    LogQuery
		want string
	}{
		{LogQuery{}, "map[]"},
		{LogQuery{Level: "INFO", Backlog: 1, NoTail: true}, "map[backlog:[1] level:[INFO] noTail:[true]]"},
		{LogQuery{IncludeEntity: []string{"web/0", "0"}, ExcludeModule: []string{"juju"}, Limit: 2, Replay: true},
			"map[excludeModule:[juju] includeEntity:[web/0 0] maxLines:[2] replay:[true]]"},
		{LogQuery{ExcludeEntity: []string{"db/*"}, IncludeModule: []string{"unit"}}, "map[excludeEntity:[db/*] includeModule:[unit]]"},
	} {
		lines = nil
		err := c.DebugLog(t.Context(), test.q, add)
		if want := "/model/u/log " + test.want + " user-bob:secret"; err != nil || asked != want || strings.Join(lines, " ") != "one two" {
			t.Errorf("read %q, %v; asked\n%s, want\n%s", lines, err, asked, want)
		}
		<-ends
	}
	code = websocket.CloseGoingAway
	if err := c.DebugLog(t.Context(), LogQuery{}, add); !errors.Is(err, entity.Unavailable) {
		t.Errorf("a controller that goes away: %v", err)
	}
	<-ends
	code = 0
	enough := errors.New("enough")
	if err := c.DebugLog(t.Context(), LogQuery{}, func(debuglog.Message) error { return enough }); err != enough {
		t.Errorf("a reader who stops: %v", err)
	}
	if err := <-ends; err == nil {
		t.Error("the controller sends on")
	}
	greeting = `{"error":{"message":"no","code":"bad request"}}`
	if err := c.DebugLog(t.Context(), LogQuery{Level: "X"}, add); err == nil || err.Error() != "no" || entity.KindOf(err) == "" {
		t.Errorf("a query that is refused: %v", err)
	}
	<-ends
	greeting = `{}`
	read := make(chan bool, 2)
	go func() {
		<-read
		<-read
		c.Close()
	}()
	err := c.DebugLog(t.Context(), LogQuery{}, func(debuglog.Message) error { read <- true; return nil })
	if err != error(errClosed) {
		t.Errorf("a connection that is closed: %v", err)
	}
	<-ends
}

// A sink sends lines until it is closed, or the controller closes it.
func TestLogSinks(t *testing.T) {
	t.Parallel()
	got, bye := make(chan string), make(chan bool)
	f := &fakeServer{other: func(w http.ResponseWriter, r *http.Request) {
		ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.Close()
		_ = ws.WriteMessage(websocket.TextMessage, []byte("{}"))
		for {
			_, text, err := ws.ReadMessage()
			if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				text = []byte("closed")
			}
			got <- r.URL.Path + " " + string(text)
			if err != nil || <-bye {
				return
			}
		}
	}}
	c := f.dial(t)
	record := params.LogRecord{Message: "one"}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	open := func(ends bool) *LogSink {
		t.Helper()
		sink, err := c.LogSink(t.Context())
		if err == nil {
			err = sink.Send(record)
		}
		if line := <-got; err != nil || line != "/model/u/logsink "+string(text) {
			t.Errorf("the controller got %s, %v", line, err)
		}
		bye <- ends
		return sink
	}
	sink := open(false)
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
	if line := <-got; line != "/model/u/logsink closed" {
		t.Errorf("the controller got %s", line)
	}
	if err := sink.Send(record); err != error(errClosed) {
		t.Errorf("after its end: %v", err)
	}
	sink = open(true)
	<-sink.s.ctx.Done() // it notices without sending
	if err := sink.Send(record); err == nil {
		t.Error("a line is sent to a controller that is gone")
	}
	sink.Close()
}
