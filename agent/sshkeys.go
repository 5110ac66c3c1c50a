package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"juju/agent/host/atomicfile"
	"juju/apiserver/client"
	"juju/state/entity/sshkey"
	"juju/worker"
)

// keyMark begins the comments of keys from the model. Other keys are not touched.
const keyMark = "Juju:"

// authorize authorizes the model's SSH keys to log in to the machine as the agent's SSH user, and removes
// keys that are no longer in the model.
func (a *Agent) authorize(keys string) {
	if a.config.SSHUser == "" {
		return
	}
	if err := authorize(a.config.SSHUser, keys); err != nil {
		logger.Errorf("cannot write the SSH keys of user %s: %v", a.config.SSHUser, err)
	}
}

func authorize(name, keys string) error {
	owner, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(owner.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(owner.Gid)
	if err != nil {
		return err
	}
	return writeKeys(filepath.Join(owner.HomeDir, ".ssh"), keys, uid, gid)
}

// writeKeys replaces the model's keys in dir/authorized_keys. dir and the file belong to the given user.
func writeKeys(dir, keys string, uid, gid int) error {
	all, err := sshkey.ParseAll(keys)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "authorized_keys")
	had, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var lines []string
	for line := range strings.Lines(string(had)) {
		if line = strings.TrimRight(line, "\n"); !isFromModel(line) {
			lines = append(lines, line)
		}
	}
	for _, key := range all {
		fields := strings.Fields(key.Line)
		lines = append(lines, fields[0]+" "+fields[1]+" "+keyMark+strings.Join(fields[2:], " "))
	}
	text := strings.Join(lines, "\n")
	if text != "" {
		text += "\n"
	}
	if text == string(had) {
		return nil
	}
	if err = os.Mkdir(dir, 0o700); err == nil {
		err = os.Chown(dir, uid, gid)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := atomicfile.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Chown(path, uid, gid)
}

// isFromModel reports whether writeKeys has written a line.
func isFromModel(line string) bool {
	key, err := sshkey.Parse(line)
	return err == nil && strings.HasPrefix(key.Comment, keyMark)
}

// hostKeyFiles are the public keys of the machine's SSH server.
const hostKeyFiles = "/etc/ssh/ssh_host_*_key.pub"

// hostKeys returns the worker that reports the host keys of the machine's SSH server, so that users can
// verify that they connect to this machine.
func (a *Agent) hostKeys(conn *client.Conn) worker.Func {
	return func(ctx context.Context) error {
		keys, err := readHostKeys(hostKeyFiles)
		if err != nil {
			return fmt.Errorf("cannot read the keys of the SSH server: %w", err)
		}
		if err := (client.MachinerFacade{Caller: conn}).SetHostKeys(ctx, a.config.Tag, keys); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
}

func readHostKeys(pattern string) (keys []string, err error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		keys = append(keys, strings.TrimSpace(string(text)))
	}
	return keys, nil
}
