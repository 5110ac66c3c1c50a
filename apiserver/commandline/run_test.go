package commandline

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"juju/doc/tools/verify"
)

// played is set in the process that Run starts: it plays a command.
var played = flag.Bool("played", false, "play a command")

func TestMain(m *testing.M) {
	flag.Parse()
	if !*played {
		os.Exit(m.Run())
	}
	r, dial, err := Receive(os.Stdin)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	what, argument, _ := strings.Cut(r.Text, " ")
	switch what {
	case "escape":
		escape(argument)
	case "show":
		fmt.Println(os.Environ(), os.Args[1:], r.User)
	case "dial":
		for range 2 {
			conn, err := dial(context.Background())
			if err == nil {
				var text []byte
				text, err = io.ReadAll(conn)
				fmt.Printf("%s\n", text)
			}
			if err != nil {
				fmt.Println(err)
			}
		}
	case "spam":
		for {
			fmt.Println("spam")
		}
	case "line":
		for {
			fmt.Print("spam")
		}
	case "hang":
		fmt.Println("hanging")
		select {}
	}
	os.Exit(3) // a command that fails is no error of Run
}

// escape tries all that a command must not be able to do, and prints what succeeded.
func escape(dir string) {
	try := func(what string, err error) {
		if err == nil {
			fmt.Println("succeeded:", what)
		}
	}
	_, err := os.ReadFile(filepath.Join(dir, "secret"))
	try("to read a file", err)
	_, err = os.ReadDir(dir)
	try("to list a directory", err)
	_, err = os.Open("/proc/self/environ")
	try("to read /proc", err)
	try("to write a file", os.WriteFile(filepath.Join(dir, "new"), nil, 0o600))
	try("to make a directory", os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	try("to remove a file", os.Remove(filepath.Join(dir, "secret")))
	try("to rename a file", os.Rename(filepath.Join(dir, "secret"), filepath.Join(dir, "other")))
	try("to link a file", os.Symlink("/etc/passwd", filepath.Join(dir, "link")))
	try("to truncate a file", os.Truncate(filepath.Join(dir, "secret"), 0))
	try("to run a program", exec.Command("/bin/true").Run())
	address, err := os.Readlink(filepath.Join(dir, "port")) // links are not files
	try("to find the port", err)
	_, err = net.Dial("tcp", address)
	try("to connect", err)
	_, err = net.Listen("tcp", "127.0.0.1:0")
	try("to listen", err)
	_, err = net.Dial("udp", address)
	try("to send", err)
	try("to signal", syscall.Kill(os.Getppid(), 0))
	fmt.Println("tried")
}

// play runs the test's own program, which plays a command.
func play(t *testing.T, ctx context.Context, text string, b Bound, accept func(net.Conn) error) (lines []string, err error) {
	t.Helper()
	err = Run(ctx, []string{os.Args[0], "-played"}, Request{Text: text, User: "ann", Password: "sesame"}, b, accept, func(line string) error {
		lines = append(lines, line)
		return nil
	})
	return lines, err
}

var plenty = Bound{verify.Patience, 1 << 20}

// A command can read and write nothing on the controller's host, run nothing there and connect to nothing from there.
func TestNothingIsInReach(t *testing.T) {
	needLandlock(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("sesame"), 0o666); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Symlink(l.Addr().String(), filepath.Join(dir, "port")); err != nil {
		t.Fatal(err)
	}
	lines, err := play(t, t.Context(), "escape "+dir, plenty, nil)
	if want := []string{"succeeded: to find the port", "tried"}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("%v, %q", err, lines)
	}
	if names, _ := os.ReadDir(dir); len(names) != 2 {
		t.Errorf("the directory has %v", names)
	}
}

// The password is neither in the environment nor among the arguments, and the controller's environment isn't either.
func TestACommandHasNoEnvironment(t *testing.T) {
	needLandlock(t)
	t.Setenv("SECRET", "sesame")
	lines, err := play(t, t.Context(), "show", plenty, nil)
	if err != nil || !slices.Equal(lines, []string{"[] [-played] ann"}) {
		t.Errorf("%v, %q", err, lines)
	}
}

func TestACommandConnects(t *testing.T) {
	needLandlock(t)
	accepted := 0
	lines, err := play(t, t.Context(), "dial", plenty, func(conn net.Conn) error {
		accepted++
		fmt.Fprintf(conn, "hello %d", accepted)
		return conn.Close()
	})
	if err != nil || !slices.Equal(lines, []string{"hello 1", "hello 2"}) {
		t.Errorf("%v, %q", err, lines)
	}
	lines, err = play(t, t.Context(), "dial", plenty, func(net.Conn) error { return errors.New("no") })
	if err != nil || len(lines) != 2 {
		t.Errorf("refused: %v, %q", err, lines)
	}
}

// A command ends when it has printed too much or taken too long, when its user leaves, or can't be told what it prints.
func TestACommandIsStopped(t *testing.T) {
	needLandlock(t)
	for _, text := range []string{"spam", "line"} {
		lines, err := play(t, t.Context(), text, Bound{verify.Patience, 1000}, nil)
		if size := len(strings.Join(lines, "\n")); !errors.Is(err, errTooMuch) || size > 1000 {
			t.Errorf("%s: %v after %d bytes", text, err, size)
		}
	}
	_, err := play(t, t.Context(), "hang", Bound{time.Second, 1000}, nil)
	if err == nil || err.Error() != "it ran for 1s" {
		t.Errorf("hang: %v", err)
	}
	ctx, leave := context.WithCancelCause(t.Context())
	left := errors.New("left")
	err = Run(ctx, []string{os.Args[0], "-played"}, Request{Text: "hang"}, plenty, nil, func(string) error {
		leave(left)
		return nil
	})
	if !errors.Is(err, left) {
		t.Errorf("left: %v", err)
	}
	deaf := errors.New("deaf")
	err = Run(t.Context(), []string{os.Args[0], "-played"}, Request{Text: "hang"}, plenty, nil, func(string) error { return deaf })
	if !errors.Is(err, deaf) {
		t.Errorf("deaf: %v", err)
	}
	if err := Run(t.Context(), []string{"/nowhere"}, Request{}, plenty, nil, nil); err == nil {
		t.Error("a program that is not there was run")
	}
}

// needLandlock skips a test where no command can be run: without Landlock, and in a program that has C.
func needLandlock(t *testing.T) {
	t.Helper()
	verify.NoRace(t)
	lines, err := play(t, t.Context(), "show", plenty, nil)
	if err == nil && len(lines) == 1 && strings.HasPrefix(lines[0], "cannot ") {
		t.Skip(lines[0])
	}
}
