package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"juju/agent/host/lockfile"
	"juju/agent/host/logfile"
	"juju/state/entity"
	"juju/state/tracing"
)

// Spec is a process to run in a directory.
type Spec struct {
	Dir     string        // must exist; the program must Hold it
	Path    string        // the program: an absolute path, or a name on PATH
	Args    []string      // its arguments, without its name
	Env     []string      // "KEY=value", added to this process's environment
	WorkDir string        // "" for Dir
	LogMax  int64         // bytes; at the start, a longer log is renamed to log.1; logfile.MaxSize if zero
	Bound   time.Duration // how long it may take to be ready; 20 s if zero
	Room    uint64        // bytes that must be free on Dir's file system before it is started
}

// LogPath returns the file with the output of the process in dir.
func LogPath(dir string) string { return filepath.Join(dir, logName) }

// Log returns the log of this process, which Start has started in dir. The log's size is bounded even while
// the process runs. A process that was started by hand logs to standard error.
func Log(dir string) (io.Writer, error) { return logfile.OfProcess(LogPath(dir), 0) }

// Start starts the process detached, in a session of its own without a terminal, so that it survives this
// process. It returns once the process holds its directory. If a process already held it, started is false
// and err is nil. If the process exits before that, or isn't ready within the bound, Start kills its process
// group and returns an error that quotes the end of its log. The error wraps ErrEnded if the process has
// ended permanently, and fs.ErrNotExist if the directory does not exist. The process learns the span in ctx.
func Start(ctx context.Context, spec Spec) (started bool, err error) {
	bound := spec.Bound
	if bound == 0 {
		bound = 20 * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("not ready within %v", bound))
	defer cancel()

	// Starts are serialized, so that only one starts the process.
	turn, err := lockfile.Take(ctx, filepath.Join(spec.Dir, startName), "")
	if err != nil {
		return false, fmt.Errorf("cannot start %s: %w", spec.Path, err)
	}
	defer turn.Unlock()
	if ctx.Err() != nil {
		return false, fmt.Errorf("cannot start %s: %w", spec.Path, context.Cause(ctx))
	}
	if why, ended := Ended(spec.Dir); ended {
		return false, fmt.Errorf("cannot start %s: %w: %s", spec.Path, ErrEnded, why)
	}
	// Holder rather than Alive, because a process that is exiting must not be treated as running.
	if _, err := Holder(spec.Dir); !errors.Is(err, ErrNotHeld) {
		return false, err
	}
	if err := CheckRoom(spec.Dir, spec.Room); err != nil {
		return false, fmt.Errorf("cannot start %s: %w", spec.Path, err)
	}
	if err := start(ctx, spec); err != nil {
		// A process that was started elsewhere, for example by hand, is fine too.
		if _, err := Holder(spec.Dir); err == nil {
			return false, nil
		}
		return false, fmt.Errorf("cannot start %s: %w", spec.Path, err)
	}
	return true, nil
}

func start(ctx context.Context, spec Spec) error {
	max := spec.LogMax
	if max == 0 {
		max = logfile.MaxSize
	}
	log, err := logfile.OpenFile(LogPath(spec.Dir), max)
	if err != nil {
		return err
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	ready, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir = spec.WorkDir
	if cmd.Dir == "" {
		cmd.Dir = spec.Dir
	}
	cmd.Env = append(tracing.Environ(ctx, append(os.Environ(), spec.Env...)), readyVariable+"=3")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	st, statErr := readStat(cmd.Process.Pid)

	// This goroutine reaps the child, which would otherwise remain a zombie as long as this process lives.
	giveUp := func() { ready.SetReadDeadline(time.Unix(1, 0)) }
	ended := make(chan error, 1)
	how := make(chan *os.ProcessState, 1)
	children.Store(spec.Dir, how)
	go func() {
		err := cmd.Wait()
		how <- cmd.ProcessState
		ended <- err
		giveUp() // the child's children may still hold the pipe
	}()

	stop := context.AfterFunc(ctx, giveUp)
	defer stop()
	n, _ := ready.Read(make([]byte, 1))
	if n == 1 {
		return nil
	}
	// The child has exited, or time is up, or the program does not support the pipe and has closed it.
	select {
	case err = <-ended:
		// A child that reported ready before it exited was started successfully: an agent may find right away
		// that its entity is Dead.
		ready.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if n, _ := ready.Read(make([]byte, 1)); n == 1 {
			return nil
		}
		if err == nil {
			err = errors.New("exit status 0")
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
		if statErr == nil {
			boot, _ := bootID()
			leader := Identity{st.pid, st.start, boot}
			err = errors.Join(err, kill(context.WithoutCancel(ctx), func() ([]stat, bool, error) { return group(leader) }))
		}
	}
	if tail := logTail(log.Name(), begin); tail != "" {
		err = fmt.Errorf("%w; its log ends:\n%s", err, tail)
	}
	return entity.WithHint(err, "the whole log is %s", log.Name())
}

// LogTail returns the last lines of output of the process in dir.
func LogTail(dir string) string { return logTail(LogPath(dir), 0) }

// logTail returns the last lines written after offset begin.
func logTail(path string, begin int64) string {
	const maxTail = 2048
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	cut := size-begin > maxTail
	if cut {
		begin = size - maxTail
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, begin, size-begin))
	tail := strings.TrimSpace(string(text))
	if _, rest, ok := strings.Cut(tail, "\n"); cut && ok {
		tail = rest // the first line may be incomplete
	}
	return tail
}
