package hooktools

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"juju/charm/secretargs"
	"juju/state/entity"
)

// optionalSecret returns the URI in the first argument, nil if there is none, and the arguments after it.
func optionalSecret(args []string) (*entity.SecretURI, []string, error) {
	if len(args) == 0 {
		return nil, nil, nil
	}
	uri, err := entity.ParseSecretURI(args[0])
	if err != nil {
		return nil, nil, entity.WithHint(fmt.Errorf("secret URI %q not valid", args[0]), "%s", entity.Hint(err))
	}
	return &uri, args[1:], nil
}

var errNoSecret = errors.New("require either a secret URI or label")

var secretGetInfo = commandInfo{
	args:    "[<URI>] [<key>[#base64]]",
	purpose: "Print the content of a secret.",
	details: `Print the value of the key or, without one, all keys and values. The unit reads the same
revision each time, at first the latest. --refresh reads the latest, and so do later
calls; --peek reads it only this time. The hook secret-changed tells of newer ones.

The secret is named by its URI or its label. A label that is given with a URI is the
one by which the unit calls the secret from then on.
`,
	examples: []string{"secret-get secret:9m4e2mr0ui3e8a215n4g", "secret-get secret:9m4e2mr0ui3e8a215n4g token#base64",
		"secret-get secret:9m4e2mr0ui3e8a215n4g --label db-password --refresh"},
	make: func() command { return &secretGet{} },
}

type secretGet struct {
	request SecretRequest
	key     string
	out     outputFlags
}

func (t *secretGet) flags(flags *pflag.FlagSet) {
	t.out.addPlain(flags)
	flags.StringVar(&t.request.Label, "label", "", "the `label` of the secret; with a URI, its new one")
	flags.BoolVar(&t.request.Peek, "peek", false, "get the latest revision, only this time")
	flags.BoolVar(&t.request.Refresh, "refresh", false, "get the latest revision, now and in later calls")
}

func (t *secretGet) init(_ Context, args []string) (err error) {
	if err := t.out.check(); err != nil {
		return err
	}
	if t.request.URI, args, err = optionalSecret(args); err != nil {
		return err
	}
	switch {
	case t.request.URI == nil && t.request.Label == "":
		return errNoSecret
	case t.request.Peek && t.request.Refresh:
		return errors.New("specify one of --peek or --refresh but not both")
	}
	if len(args) > 0 {
		t.key, args = args[0], args[1:]
	}
	return checkEmpty(args)
}

func (t *secretGet) run(ctx context.Context, run *toolRun) error {
	content, err := run.hook.Secret(ctx, t.request)
	if err != nil {
		return err
	}
	if t.key == "" {
		values := map[string]string{}
		for key, text := range content {
			if values[key], err = decodeSecret(key, text); err != nil {
				return err
			}
		}
		return t.out.write(run, values)
	}
	key, encoded := strings.CutSuffix(t.key, secretargs.Base64)
	value, ok := content[key]
	if !ok {
		return fmt.Errorf("secret key value %q not found", key)
	}
	if !encoded {
		if value, err = decodeSecret(key, value); err != nil {
			return err
		}
	}
	return t.out.write(run, value)
}

func decodeSecret(key, text string) (string, error) {
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("cannot read the value of key %q: %w", key, err)
	}
	return string(value), nil
}

var secretInfoGetInfo = commandInfo{
	args:    "[<URI>]",
	purpose: "Describe a secret of the unit or its service.",
	details: `The secret is named by its URI or its label. Print its latest revision, label, owner,
description, rotation and expiry, and who may read it, with what the hook has changed.
Only the leader can describe secrets of the service.
`,
	examples: []string{"secret-info-get secret:9m4e2mr0ui3e8a215n4g", "secret-info-get --label db-password --format json"},
	make:     func() command { return &secretInfoGet{} },
}

type secretInfoGet struct {
	uri   *entity.SecretURI
	label string
	out   outputFlags
}

func (t *secretInfoGet) flags(flags *pflag.FlagSet) {
	t.out.addPlain(flags)
	flags.StringVar(&t.label, "label", "", "the `label` of the secret")
}

func (t *secretInfoGet) init(_ Context, args []string) (err error) {
	if err := t.out.check(); err != nil {
		return err
	}
	if t.uri, args, err = optionalSecret(args); err != nil {
		return err
	}
	switch {
	case t.uri == nil && t.label == "":
		return errNoSecret
	case t.uri != nil && t.label != "":
		return errors.New("specify either a secret URI or label but not both")
	}
	return checkEmpty(args)
}

// A secretInfo is what secret-info-get prints of a secret.
type secretInfo struct {
	Revision    int                 `yaml:"revision" json:"revision"`
	Label       string              `yaml:"label" json:"label"`
	Owner       string              `yaml:"owner" json:"owner"`
	Description string              `yaml:"description,omitempty" json:"description,omitempty"`
	Rotation    entity.RotatePolicy `yaml:"rotation,omitempty" json:"rotation,omitempty"`
	Expiry      time.Time           `yaml:"expiry,omitempty" json:"expiry,omitzero"`
	Rotates     time.Time           `yaml:"rotates,omitempty" json:"rotates,omitzero"`
	Access      []secretAccess      `yaml:"access,omitempty" json:"access,omitempty"`
}

type secretAccess struct {
	Target string `yaml:"target" json:"target"`
	Scope  string `yaml:"scope" json:"scope"`
	Role   string `yaml:"role" json:"role"`
}

func (t *secretInfoGet) run(ctx context.Context, run *toolRun) error {
	all, err := run.hook.OwnedSecrets(ctx)
	if err != nil {
		return err
	}
	want := t.label
	if t.uri != nil {
		want = t.uri.ID
	}
	for _, s := range all {
		if t.uri != nil && s.ID == want || t.uri == nil && s.Label == want {
			return t.out.write(run, map[string]secretInfo{s.ID: describeSecret(s)})
		}
	}
	return fmt.Errorf("secret %q not found", want)
}

func describeSecret(s entity.SecretInfo) secretInfo {
	info := secretInfo{Revision: s.Latest, Label: s.Label, Owner: "application", Description: s.Description, Rotation: s.Rotate,
		Expiry: s.Expire, Rotates: s.NextRotate}
	if s.OfUnit {
		info.Owner = "unit"
	}
	for _, a := range s.Access {
		target := "application-" + a.Subject // as Juju calls services
		if entity.IsValidUnit(a.Subject) {
			target = entity.UnitTag(a.Subject).String()
		}
		info.Access = append(info.Access, secretAccess{target, entity.RelationTag(a.Scope).String(), "view"})
	}
	return info
}

var secretIDsInfo = commandInfo{
	purpose: "List the IDs of the secrets of the unit and its service.",
	details: `Only the leader lists those of the service. Those that the hook has made are listed, and
those that it has removed are not.
`,
	examples: []string{"secret-ids", "secret-ids --format json"},
	make:     func() command { return &secretIDs{} },
}

type secretIDs struct{ out outputFlags }

func (t *secretIDs) flags(flags *pflag.FlagSet) { t.out.add(flags) }

func (t *secretIDs) init(_ Context, args []string) error {
	if err := t.out.check(); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *secretIDs) run(ctx context.Context, run *toolRun) error {
	all, err := run.hook.OwnedSecrets(ctx)
	if err != nil {
		return err
	}
	ids := []string{}
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return t.out.write(run, ids)
}
