package binaries

import (
	"cmp"
	"context"
	"os/signal"
	"time"

	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/juju/loggo"

	"juju/agent/host/atomicfile"
	"juju/agent/host/process"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.agent.binaries")

// maxStarts is how many starts binaries on trial get before the record reverts to the old ones.
const maxStarts = 3

// recordName is the file name of a Dir's Record.
const recordName = "programs.json"

// A Record selects the current binaries. The zero Record selects the originally installed ones, which
// are not in the Dir.
type Record struct {
	Current  entity.Binaries `json:"current"`
	Previous entity.Binaries `json:"previous"` // to revert to
	// Trial is true until the current binaries confirm that they work. Starts is how often they were
	// started meanwhile.
	Trial  bool                  `json:"trial,omitempty"`
	Starts int                   `json:"starts,omitempty"`
	Bound  time.Duration         `json:"bound,omitempty"`  // how long each start may take; Options.Bound if zero
	Failed *entity.FailedUpgrade `json:"failed,omitempty"` // the last trial, if it failed
}

// Record returns the Dir's record.
func (d Dir) Record() (r Record, err error) {
	text, err := os.ReadFile(filepath.Join(d.path, recordName))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		return Record{}, fmt.Errorf("cannot read the record of agent binaries: %w", err)
	}
	return r, nil
}

// Changed returns when the record was last written.
func (d Dir) Changed() (time.Time, error) {
	info, err := os.Stat(filepath.Join(d.path, recordName))
	if err != nil {
		return time.Time{}, fmt.Errorf("cannot read the record of agent binaries: %w", err)
	}
	return info.ModTime(), nil
}

func (d Dir) write(r Record) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	d.step("write the record")
	if err := atomicfile.WriteFile(filepath.Join(d.path, recordName), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("cannot write the record of agent binaries: %w", err)
	}
	d.step("go on with the record")
	return nil
}

// Switch makes the binaries to current from the next start on, on trial. from are the running binaries,
// to which a failed trial reverts; without a hash, they are the originally installed ones. The error is
// NotFound if to is not installed, and Invalid if its version differs: the caller's claim must not
// decide whether a switch is a downgrade.
func (d Dir) Switch(ctx context.Context, from, to entity.Binaries) error {
	if !d.Has(to.SHA256) {
		return entity.Errorf(entity.NotFound, "agent binaries of version %s are not installed", to.Version)
	}
	if err := checkVersion(ctx, d.Of(to.SHA256), to.Version); err != nil {
		return err
	}
	if !d.Has(from.SHA256) {
		from.SHA256 = ""
	}
	return d.write(Record{Current: to, Previous: from, Trial: true, Bound: d.options.Bound})
}

// Within returns the Dir with another Options.Bound.
func (d Dir) Within(bound time.Duration) Dir {
	d.options.Bound = bound
	return d
}

// Confirm ends the trial of the binaries that this process runs from.
func (d Dir) Confirm() error {
	r, err := d.Record()
	if err != nil || !r.Trial || !runsFrom(d.Of(r.Current.SHA256)) {
		return err
	}
	if err := alarm(0); err != nil {
		return err
	}
	r.Trial, r.Starts, r.Bound = false, 0, 0
	return d.write(r)
}

// Revert ends a failed trial: it makes the previous binaries current from the next start on. If nothing
// is on trial, it does nothing and returns false.
func (d Dir) Revert(why string) (bool, error) {
	r, err := d.Record()
	if err != nil || !r.Trial {
		return false, err
	}
	return true, d.write(reverted(r, why))
}

func reverted(r Record, why string) Record {
	return Record{Current: r.Previous, Previous: r.Previous,
		Failed: &entity.FailedUpgrade{Binaries: r.Current, Error: why}}
}

// Forgive forgets that a trial has failed, so that a later failure can be told from that one.
func (d Dir) Forgive() error {
	r, err := d.Record()
	if err != nil || r.Failed == nil {
		return err
	}
	r.Failed = nil
	return d.write(r)
}

// Retake makes the binaries of a failed trial current after all, without another trial, because the
// previous ones can no longer run. It returns false if there are none, or they have been removed.
func (d Dir) Retake() (bool, error) {
	r, err := d.Record()
	if err != nil || r.Failed == nil || !d.Has(r.Failed.SHA256) {
		return false, err
	}
	return true, d.write(Record{Current: r.Failed.Binaries, Previous: r.Current})
}

