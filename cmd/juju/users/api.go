package users

import (
	"context"
	"time"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type usersAPI interface {
	AddUser(ctx context.Context, name, displayName string) (key []byte, err error)
	ResetPassword(ctx context.Context, name string) (key []byte, err error)
	SetPassword(ctx context.Context, name, password string) error
	EnableUser(ctx context.Context, name string) error
	DisableUser(ctx context.Context, name string) error
	RemoveUser(ctx context.Context, name string) error
	User(ctx context.Context, name string) (entity.UserInfo, error)
}

// oneUser checks that the only argument is the name of a user.
func oneUser(args []string) error {
	if len(args) == 0 {
		return cli.Usagef("no username supplied")
	}
	return atMostOneUser(args)
}

func atMostOneUser(args []string) error {
	if len(args) > 1 {
		return cli.Usagef("unrecognized args: %q", args[1:])
	}
	if len(args) == 1 && !entity.IsValidUser(args[0]) {
		return cli.Usage(entity.InvalidUser(args[0]))
	}
	return nil
}

// A shownUser is the YAML and JSON form of a user.
type shownUser struct {
	Name           string       `yaml:"user-name" json:"user-name"`
	DisplayName    string       `yaml:"display-name,omitempty" json:"display-name,omitempty"`
	Access         string       `yaml:"access" json:"access"`
	DateCreated    display.Time `yaml:"date-created,omitempty" json:"date-created,omitzero"`
	LastConnection display.Time `yaml:"last-connection,omitempty" json:"last-connection,omitzero"`
	Disabled       bool         `yaml:"disabled,omitempty" json:"disabled,omitempty"`
}

// times formats times, exactly or relative to now.
type times struct {
	exact bool
	now   time.Time
}

func (t times) user(u entity.UserInfo) shownUser {
	return shownUser{u.Username, u.DisplayName, u.Access, t.shown(&u.DateCreated), t.shown(u.LastConnection), u.Disabled}
}

func (t times) shown(when *time.Time) display.Time {
	if when == nil || when.IsZero() {
		return display.Time{Words: "never connected"}
	}
	return display.Time{At: when.UTC(), Words: t.words(*when)}
}

func (t times) words(when time.Time) string {
	if t.exact {
		return when.UTC().Format("2006-01-02 15:04:05 -0700 MST")
	}
	return cli.Ago(when, t.now)
}
