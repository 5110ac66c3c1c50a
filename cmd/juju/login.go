package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"juju/state/entity"
)

func loginCommand(s *session) *cobra.Command {
	var user string
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Log in to a controller",
		Long: `Log in to a controller that this client knows, after juju logout or a change of the
password. The command asks for the password, or reads it from standard input.

A new user begins with juju register.`,
		Example: `  juju login
  juju login -u bob -c prod`,
		Annotations: seeAlso("logout", "register", "change-user-password"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unrecognized args: %q", args)
			}
			if user != "" && !entity.IsValidUser(user) {
				return usageError{entity.InvalidUser(user)}
			}
			return login(cmd.Context(), s, user)
		},
	}
	cmd.Flags().StringVarP(&user, "user", "u", "", "the user to log in as")
	s.controllerFlag(cmd)
	return cmd
}

func login(ctx context.Context, s *session, user string) error {
	st, t, err := s.readTarget()
	if err != nil {
		return err
	}
	switch {
	case user == "" && t.ctrl.User == "":
		if user, err = s.ask(ctx, "username: "); err != nil {
			return err
		}
		if !entity.IsValidUser(user) {
			return entity.InvalidUser(user)
		}
	case user == "":
		user = t.ctrl.User
	case t.ctrl.User != "" && !strings.EqualFold(user, t.ctrl.User):
		return entity.WithHint(fmt.Errorf("already logged in as %s", t.ctrl.User),
			`Run "juju logout" first before attempting to log in as a different user.`)
	}
	if t.ctrl.User != "" {
		conn, err := s.dial(ctx, st, t, "")
		if err == nil {
			s.note("Welcome, %s. You are already logged into %q.", t.ctrl.User, t.name)
			return conn.Close()
		}
		if !errors.Is(err, entity.Unauthorized) {
			return err
		}
	}
	t.ctrl.User = user
	t.ctrl.Password, err = s.askSecret(ctx, fmt.Sprintf("please enter password for %s on %s: ", user, t.name))
	if err != nil {
		return err
	}
	t.ctrl.Generated = false
	return s.enter(ctx, st, t)
}
