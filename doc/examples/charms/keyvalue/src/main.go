package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

const usage = `usage:
  keyvalue serve --listen HOST:PORT --data FILE [--log-commands]
  keyvalue get KEY --addr HOST:PORT
  keyvalue set KEY VALUE --addr HOST:PORT
  keyvalue incr KEY --addr HOST:PORT
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 1 on failure or if get finds no value, 2 on a usage error.
func run(ctx context.Context, args []string, stdout io.WriteCloser, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	var wrong usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "keyvalue: %s\n%s", err, usage)
		return 2
	}
	fmt.Fprintf(stderr, "keyvalue: %s\n", err)
	return 1
}

type usageError string

func (e usageError) Error() string { return string(e) }

func dispatch(ctx context.Context, args []string, stdout io.WriteCloser, stderr io.Writer) error {
	if len(args) == 0 {
		return usageError("no command")
	}
	command, args := args[0], args[1:]
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	if command == "serve" {
		listen := flags.String("listen", "", "")
		data := flags.String("data", "", "")
		logCommands := flags.Bool("log-commands", false, "")
		if rest, err := parse(flags, args); err != nil {
			return err
		} else if len(rest) > 0 || *listen == "" || *data == "" {
			return usageError("serve needs --listen and --data, and takes no arguments")
		}
		return serve(ctx, *listen, *data, *logCommands, stdout, stderr)
	}
	operands := map[string]int{"get": 1, "set": 2, "incr": 1}[command]
	if operands == 0 {
		return usageError(fmt.Sprintf("unknown command %q", command))
	}
	addr := flags.String("addr", "", "")
	rest, err := parse(flags, args)
	if err != nil {
		return err
	}
	if *addr == "" || len(rest) != operands {
		return usageError(fmt.Sprintf("%s needs --addr and %d more", command, operands))
	}
	if !validKey(rest[0]) {
		return usageError(fmt.Sprintf("a key is 1 to %d bytes without spaces", maxKey))
	}
	value, err := ask(*addr, strings.ToUpper(command)+" "+strings.Join(rest, " "))
	if err != nil {
		return fmt.Errorf("cannot %s %s: %w", command, rest[0], err)
	}
	if command != "set" {
		fmt.Fprintln(stdout, value)
	}
	return nil
}

// parse accepts flags in any position before "--", and returns the other arguments.
func parse(flags *flag.FlagSet, args []string) (rest []string, err error) {
	var plain []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, plain = args[:i], args[i+1:]
	}
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, usageError(err.Error())
		}
		if args = flags.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return append(rest, plain...), nil
}

func serve(ctx context.Context, listen, data string, logCommands bool, stdout io.WriteCloser, stderr io.Writer) error {
	logger := log.New(stderr, "keyvalue: ", log.LstdFlags|log.LUTC)
	st, err := openStore(data)
	if err != nil {
		return err
	}
	defer st.close()
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	logger.Printf("listening on %s, %d keys", listener.Addr(), len(st.values))
	// The hook that started this process reads its standard output until that is
	// closed.
	fmt.Fprintf(stdout, "listening on %s\n", listener.Addr())
	stdout.Close()
	s := &server{store: st, log: logger, logCommands: logCommands}
	if err := s.serve(ctx, listener); err != nil {
		return err
	}
	logger.Print("stopped")
	return nil
}
