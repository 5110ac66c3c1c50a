package proxyupdater

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/loggo"

	"juju/agent/host/atomicfile"
	"juju/state/modelconfig"
	"juju/worker"
)

var logger = loggo.GetLogger("juju.worker.proxyupdater")

// The files that a Host writes. Nothing else does.
const (
	profile = "etc/profile.d/juju-proxy.sh"                     // for those who log in
	apt     = "etc/apt/apt.conf.d/95-juju-proxy-settings"       // for apt
	head    = "by juju, from the model's settings: do not edit" // after the comment's sign
)

// A Host is the machine whose files are kept.
type Host struct {
	Root string // what the files' names are relative to: "/"
	Keep string // a directory of the agent's, for the originals of files that others own
}

// New returns the worker of a host. Settings returns the model's settings, or nil while they are not
// known; changed fires when they may have changed.
func New(host Host, settings func() modelconfig.Config, changed <-chan struct{}) worker.Func {
	return func(ctx context.Context) error {
		for {
			if config := settings(); config != nil {
				if err := host.apply(config); err != nil {
					return err
				}
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-changed:
			}
		}
	}
}

func (h Host) apply(config modelconfig.Config) error {
	mirror := config[modelconfig.AptMirror].Value
	if !sound(modelconfig.AptMirror, mirror) {
		mirror = ""
	}
	err := errors.Join(h.write(profile, profileText(config)), h.write(apt, aptText(config)), h.setMirror(mirror))
	if err != nil {
		return fmt.Errorf("cannot write the settings of proxies and mirrors: %w", err)
	}
	return nil
}

// Restore takes everything off the host that a worker has written, and gives it its own mirror back. It
// can be repeated.
func (h Host) Restore() error { return h.apply(nil) }

// profileText returns what those who log in need: the settings for all programs.
func profileText(config modelconfig.Config) string {
	var lines []string
	for _, kind := range []string{"http", "https", "ftp", "no"} {
		if value := config[kind+"-proxy"].Value; value != "" {
			name, quoted := kind+"_proxy", "'"+strings.ReplaceAll(value, "'", `'\''`)+"'"
			lines = append(lines, "export "+name+"="+quoted, "export "+strings.ToUpper(name)+"="+quoted)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "# " + head + "\n" + strings.Join(lines, "\n") + "\n"
}

// aptText returns what apt needs. Where a model has no proxy for apt, apt uses that for charms, or else
// that for all programs.
func aptText(config modelconfig.Config) string {
	value := func(kind string) (key, value string) {
		for _, prefix := range []string{"apt-", "juju-", ""} {
			key = prefix + kind + "-proxy"
			if value = config[key].Value; value != "" {
				break
			}
		}
		return key, value
	}
	var direct []string
	key, hosts := value("no")
	for host := range strings.SplitSeq(hosts, ",") {
		if host = strings.TrimSpace(host); host != "" && sound(key, host) {
			direct = append(direct, host)
		}
	}
	var lines []string
	for _, kind := range []string{"http", "https", "ftp"} {
		key, proxy := value(kind)
		if proxy == "" || !sound(key, proxy) {
			continue
		}
		if !strings.Contains(proxy, "://") {
			proxy = "http://" + proxy
		}
		lines = append(lines, fmt.Sprintf("Acquire::%s::Proxy %q;", kind, proxy))
		for _, host := range direct {
			lines = append(lines, fmt.Sprintf("Acquire::%s::Proxy::%s %q;", kind, host, "DIRECT"))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "// " + head + "\n" + strings.Join(lines, "\n") + "\n"
}

// sound reports whether apt can read a value of a setting, and logs if it can't. A controller of before this
// check may have stored one that would stop apt for all purposes.
func sound(key, value string) bool {
	_, err := modelconfig.Parse(map[string]string{key: value})
	if err != nil {
		logger.Warningf("apt does not get this setting: %v", err)
	}
	return err == nil
}

// write replaces a file of the worker's own, or removes it if there is nothing to say.
func (h Host) write(name, text string) error {
	path := filepath.Join(h.Root, name)
	if text == "" {
		return errors.Join(remove(path), atomicfile.RemoveDrafts(path))
	}
	if is, err := os.ReadFile(path); err == nil && string(is) == text {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		logger.Debugf("there is no %s, so %s is not written", filepath.Dir(path), path)
		return nil // a system without apt, or without profiles
	}
	return atomicfile.WriteFile(path, []byte(text), 0o644)
}

// remove removes a file, if it is there.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
