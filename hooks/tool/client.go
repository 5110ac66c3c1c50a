package tool

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// dialTimeout allows for an agent with a full queue of tools.
	dialTimeout = 10 * time.Second
	// replyTimeout is more than the agent gives itself for any tool, so it is
	// only for an agent that hangs.
	replyTimeout = 5 * time.Minute
)

// Streams are what a tool's process reads and writes.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Main runs the named tool with its arguments: it asks the agent whose socket is in the
// environment, writes the answer, and returns the exit code of the process. getenv reads the
// environment, as os.Getenv does.
func Main(name string, args []string, getenv func(string) string, io Streams) int {
	reply, err := call(name, args, getenv, io.Stdin)
	if err != nil {
		reply = Failure(err, hintOf(err))
	}
	out := io.Stdout
	if reply.Output != "" {
		if err := os.WriteFile(reply.Output, reply.Stdout, 0o666); err != nil {
			reply = Failure(fmt.Errorf("cannot write the output: %w", err), "")
		} else {
			reply.Stdout = nil
		}
	}
	if _, err := out.Write(reply.Stdout); err != nil {
		reply = Failure(fmt.Errorf("cannot write the output: %w", err), "")
	}
	io.Stderr.Write(reply.Stderr)
	return reply.Code
}

// hinted is an error with advice.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

func hintOf(err error) string {
	var h hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}

// call asks the agent to run the tool.
func call(name string, args []string, getenv func(string) string, stdin io.Reader) (Reply, error) {
	req := Request{Context: getenv(ContextVar), Tool: name}
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			req.Mended = append(req.Mended, i)
		}
		req.Args = append(req.Args, strings.ToValidUTF8(arg, "\uFFFD"))
	}
	socket := getenv(SocketVar)
	for _, v := range []struct{ name, value string }{{ContextVar, req.Context}, {SocketVar, socket}} {
		if v.value == "" {
			return Reply{}, hinted{fmt.Errorf("%s not set", v.name), "hook tools work only inside a hook"}
		}
	}
	conn, err := dial(socket, dialTimeout)
	if err != nil {
		return Reply{}, hinted{fmt.Errorf("cannot reach the unit agent: %w", err),
			"a hook tool works only while the hook that started it runs"}
	}
	defer conn.Close()
	reply, err := converse(conn, req, stdin)
	if err != nil {
		return Reply{}, hinted{fmt.Errorf("unit agent did not answer: %w", err),
			"the hook is over, or the agent has gone away"}
	}
	return reply, nil
}

// converse sends the request, hands over the files that the agent asks for, and
// returns the reply.
func converse(conn net.Conn, req Request, stdin io.Reader) (Reply, error) {
	conn.SetDeadline(time.Now().Add(replyTimeout))
	if err := writeMessage(conn, req); err != nil {
		return Reply{}, err
	}
	for {
		var a answer
		if err := readMessage(conn, &a); err != nil {
			return Reply{}, err
		}
		if a.Read == "" {
			return a.Reply, nil
		}
		var c content
		var err error
		if c.Data, err = readContent(a.Read, stdin); err != nil {
			c = content{Error: err.Error()}
		}
		conn.SetDeadline(time.Now().Add(replyTimeout))
		if err := writeMessage(conn, c); err != nil {
			return Reply{}, err
		}
	}
}

// readContent reads the named file, or stdin for "-".
func readContent(name string, stdin io.Reader) ([]byte, error) {
	r := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	} else {
		name = "the standard input"
	}
	data, err := io.ReadAll(io.LimitReader(r, MaxContent+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxContent {
		return nil, fmt.Errorf("%s holds more than %d bytes", name, MaxContent)
	}
	return data, nil
}
