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

// Version is the version of this program. To build another version, set it with the linker:
// -ldflags "-X juju/agent.Version=0.2.0".
var Version = "0.1.0"

// commit is the git commit of this build, if set with the linker: -ldflags "-X juju/agent.commit=0123456789ab".
// Otherwise it comes from the toolchain, which finds it in a git clone, but not in a worktree.
var commit string

// BuiltFrom returns the git commit that this program was built from, with the suffix "-dirty" if there were
// uncommitted changes, or "" if it is unknown.
var BuiltFrom = sync.OnceValue(func() string {
	build, ok := debug.ReadBuildInfo()
	if commit != "" || !ok {
		return commit
	}
	return builtFrom(build.Settings)
})

// builtFrom is BuiltFrom from the toolchain's build settings.
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

// ConfigName is the name of the file in an agent's directory that holds its Config. Only its owner can read it,
// because it has the agent's password.
const ConfigName = "agent.conf"

// Config has an agent's identity and the addresses of its controller.
type Config struct {
	Tag        entity.Tag `yaml:"tag"`
	Password   string     `yaml:"password"`
	Nonce      string     `yaml:"nonce,omitempty"` // for a machine's agent: identifies the instance
	Controller string     `yaml:"controller"`      // UUID
	Model      string     `yaml:"model"`           // UUID
	ModelName  string     `yaml:"model-name"`
	Addresses  []string   `yaml:"addresses"`           // of the API, host:port
	CACert     string     `yaml:"ca-cert"`             // PEM
	Machine    string     `yaml:"machine,omitempty"`   // for a unit's agent: the machine that it is on
	Principal  string     `yaml:"principal,omitempty"` // for a subordinate's agent
	// HostLock is the file that the machines that share a host lock for hooks that only one of them may run at a time.
	HostLock string `yaml:"hook-lock,omitempty"`
	// LogFormat is the format of the agent's log, and of those of the agents that it deploys.
	LogFormat entity.LogFormat `yaml:"log-format,omitempty"`
	// Tracing says where this agent, and those that it deploys, send traces.
	Tracing entity.Tracing `yaml:"tracing,omitempty"`
	// LogDir is the directory with links to the logs of the machine's agents; "" for none.
	LogDir string `yaml:"log-dir,omitempty"`
	// SSHUser is the user that people log in as with the model's SSH keys; "" for none. Only for the agent of a
	// machine that runs as root.
	SSHUser string `yaml:"ssh-user,omitempty"`
	// OwnHost means that the machine has an operating system of its own. Its agent runs as root, and may
	// restart the system and write its files.
	OwnHost bool `yaml:"own-host,omitempty"`
	// Manual means that the machine is a host that a user has added. Its agent uninstalls itself when the
	// machine is destroyed.
	Manual bool `yaml:"manual,omitempty"`
}

// Marshal returns the content of the configuration file.
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
