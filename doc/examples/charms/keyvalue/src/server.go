package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strings"
	"sync"
	"time"
)

const (
	maxLine  = 64 << 10        // bytes per command
	maxKey   = 256             // bytes
	maxConns = 256             // more clients must wait
	maxIdle  = 5 * time.Minute // between a client's commands
	maxWrite = 10 * time.Second
)

type server struct {
	store       *store
	log         *log.Logger
	logCommands bool
}

// serve answers clients until ctx is done, then finishes the commands in progress and returns
// nil.
func (s *server) serve(ctx context.Context, listener net.Listener) error {
	var clients sync.WaitGroup
	defer clients.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	free := make(chan struct{}, maxConns)
	for {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err != nil {
			return err
		}
		clients.Go(func() {
			defer func() { <-free }()
			s.client(ctx, conn)
		})
	}
}

// client serves one client, command by command.
func (s *server) client(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	// An idle client must not delay the shutdown.
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Unix(1, 0)) })()
	in := bufio.NewReaderSize(conn, maxLine)
	for ctx.Err() == nil {
		conn.SetReadDeadline(time.Now().Add(maxIdle))
		if ctx.Err() != nil {
			return // ctx may have ended before the deadline was reset
		}
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			s.reply(conn, fmt.Sprintf("ERROR line is longer than %d bytes", maxLine))
			return
		} else if err != nil {
			return
		}
		command := strings.TrimRight(string(line), "\r\n")
		answer := s.do(command)
		if s.logCommands {
			s.log.Printf("%s: %q: %q", conn.RemoteAddr(), command, answer)
		}
		if err := s.reply(conn, answer); err != nil {
			return
		}
	}
}

func (s *server) reply(conn net.Conn, answer string) error {
	conn.SetWriteDeadline(time.Now().Add(maxWrite))
	_, err := io.WriteString(conn, answer+"\n")
	return err
}

// do executes a command and returns the answer.
func (s *server) do(command string) string {
	verb, rest, _ := strings.Cut(command, " ")
	key, value, hasValue := strings.Cut(rest, " ")
	verb = strings.ToUpper(verb)
	switch {
	case verb != "GET" && verb != "SET" && verb != "INCR":
		return "ERROR expected GET key, SET key value, or INCR key"
	case !validKey(key):
		return fmt.Sprintf("ERROR a key is 1 to %d bytes without spaces", maxKey)
	case hasValue != (verb == "SET"):
		return map[bool]string{true: "ERROR one key only", false: "ERROR expected a value after the key"}[hasValue]
	}
	switch verb {
	case "SET":
		if err := s.store.set(key, value); err != nil {
			return s.failed(err)
		}
		return "OK"
	case "INCR":
		n, err := s.store.incr(key)
		if err != nil {
			return s.failed(err)
		}
		return fmt.Sprintf("VALUE %d", n)
	}
	if value, ok := s.store.get(key); ok {
		return "VALUE " + value
	}
	return "NONE"
}

func (s *server) failed(err error) string {
	s.log.Print(err)
	return "ERROR " + strings.ReplaceAll(err.Error(), "\n", "; ")
}

func validKey(key string) bool {
	return key != "" && len(key) <= maxKey &&
		!strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f })
}
