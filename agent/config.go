package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"juju/agent/host/atomicfile"
	"juju/charm/safeyaml"
	"juju/state/entity"
)

// Version is the version of this program. A build of another version says so to the linker:
// -ldflags "-X juju/agent.Version=0.2.0".
var Version = "0.1.0"

// commit names the sources of this build, if the linker is told so: -ldflags "-X juju/agent.commit=0123456789ab". Else
// the toolchain says it, which knows a clone of git, and not a worktree.
var commit string

// BuiltFrom returns the commit of git that this program was built from, and "-dirty" if files were changed since; "" if that
// is not known.
var BuiltFrom = sync.OnceValue(func() string {
	build, ok := debug.ReadBuildInfo()
	if commit != "" || !ok {
		return commit
	}
	return builtFrom(build.Settings)
})

// builtFrom is BuiltFrom as the toolchain says it.
func builtFrom(settings []debug.BuildSetting) string {
	revision, dirty := "", ""
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return ""
	}
	return revision[:min(12, len(revision))] + dirty
}

// ConfigName is the name of the file in an agent's directory that holds its Config. Only its
// owner can read it, since it holds the agent's password.
const ConfigName = "agent.conf"

// Config says who an agent is and where its controller is.
type Config struct {
	Tag        entity.Tag `yaml:"tag"`
	Password   string     `yaml:"password"`
	Nonce      string     `yaml:"nonce,omitempty"` // for a machine's agent: which of its instances this is
	Controller string     `yaml:"controller"`      // UUID
	Model      string     `yaml:"model"`           // UUID
	ModelName  string     `yaml:"model-name"`
	Addresses  []string   `yaml:"addresses"`           // of the API, host:port
	CACert     string     `yaml:"ca-cert"`             // PEM
	Machine    string     `yaml:"machine,omitempty"`   // for a unit's agent: the machine that it is on
	Principal  string     `yaml:"principal,omitempty"` // for a subordinate's agent
	// HookLock is the file that is locked while a hook runs on the machine, or on another that
	// shares its operating system. For a machine's agent, "" is a file of the machine's own.
	HookLock string `yaml:"hook-lock,omitempty"`
	// LogDir is the directory with links to the logs of the machine's agents; "" for none.
	LogDir string `yaml:"log-dir,omitempty"`
	// SSHUser is the user of the machine that people log in as with the model's SSH keys; "" for
	// none. It is for a machine's agent that runs as root.
	SSHUser string `yaml:"ssh-user,omitempty"`
	// OwnHost says that the machine's operating system is no one else's: its agent, as root, may
	// restart it and write its files.
	OwnHost bool `yaml:"own-host,omitempty"`
	// Manual says that the machine is a host that a user has lent: its agent uninstalls itself when
	// the machine is destroyed.
	Manual bool `yaml:"manual,omitempty"`
}

// Marshal returns the file's text.
func (c Config) Marshal() ([]byte, error) {
	text, err := safeyaml.Marshal(c, 4)
	if err != nil {
		return nil, fmt.Errorf("cannot write the configuration of %s: %w", c.Tag, err)
	}
	return text, nil
}

// ReadConfig reads the configuration of the agent in dir.
func ReadConfig(dir string) (Config, error) {
	text, err := os.ReadFile(filepath.Join(dir, ConfigName))
	if err != nil {
		return Config{}, fmt.Errorf("cannot read the agent's configuration: %w", err)
	}
	var c Config
	if err := safeyaml.Unmarshal(text, &c, safeyaml.Own); err != nil {
		return Config{}, fmt.Errorf("cannot read the agent's configuration: %w", err)
	}
	if c.Tag.IsZero() || c.Password == "" || c.Model == "" || len(c.Addresses) == 0 || c.CACert == "" {
		return Config{}, entity.Errorf(entity.Invalid,
			"cannot use the configuration in %s: tag, password, model, addresses and ca-cert are needed", dir)
	}
	return c, nil
}

func (c Config) write(dir string) error {
	text, err := c.Marshal()
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(filepath.Join(dir, ConfigName), text, 0o600)
}
