package users

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/connect"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/store"
	"juju/state/entity"
)

func RegisterCommand(s *cli.Session) *cobra.Command {
	replace := false
	cmd := &cobra.Command{
		Use:   "register [STRING]",
		Short: "Register as a new user of a controller",
		Long: `Register with a controller to which an administrator has added you. STRING is the output
of add-user. You choose a password, which invalidates the string, and a name for the
controller on this client. With --replace, that may be the name of a controller that this
client knows, and the controller may be one: what was stored of it is forgotten. A
controller that was bootstrapped by this client is not replaced.

Without STRING, the command prompts for it: on a shared host, others can see the arguments
of a command. The password is stored in $JUJU_DATA, where only you can read it, until juju
logout.`,
		Example: `  juju register MIIB5AQDYm9iMBEWDzEyNy4wLjAuMToxNzA3MAQg
  juju register`,
		Annotations: cli.SeeAlso("add-user", "login", "unregister"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return register(cmd.Context(), s, args, replace)
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a controller of that name, or the same one, on this client")
	return cmd
}

func register(ctx context.Context, s *cli.Session, args []string, replace bool) error {
	if len(args) == 0 {
		token, err := s.AskSecret(ctx, "Registration string: ")
		if err != nil {
			return err
		}
		args = []string{token}
	}
	r, err := readToken(strings.TrimSpace(args[0]))
	if err != nil {
		return err
	}
	st, err := s.Store()
	if err != nil {
		return err
	}
	contents, err := st.Read()
	if err != nil {
		return err
	}
	for name, ctrl := range contents.Controllers {
		if ctrl.CACert != r.caCert() {
			continue
		}
		if !replace {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists,
				"this controller has already been registered on this client as %q", name),
				"To replace it: juju register --replace; to forget it first: juju unregister %s; or use another JUJU_DATA", name)
		}
		if err := replaceable(name, ctrl); err != nil {
			return err
		}
	}
	password, err := s.NewPassword(ctx, "Enter a new password: ", "Confirm password: ")
	if err != nil {
		return err
	}
	name, err := controllerNameFor(ctx, s, contents, r.Controller, replace)
	if err != nil {
		return err
	}
	ctrl := &store.Controller{Addresses: r.Addresses, CACert: r.caCert(), User: r.User, Password: password,
		Models: map[string]string{}}
	info := client.Info{Addresses: r.Addresses, CACert: ctrl.CACert, Tag: entity.UserTag(r.User), Password: password}
	if err := client.Register(ctx, info, r.Key); errors.Is(err, entity.Unauthorized) {
		return cli.WithHint(err, fmt.Sprintf("The string may have been used or replaced. "+
			"To get a new one, a superuser runs: juju change-user-password %s --reset", r.User))
	} else if err != nil {
		return err
	}
	s.Note("Initial password successfully set for %s.", r.User)
	if contents.Controllers[name] != nil { // its machines are others
		if err := ssh.Forget(st, name); err != nil {
			return err
		}
	}
	if err := enter(ctx, s, st, cli.Target{Name: name, Controller: ctrl}); err != nil {
		return err
	}
	return forgetSame(ctx, st, contents, name, ctrl.CACert)
}

// replaceable returns an error if a controller would be lost if this client knew it no more.
func replaceable(name string, ctrl *store.Controller) error {
	if _, own := clouds.Homes[ctrl.Cloud]; own {
		return entity.WithHint(entity.Errorf(entity.NotSupported,
			"controller %q was bootstrapped by this client, and would be lost", name),
			"To use another name, or another JUJU_DATA, register without --replace. To destroy it and everything in it: "+
				"juju destroy-environment %s", name)
	}
	return nil
}

// controllerNameFor prompts for a name for a controller: an unused one, unless the other is replaced.
func controllerNameFor(ctx context.Context, s *cli.Session, c *store.Contents, suggested string,
	replace bool) (string, error) {
	_, taken := c.Controllers[suggested]
	if taken && !replace || clouds.CheckName(suggested) != nil {
		suggested = ""
	}
	prompt := "Enter a name for this controller: "
	if suggested != "" {
		prompt = fmt.Sprintf("Enter a name for this controller [%s]: ", suggested)
	}
	name, err := s.Ask(ctx, prompt)
	if err != nil {
		return "", err
	}
	if name = strings.TrimSpace(name); name == "" {
		name = suggested
	}
	if err := clouds.CheckName(name); err != nil {
		return "", err
	}
	ctrl, taken := c.Controllers[name]
	if taken && replace {
		return name, replaceable(name, ctrl)
	}
	if taken {
		return "", entity.WithHint(entity.Errorf(entity.AlreadyExists, "controller %q already exists", name),
			"Choose another name, or replace it: juju register --replace")
	}
	return name, nil
}

// forgetSame forgets a controller under the other names that it had on this client.
func forgetSame(ctx context.Context, st *store.Store, before *store.Contents, name, caCert string) error {
	for other, ctrl := range before.Controllers {
		if other == name || ctrl.CACert != caCert {
			continue
		}
		if err := ssh.Forget(st, other); err != nil {
			return err
		}
		err := st.Update(ctx, func(c *store.Contents) error {
			delete(c.Controllers, other)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// enter logs in for the first time, stores the controller, and lists its models.
func enter(ctx context.Context, s *cli.Session, st *store.Store, t cli.Target) error {
	conn, err := connect.Dial(ctx, s, st, t, "")
	if err != nil {
		return err
	}
	defer conn.Close()
	models, err := conn.Models(ctx)
	if err != nil {
		return err
	}
	t.Controller.UUID = conn.ControllerUUID()
	t.Controller.Models = map[string]string{}
	var names []string
	for _, m := range models {
		t.Controller.Models[m.Owner+"/"+m.Name] = m.UUID
		names = append(names, t.Controller.Unqualify(m.Owner+"/"+m.Name))
	}
	if len(names) == 1 {
		t.Controller.Model = t.Controller.Qualify(names[0])
	}
	err = st.Update(ctx, func(c *store.Contents) error {
		c.Controllers[t.Name] = t.Controller
		c.Current = t.Name
		return nil
	})
	if err == nil {
		_, err = ssh.MakeKey(ctx, st)
	}
	if err != nil {
		return err
	}
	s.Note("\nWelcome, %s. You are now logged into %q.", t.Controller.User, t.Name)
	slices.Sort(names)
	switch len(names) {
	case 0:
		s.Note("\nThere are no models available. You can add models with\n" +
			"\"juju add-model\", or you can ask an administrator or owner\n" +
			"of a model to grant access to that model with \"juju grant\".")
	case 1:
		s.Note("\nCurrent model set to %q.", names[0])
	default:
		s.Note("\nThere are %d models available. Use \"juju switch\" to select\none of them:", len(names))
		for _, name := range names {
			s.Note("  - juju switch %s", name)
		}
	}
	return nil
}
