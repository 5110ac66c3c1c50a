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
	cmd := &cobra.Command{
		Use:   "register [STRING]",
		Short: "Register as a new user of a controller",
		Long: `Register with a controller to which an administrator has added you. STRING is the output
of add-user. You choose a password, which invalidates the string, and a name for the
controller on this client.

Without STRING, the command prompts for it: on a shared host, others can see the arguments
of a command. The password is stored in $JUJU_DATA, where only you can read it, until juju
logout.`,
		Example: `  juju register MIIB5AQDYm9iMBEWDzEyNy4wLjAuMToxNzA3MAQg
  juju register`,
		Annotations: cli.SeeAlso("add-user", "login", "unregister"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return register(cmd.Context(), s, args)
		},
	}
	return cmd
}

func register(ctx context.Context, s *cli.Session, args []string) error {
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
		if ctrl.CACert == r.caCert() {
			return entity.WithHint(entity.Errorf(entity.AlreadyExists,
				"this controller has already been registered on this client as %q", name),
				"To forget it first: juju unregister %s; or use another JUJU_DATA", name)
		}
	}
	password, err := s.NewPassword(ctx, "Enter a new password: ", "Confirm password: ")
	if err != nil {
		return err
	}
	name, err := controllerNameFor(ctx, s, contents, r.Controller)
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
	return enter(ctx, s, st, cli.Target{Name: name, Controller: ctrl})
}

// controllerNameFor prompts for an unused name for a controller.
func controllerNameFor(ctx context.Context, s *cli.Session, c *store.Contents, suggested string) (string, error) {
	_, taken := c.Controllers[suggested]
	if taken || clouds.CheckName(suggested) != nil {
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
	if _, taken := c.Controllers[name]; taken {
		return "", entity.WithHint(entity.Errorf(entity.AlreadyExists, "controller %q already exists", name),
			"Choose another name.")
	}
	return name, nil
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
