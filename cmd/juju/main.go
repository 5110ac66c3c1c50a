package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"juju/cmd/juju/commands"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal cancels the context; the second one kills the program, as usual.
	context.AfterFunc(ctx, stop)
	os.Exit(commands.Run(ctx, commands.NewSession(), os.Args[1:]))
}