// Enter execs the current binary of the given name, unless this process already runs one of the
// current binaries. counted makes it a start that a trial counts.
func (d Dir) Enter(name string, counted bool) error {
	r, err := d.Record()
	if err != nil {
		return err
	}
	if r.Trial && counted && !runsFrom(d.Of(r.Current.SHA256)) {
		if r.Starts >= maxStarts {
			r = reverted(r, fmt.Sprintf("it did not come up in %d starts", maxStarts))
			logger.Errorf("reverting to the binaries of version %s: %s", r.Current.Version, r.Failed.Error)
		} else {
			r.Starts++
		}
		if err := d.write(r); err != nil {
			return err
		}
	}
	d = d.Within(cmp.Or(r.Bound, d.options.Bound))
	dir, bounded := d.Of(r.Current.SHA256), r.Trial && counted && d.options.Bound > 0
	if r.Current.SHA256 == "" || runsFrom(dir) {
		if bounded {
			d.revertOnAlarm()
		}
		return nil
	}
	path := filepath.Join(dir, name)
	d.step("exec the binary")
	if bounded {
		if err := alarm(d.options.Bound); err != nil {
			return err
		}
	}
	err = syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
	err = errors.Join(fmt.Errorf("cannot run %s: %w", path, err), alarm(0))
	if r.Trial && counted {
		if _, revertErr := d.Revert(err.Error()); revertErr != nil {
			return errors.Join(err, revertErr)
		}
		return d.Enter(name, counted)
	}
	return err
}

// alarm sets a timer that sends this process SIGALRM repeatedly; 0 stops it. The timer survives exec, and
// kills binaries that don't handle the signal.
func alarm(after time.Duration) error {
	every := unix.NsecToTimeval(after.Nanoseconds())
	_, err := unix.Setitimer(unix.ItimerReal, unix.Itimerval{Interval: every, Value: every})
	return err
}

// revertOnAlarm reverts the trial of this process's binaries and exits when the alarm set before the exec
// goes off, because the process has neither confirmed that it works nor exited.
func (d Dir) revertOnAlarm() {
	alarms := make(chan os.Signal, 1)
	signal.Notify(alarms, syscall.SIGALRM)
	go func() {
		for range alarms {
			back, err := d.Revert(fmt.Sprintf("it did not come up in %v", d.options.Bound))
			if err == nil && !back {
				continue // confirmed just now
			}
			logger.Errorf("reverting to the previous binaries: these did not come up in %v", d.options.Bound)
			os.Exit(1)
		}
	}()
}

// runsFrom reports whether this process's executable is in dir.
func runsFrom(dir string) bool {
	own, err := OwnDir()
	if err != nil {
		return false
	}
	dir, err = filepath.EvalSymlinks(dir)
	return err == nil && dir == own
}

// OwnDir returns the directory of this process's executable.
func OwnDir() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("cannot find the agent binaries: %w", err)
	}
	return filepath.Dir(self), nil
}

var ownPattern = regexp.MustCompile(`^[0-9a-f]{16}([0-9a-f]{48})?$`)

// Own returns the hash of this process's binaries, or its first 16 digits, from their directory's name;
// "" if that is not a hash.
func Own() string {
	dir, err := OwnDir()
	if err != nil || !ownPattern.MatchString(filepath.Base(dir)) {
		return ""
	}
	return filepath.Base(dir)
}

// Sweep removes leftovers of interrupted installations, and binaries that are neither current nor
// previous, unless a process runs from them. It keeps archives with the hashes in wanted.
func (d Dir) Sweep(wanted ...string) error {
	r, err := d.Record()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var errs []error
	for _, e := range entries {
		sum := strings.TrimSuffix(e.Name(), ".tar.gz")
		draft, _ := filepath.Match(draftPattern, e.Name())
		if !draft && (!entity.IsSHA256(sum) || sum == r.Current.SHA256 || sum == r.Previous.SHA256) {
			continue
		}
		path := filepath.Join(d.path, e.Name())
		if e.IsDir() && isUsed(path) || !e.IsDir() && slices.Contains(wanted, sum) {
			continue
		}
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// isUsed reports whether a process runs from a directory; true if that can't be determined.
func isUsed(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return true
	}
	running, err := process.Programs()
	return err != nil || slices.ContainsFunc(running, func(path string) bool { return filepath.Dir(path) == dir })
}
