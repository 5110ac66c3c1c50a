package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"juju/apiserver/display"
	"juju/state/entity"
)

// Ask prompts for a line, and echoes it on a terminal.
func (s *Session) Ask(ctx context.Context, prompt string) (string, error) {
	return s.answer(ctx, prompt, func() (string, error) { return s.ReadLine() })
}

// attempts is how many answers to a question may be wrong.
const attempts = 3

// AskValid prompts for a line until it is valid, a few times. An empty answer means otherwise.
func (s *Session) AskValid(ctx context.Context, prompt, otherwise string,
	check func(string) error) (answer string, err error) {
	err = s.AskAgain(ctx, func() error {
		if answer, err = s.Ask(ctx, prompt); err != nil {
			return err
		}
		answer = cmp.Or(strings.TrimSpace(answer), otherwise)
		return check(answer)
	})
	return answer, err
}

// AskAgain calls ask until it succeeds, a few times, and tells the user why it does not.
func (s *Session) AskAgain(ctx context.Context, ask func() error) error {
	for n := 1; ; n++ {
		err := ask()
		if err == nil || n == attempts || ctx.Err() != nil {
			return err
		}
		fmt.Fprintln(s.Stderr, display.Message(err.Error(), "  "))
		if hint := entity.Hint(err); hint != "" {
			fmt.Fprintln(s.Stderr, display.Text(hint))
		}
	}
}

// IsYes reports whether an answer is yes.
func IsYes(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// AskSecret prompts for a line without echo.
func (s *Session) AskSecret(ctx context.Context, prompt string) (string, error) {
	f, ok := s.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s.Ask(ctx, prompt)
	}
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", fmt.Errorf("cannot read from the terminal: %w", err)
	}
	// Restore the echo even if the prompt is interrupted.
	defer term.Restore(int(f.Fd()), before)
	return s.answer(ctx, prompt, func() (string, error) {
		text, err := term.ReadPassword(int(f.Fd()))
		return string(text), err
	})
}

// answer prints a prompt and returns what read returns, unless ctx ends first.
func (s *Session) answer(ctx context.Context, prompt string, read func() (string, error)) (string, error) {
	fmt.Fprint(s.Stderr, prompt)
	defer fmt.Fprintln(s.Stderr)
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // may outlive ctx: a read from a terminal can't be canceled
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

// ReadLine reads one line. At the end of input it returns an empty line.
func (s *Session) ReadLine() (string, error) {
	if s.lines == nil {
		s.lines = bufio.NewReader(s.Stdin)
	}
	line, err := s.lines.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// NewPassword prompts for a new password, twice.
func (s *Session) NewPassword(ctx context.Context, prompt, again string) (string, error) {
	password, err := s.AskSecret(ctx, prompt)
	if err != nil {
		return "", err
	}
	if password == "" {
		return "", errors.New("you must specify a non-empty password")
	}
	repeated, err := s.AskSecret(ctx, again)
	if err != nil {
		return "", err
	}
	if password != repeated {
		return "", errors.New("passwords do not match")
	}
	return password, nil
}
