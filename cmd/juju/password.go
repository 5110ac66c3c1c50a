package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ask prompts for a line, and echoes it on a terminal.
func (s *session) ask(ctx context.Context, prompt string) (string, error) {
	return s.answer(ctx, prompt, func() (string, error) { return s.readLine() })
}

// askSecret prompts for a line without echo.
func (s *session) askSecret(ctx context.Context, prompt string) (string, error) {
	f, ok := s.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s.ask(ctx, prompt)
	}
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", fmt.Errorf("cannot read from the terminal: %w", err)
	}
	// Also turn the echo on again when the prompt is interrupted.
	defer term.Restore(int(f.Fd()), before)
	return s.answer(ctx, prompt, func() (string, error) {
		text, err := term.ReadPassword(int(f.Fd()))
		return string(text), err
	})
}

// answer prints a prompt and returns what read returns, unless ctx ends first.
func (s *session) answer(ctx context.Context, prompt string, read func() (string, error)) (string, error) {
	fmt.Fprint(s.stderr, prompt)
	defer fmt.Fprintln(s.stderr)
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // ends with the answer or the program: a read from a terminal can't be canceled
		text, err := read()
		answers <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case a := <-answers:
		return a.text, a.err
	}
}

// readLine reads one line. At the end of input it returns an empty line.
func (s *session) readLine() (string, error) {
	if s.lines == nil {
		s.lines = bufio.NewReader(s.stdin)
	}
	line, err := s.lines.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// newPassword asks for a new password, twice.
func (s *session) newPassword(ctx context.Context, prompt, again string) (string, error) {
	password, err := s.askSecret(ctx, prompt)
	if err != nil {
		return "", err
	}
	if password == "" {
		return "", errors.New("you must specify a non-empty password")
	}
	repeated, err := s.askSecret(ctx, again)
	if err != nil {
		return "", err
	}
	if password != repeated {
		return "", errors.New("passwords do not match")
	}
	return password, nil
}
