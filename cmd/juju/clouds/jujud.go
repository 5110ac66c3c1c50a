package clouds

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"juju/agent/host/process"
	"juju/provider/lxd"
	"juju/state/constraints"
	"juju/state/entity"
)

// BootstrapParams and Bootstrapped are the JSON input and output of `jujud bootstrap`.
type (
	BootstrapParams struct {
		Name     string   `json:"name"`
		Cloud    string   `json:"cloud"`
		Series   string   `json:"series"`
		Warnings []string `json:"-"` // of Prepare: what it has replaced
		User     string   `json:"user"`
		Password string   `json:"password"`
		MongoURL string   `json:"mongo-url,omitempty"`

		Model       string            `json:"model"`                // the first model
		Config      map[string]string `json:"config,omitempty"`     // of the first model
		Constraints constraints.Value `json:"constraints,omitzero"` // of the first model
		Defaults    map[string]string `json:"defaults,omitempty"`   // of all new models, this one too

		// On clouds other than local, these describe the machine that jujud runs on.
		Controller string      `json:"controller-uuid,omitempty"`
		Hosts      []string    `json:"hosts,omitempty"`
		LXD        *lxd.Config `json:"lxd,omitempty"`

		// Of a cloud that the user has defined: its name, its region and the name of its credential.
		CloudName      string `json:"cloud-name,omitempty"`
		Region         string `json:"region,omitempty"`
		CredentialName string `json:"credential-name,omitempty"`
		// LogFormat is the format of the logs of controllers and agents; "" for text.
		LogFormat entity.LogFormat `json:"log-format,omitempty"`
		// Tracing says where controllers and agents send traces.
		Tracing entity.Tracing `json:"tracing,omitzero"`

		Definition  *Definition       `json:"-"` // nil for a built-in cloud
		CloudConfig string            `json:"-"` // path of a file, "" for none
		Machine     constraints.Value `json:"-"` // constraints of the controller's machine
	}
	Bootstrapped struct {
		Controller string            `json:"controller-uuid"`
		CACert     string            `json:"ca-cert"`
		Addresses  []string          `json:"api-addresses"`
		Models     map[string]string `json:"models"`               // UUID by name, by OWNER/NAME for a restored controller
		CloudName  string            `json:"cloud-name,omitempty"` // of a restored controller, if it is not the cloud's kind
		Password   string            `json:"password,omitempty"`   // that a user was given, of a restored controller
		Warnings   []string          `json:"warnings,omitempty"`   // what the new controller lacks
		Moved      bool              `json:"-"`                    // a restored controller has none of its old addresses
	}
)

const (
	AdminUser       = "admin"
	DefaultModel    = "default"    // the first model, if the user names none
	ControllerModel = "controller" // what each controller has for itself
)

// createTimeout is how long jujud may take to create a controller.
const createTimeout = 2 * time.Minute

// timeout returns how long a restore may take: an hour, and a second for each megabyte.
func (r Restoration) timeout() time.Duration {
	return time.Hour + time.Duration(r.Size>>20)*time.Second
}

// bootstrapJujud runs `jujud bootstrap` to create a controller in dir.
func bootstrapJujud(ctx context.Context, dir string, params BootstrapParams) (*Bootstrapped, error) {
	input, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	out, err := runJujud(ctx, bytes.NewReader(input), "bootstrap", "--dir", dir)
	if err != nil {
		return nil, err
	}
	return readBootstrapped(out, params.Model)
}

// restoreParams is the JSON input of `jujud restore`, which the backup follows.
type restoreParams struct {
	User     string      `json:"user,omitempty"`
	MongoURL string      `json:"mongo-url,omitempty"`
	Hosts    []string    `json:"hosts,omitempty"`
	LXD      *lxd.Config `json:"lxd,omitempty"`
}

// restoreJujud runs `jujud restore` to create a controller in dir from a backup.
func restoreJujud(ctx context.Context, dir string, r Restoration) (*Bootstrapped, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	params, err := json.Marshal(restoreParams{User: r.User, MongoURL: r.MongoURL})
	if err != nil {
		return nil, err
	}
	backup, err := r.Backup()
	if err != nil {
		return nil, err
	}
	input := io.MultiReader(bytes.NewReader(append(params, '\n')), backup)
	out, err := runJujud(ctx, input, "restore", "--dir", dir)
	if err != nil {
		return nil, err
	}
	return readMade(out)
}

// runJujud runs a command of jujud that creates a controller, and returns its output.
func runJujud(ctx context.Context, input io.Reader, args ...string) ([]byte, error) {
	path, err := binary("jujud")
	if err != nil {
		return nil, err
	}
	out, errs := process.Kept{Max: process.MaxOutput}, process.Kept{Max: process.MaxOutput}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &errs
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, jujudError(errs.String(), err)
	}
	return out.Bytes(), nil
}

// readBootstrapped parses the output of `jujud bootstrap`, which must name the first model.
func readBootstrapped(text []byte, model string) (*Bootstrapped, error) {
	made, err := readMade(text)
	if err == nil && made.Models[model] == "" {
		return nil, fmt.Errorf("cannot use jujud's description of the new controller: it has no model %q", model)
	}
	return made, err
}

// readMade parses jujud's description of a controller that it created.
func readMade(text []byte) (*Bootstrapped, error) {
	var made Bootstrapped
	if err := json.Unmarshal(text, &made); err != nil {
		return nil, fmt.Errorf("cannot read jujud's description of the new controller: %w", err)
	}
	if made.Controller == "" || len(made.Addresses) == 0 {
		return nil, errors.New("cannot use jujud's description of the new controller: it has no UUID or no addresses")
	}
	return &made, nil
}

// jujudError returns the error and hint that a failed jujud printed, or else its whole output.
func jujudError(printed string, err error) error {
	lines := bufio.NewScanner(strings.NewReader(printed))
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "ERROR "); ok {
			failure := errors.New(text)
			var hint []string
			for lines.Scan() {
				hint = append(hint, lines.Text())
			}
			if len(hint) > 0 {
				return entity.WithHint(failure, "%s", strings.Join(hint, "\n"))
			}
			return failure
		}
	}
	return fmt.Errorf("cannot create the controller: jujud: %w\n%s", err, strings.TrimSpace(printed))
}
