package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const usage = `usage:
  webpage serve --listen HOST:PORT --title TEXT --unit NAME [--store HOST:PORT --key KEY]
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code: 1 on failure, 2 on a usage error.
func run(ctx context.Context, args []string, stdout io.WriteCloser, stderr io.Writer) int {
	p := &page{log: log.New(stderr, "webpage: ", log.LstdFlags|log.LUTC)}
	listen, err := p.parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "webpage: %s\n%s", err, usage)
		return 2
	}
	if err := p.serve(ctx, listen, stdout); err != nil {
		fmt.Fprintf(stderr, "webpage: %s\n", err)
		return 1
	}
	return 0
}

func (p *page) parse(args []string) (listen string, err error) {
	if len(args) == 0 || args[0] != "serve" {
		return "", errors.New(`expected the command "serve"`)
	}
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&listen, "listen", "", "")
	flags.StringVar(&p.Title, "title", "", "")
	flags.StringVar(&p.Unit, "unit", "", "")
	flags.StringVar(&p.Store, "store", "", "")
	flags.StringVar(&p.Key, "key", "", "")
	switch err := flags.Parse(args[1:]); {
	case err != nil:
		return "", err
	case flags.NArg() > 0:
		return "", fmt.Errorf("unexpected %q", flags.Arg(0))
	case listen == "":
		return "", errors.New("--listen is missing")
	case p.Store != "" && (p.Key == "" || strings.ContainsAny(p.Key, " \r\n")):
		return "", errors.New("--store needs a --key without spaces")
	}
	return listen, nil
}

// serve serves the page until ctx is done, then finishes the requests in progress.
func (p *page) serve(ctx context.Context, listen string, stdout io.WriteCloser) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           p,
		ErrorLog:          p.log,
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}
	store := "no store"
	if p.Store != "" {
		store = "store " + p.Store
	}
	p.log.Printf("listening on %s, %s", listener.Addr(), store)
	// The hook that started this process reads its standard output until that is
	// closed.
	fmt.Fprintf(stdout, "listening on %s\n", listener.Addr())
	stdout.Close()

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := server.Shutdown(bounded); err != nil {
		server.Close()
	}
	<-failed
	p.log.Print("stopped")
	return nil
}
