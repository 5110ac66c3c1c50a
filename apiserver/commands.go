package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"juju/apiserver/admission"
	"juju/apiserver/commandline"
	"juju/apiserver/facades"
	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

// commandsInLine is how many requests for commands may wait for those before them on a connection.
const commandsInLine = 4

var errImpatient = errors.New("too many commands are waiting")

// serveCommands runs command lines of the CLI in a model, over a websocket, as Juju's dashboard sends them. Each frame of
// the client has command lines and a login of its own, and is answered by a frame for each line of output, and one that
// says that they are done. Between them the connection counts as not logged in.
func (s *Server) serveCommands(w http.ResponseWriter, r *http.Request) {
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has responded
	}
	ctx, cancel := context.WithCancelCause(r.Context().Value(serveKey{}).(context.Context))
	c := &commander{commandRunner{Server: s, uuid: r.PathValue("uuid"), addr: ws.NetConn().RemoteAddr(), netConn: netConnOf(r.Context()), cancel: cancel}, ws}
	s.active.Go(func() { c.serve(ctx) })
}

// A commander is a client that sends command lines.
type commander struct {
	commandRunner
	ws *websocket.Conn
}

// A commandRunner runs command lines for a client.
type commandRunner struct {
	*Server
	uuid    string   // of the model
	addr    net.Addr // of the client
	netConn *admission.Conn
	cancel  context.CancelCauseFunc // ends them, when the user or the model ends
	plans   bool                    // says only what they would lead to
}

func (c *commander) serve(ctx context.Context) {
	defer c.cancel(errGone)
	closing := sync.OnceFunc(func() {
		code := websocket.CloseGoingAway
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, errNoLogin), errors.Is(cause, errImpatient):
			code = websocket.ClosePolicyViolation
		case errors.Is(cause, errCrowded):
			code = websocket.CloseTryAgainLater
		case errors.Is(cause, errGone):
			code = websocket.CloseNormalClosure
		}
		_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, context.Cause(ctx).Error()),
			time.Now().Add(time.Second))
		c.ws.Close()
	})
	stop := context.AfterFunc(ctx, closing)
	reading := make(chan struct{})
	defer func() {
		c.cancel(errGone)
		if stop() {
			closing()
		}
		<-reading
	}()
	c.netConn.OnEvict(func() { c.cancel(errCrowded) })
	ping := c.pinging(ctx, c.ws, noText)
	defer ping.Stop()
	requests := make(chan params.CLICommands, commandsInLine)
	go func() {
		defer close(reading)
		c.read(ctx, requests)
	}()
	if err := c.write(struct{}{}); err != nil {
		return
	}
	silent := time.NewTimer(c.limits.LoginTime)
	defer silent.Stop()
	for {
		silent.Reset(c.limits.LoginTime)
		select {
		case <-ctx.Done():
			return
		case <-silent.C:
			c.cancel(errNoLogin)
		case r := <-requests:
			if err := c.answer(ctx, r); err != nil {
				return
			}
			if int(c.netConn.Failed.Load()) >= c.limits.Logins {
				return
			}
		}
	}
}

// read reads requests until the client disconnects, also while one is executed.
func (c *commander) read(ctx context.Context, requests chan<- params.CLICommands) {
	defer c.cancel(errGone)
	alive := func(string) error { return c.ws.SetReadDeadline(time.Now().Add(c.limits.Silence)) }
	c.ws.SetPongHandler(alive)
	for alive("") == nil {
		_, frame, err := readFrame(ctx, c.ws, nil, c.limits.LoginFrame)
		var r params.CLICommands
		if err == nil {
			err = json.Unmarshal(frame, &r)
		}
		if err != nil {
			return
		}
		select {
		case requests <- r:
		default:
			c.cancel(errImpatient)
			return
		}
	}
}

func (c *commander) write(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = c.ws.SetWriteDeadline(time.Now().Add(c.limits.WriteTime))
	}
	if err != nil {
		return err
	}
	return c.ws.WriteMessage(websocket.TextMessage, append(text, '\n')) // Juju's clients read up to the end of the line
}

func (c *commander) print(line string) error {
	return c.write(params.CLIStatus{Output: []string{line}})
}

// answer executes a request. Its error ends the connection; that of the request is shown to the user.
func (c *commander) answer(ctx context.Context, r params.CLICommands) error {
	err := c.run(ctx, r, c.print)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	status := params.CLIStatus{Done: true}
	if err != nil {
		status.Error = facades.WireError(r.User+"@"+c.addr.String()+": commands", err)
		if err := c.print("ERROR " + status.Error.Message); err != nil { // the dashboard shows lines only
			return err
		}
	}
	return c.write(status)
}

// run logs in and runs the commands, one after the other, and passes each line that they print to print.
func (c *commandRunner) run(ctx context.Context, r params.CLICommands, print func(string) error) error {
	if len(c.config.CommandLine) == 0 {
		return entity.Errorf(entity.NotSupported, "this controller runs no commands")
	}
	if r.User == "" || len(r.Macaroons) > 0 && r.Credentials == "" {
		return entity.Errorf(entity.Unauthorized, "a command needs a user and a password")
	}
	idle := c.netConn.Busy()
	defer idle()
	ctx = controller.Began(ctx)
	login, stop := context.WithTimeout(ctx, c.limits.UserWait+c.limits.LoginTime)
	id, model, err := c.authenticate(login, c.uuid, credential{entity.UserTag(r.User), r.Credentials, "", c.netConn})
	stop()
	if err != nil {
		c.failed(c.netConn, c.addr.String(), entity.Named(r.User)+" cannot run commands", err)
		return err
	}
	if err := c.steady(ctx); err != nil {
		return err
	}
	leave, err := c.admit(c.uuid, id)
	if err != nil {
		return err
	}
	defer leave()
	c.netConn.Authenticated()
	defer c.netConn.Unauthenticated()
	ended, _, _ := c.commanding.Take(id.Tag, c.limits.UserCommands, c.limits.Commands)
	if ended == nil {
		return entity.Errorf(entity.Unavailable, "too many commands are running on the controller; try again when one has ended")
	}
	defer ended()
	defer c.ending.join(c.Server, model, id, c.cancel)()
	row, err := c.controller.ModelRow(ctx, c.uuid)
	if err != nil {
		return err
	}
	for _, text := range r.Commands {
		addresses, ca := c.config.API()
		request := commandline.Request{
			Text: text, Plan: c.plans, User: id.Tag.ID, Password: r.Credentials, ControllerName: c.config.Controller.Name(), Controller: c.config.Controller.UUID(),
			Cloud: c.config.Controller.Cloud(), CloudName: c.config.CloudSpec.Name,
			Addresses: addresses, CACert: ca, Model: row.Owner + "/" + row.Name, UUID: c.uuid,
		}
		bound := commandline.Bound{Time: c.limits.CommandTime, Output: c.limits.CommandOutput}
		accept := func(conn net.Conn) error { return c.handed.hand(ctx, fromUser{conn, c.addr}) }
		if err := commandline.Run(ctx, c.config.CommandLine, request, bound, accept, print); err != nil {
			return entity.Errorf(entity.Invalid, "the command was stopped: %w", err)
		}
	}
	return nil
}

// fromUser is a connection that a command opens: it counts as one from where the user is.
type fromUser struct {
	net.Conn
	remote net.Addr
}

// RemoteAddr implements net.Conn.
func (c fromUser) RemoteAddr() net.Addr { return c.remote }
