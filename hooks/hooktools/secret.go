package hooktools

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"juju/charm/secretargs"
	"juju/state/entity"
)

// The errors of these tools never quote what may be the content of a secret: a charm's errors are in its log.

// secretSettings are the flags and arguments of secret-add and secret-set.
type secretSettings struct {
	owner, label, description, rotate, expire, file string

	expires time.Time
	args    []string
}

func (s *secretSettings) flags(flags *pflag.FlagSet) {
	flags.StringVar(&s.description, "description", "", "the secret's `description`")
	flags.StringVar(&s.expire, "expire", "", "the `time` or duration after which the secret expires")
	flags.StringVar(&s.file, "file", "", "read keys and values from this YAML `file`, or - for the standard input")
	flags.StringVar(&s.label, "label", "", "the `label` by which the secret is known in hooks")
	flags.StringVar(&s.owner, "owner", "application", "the `owner` of the secret: application or unit")
	flags.StringVar(&s.rotate, "rotate", "", "how often to rotate the secret: a `policy` such as never, daily or monthly")
}

// parse checks the flags, and the keys and values.
func (s *secretSettings) parse(args []string) error {
	var err error
	if s.expires, err = parseExpiry(s.expire, time.Now()); err != nil {
		return err
	}
	if s.rotate != "" {
		if err := entity.RotatePolicy(s.rotate).Check(); err != nil {
			return err
		}
	}
	if s.owner != "application" && s.owner != "unit" {
		return fmt.Errorf("secret owner %q not valid", s.owner)
	}
	s.args = args
	return secretargs.Check(args)
}

// parseExpiry returns when a secret expires that was given a time or a duration; the zero time for "".
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return time.Time{}, entity.WithHint(fmt.Errorf("expire time or duration %q not valid", text),
			"Times are like 2025-01-31T06:00:00 or 2025-01-31T06:00:00Z, durations like 24h.")
	}
	if d <= 0 {
		return time.Time{}, fmt.Errorf("negative expire duration %q not valid", text)
	}
	return now.Add(d).UTC(), nil
}

// read returns the settings, with the content of files. Those that were not given are nil.
func (s *secretSettings) read(run *toolRun) (settings entity.SecretSettings, err error) {
	if settings.Content, err = secretargs.Content(s.args, s.file, run.read); err != nil {
		return settings, err
	}
	if s.label != "" {
		settings.Label = &s.label
	}
	if s.description != "" {
		settings.Description = &s.description
	}
	if s.rotate != "" {
		settings.Rotate = (*entity.RotatePolicy)(&s.rotate)
	}
	if !s.expires.IsZero() {
		settings.Expire = &s.expires
	}
	return settings, nil
}

// secretArg returns the URI in the first argument, and the arguments after it.
func secretArg(args []string) (entity.SecretURI, []string, error) {
	if len(args) == 0 {
		return entity.SecretURI{}, nil, errors.New("missing secret URI")
	}
	uri, err := entity.ParseSecretURI(args[0])
	return uri, args[1:], err
}

var secretAddInfo = commandInfo{
	args:    "<key>[#base64|#file]=<value> ...",
	purpose: "Make a secret, and print its URI.",
	details: `The secret belongs to the service, and only the leader can make and change it; with
--owner unit, it belongs to the unit. Others read it once they are granted it.

The value of key#base64 is in base64 already, and that of key#file is a file to read.
Keys have three or more lower-case letters and digits, and may have hyphens between
them. What is in --file, a YAML map of texts, overrides arguments. A secret's content
can have 1,000,000 bytes in base64.

The secret is stored when the hook succeeds. If the hook fails, there is none; its URI
can be given to others all the same, in what the hook sets.

Policies of --rotate are never, hourly, daily, weekly, monthly, quarterly and yearly;
the hook secret-rotate says when it is time, and secret-expired when the time of
--expire has come.
`,
	examples: []string{"secret-add token=34ae35facd4", "secret-add --owner unit key#base64=AA==",
		"secret-add --label db-password --rotate monthly --expire 24h password=s3cret",
		`echo "password: s3cret" | secret-add --file -`},
	make: func() command { return &secretAdd{} },
}

type secretAdd struct{ settings secretSettings }

func (t *secretAdd) flags(flags *pflag.FlagSet) { t.settings.flags(flags) }

func (t *secretAdd) init(_ Context, args []string) error {
	if len(args) == 0 && t.settings.file == "" {
		return errors.New("missing secret value or filename")
	}
	return t.settings.parse(args)
}

func (t *secretAdd) run(ctx context.Context, run *toolRun) error {
	settings, err := t.settings.read(run)
	if err != nil {
		return err
	}
	if settings.Content == nil {
		return errors.New("empty secret value not valid")
	}
	uri, err := run.hook.AddSecret(ctx, t.settings.owner == "unit", settings)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(&run.stdout, uri)
	return err
}

var secretSetInfo = commandInfo{
	args:    "<URI> [<key>[#base64|#file]=<value> ...]",
	purpose: "Change a secret of the unit or its service.",
	details: `Values make a new revision, with these keys and no others, unless the latest one has the
same. What is not given stays as it is. --expire alone moves the time of the latest
revision. --owner changes nothing. Values and files are as for secret-add.

The secret is changed when the hook succeeds.
`,
	examples: []string{"secret-set secret:9m4e2mr0ui3e8a215n4g token=34ae35facd4",
		"secret-set secret:9m4e2mr0ui3e8a215n4g --rotate monthly --label db-password"},
	make: func() command { return &secretSet{} },
}

type secretSet struct {
	uri      entity.SecretURI
	settings secretSettings
}

func (t *secretSet) flags(flags *pflag.FlagSet) { t.settings.flags(flags) }

func (t *secretSet) init(_ Context, args []string) (err error) {
	if len(args) > 0 && strings.Contains(args[0], "=") {
		return entity.WithHint(errors.New("secret URI not valid"),
			"The first argument is the URI. It seems to be a key and its value.")
	}
	if t.uri, args, err = secretArg(args); err != nil {
		return err
	}
	return t.settings.parse(args)
}

func (t *secretSet) run(ctx context.Context, run *toolRun) error {
	settings, err := t.settings.read(run)
	if err != nil {
		return err
	}
	return run.hook.UpdateSecret(ctx, t.uri, settings)
}

var secretRemoveInfo = commandInfo{
	args:    "<URI>",
	purpose: "Remove a secret of the unit or its service.",
	details: `With --revision, remove only that revision, as when the hook secret-remove says that
nothing reads it any more. It is removed when the hook succeeds.
`,
	examples: []string{"secret-remove secret:9m4e2mr0ui3e8a215n4g", "secret-remove secret:9m4e2mr0ui3e8a215n4g --revision 1"},
	make:     func() command { return &secretRemove{} },
}

type secretRemove struct {
	uri      entity.SecretURI
	revision int
}

func (t *secretRemove) flags(flags *pflag.FlagSet) {
	flags.IntVar(&t.revision, "revision", 0, "remove only this `revision`")
}

func (t *secretRemove) init(_ Context, args []string) (err error) {
	if t.uri, args, err = secretArg(args); err != nil {
		return err
	}
	return checkEmpty(args)
}

func (t *secretRemove) run(ctx context.Context, run *toolRun) error {
	return run.hook.RemoveSecret(ctx, t.uri, max(t.revision, 0))
}
