package users

import (
	"context"
	"strings"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"

	"github.com/spf13/cobra"
)

func UsersCommand(s *cli.Session) *cobra.Command {
	u := &users{Session: s}
	cmd := &cobra.Command{
		Use:     "users [MODEL]",
		Aliases: []string{"list-users"},
		Short:   "List users",
		Long: `List the users of a controller or, with MODEL, the users who have access to that model.
Only superusers see other users of a controller, and only administrators of a model see
its other users.`,
		Example: `  juju users
  juju users --all -c prod
  juju users staging --format yaml`,
		Annotations: cli.SeeAlso("show-user", "add-user", "grant"),
		Args:        cli.AtMost(1),
		RunE:        func(cmd *cobra.Command, args []string) error { return u.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&u.all, "all", false, "include disabled users")
	cmd.Flags().BoolVar(&u.exact, "exact-time", false, "show exact times")
	u.output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ControllerFlag(cmd)
	return cmd
}

type listUsersAPI interface {
	cli.ModelsAPI
	Users(ctx context.Context, disabled bool) ([]entity.UserInfo, error)
	ModelUsers(ctx context.Context, uuid string) ([]entity.ModelUser, error)
}

type users struct {
	*cli.Session
	all, exact bool
	output     cli.Output
}

// A shownModelUser is the YAML and JSON form of a model's user, under their name.
type shownModelUser struct {
	DisplayName    string       `yaml:"display-name,omitempty" json:"display-name,omitempty"`
	Access         string       `yaml:"access" json:"access"`
	LastConnection display.Time `yaml:"last-connection" json:"last-connection"`
}

func (u *users) run(ctx context.Context, args []string) error {
	if err := cli.CheckListFormat(u.output.Format); err != nil {
		return err
	}
	model := ""
	if len(args) > 0 {
		var err error
		if model, err = u.SplitModel(args[0]); err != nil {
			return err
		}
	}
	return cli.WithController(ctx, u.Session, func(t cli.Target, api listUsersAPI) error {
		if model == "" {
			return u.ofController(ctx, t, api)
		}
		return u.ofModel(ctx, t, api, model)
	})
}

// star marks the user who is logged in.
func star(t cli.Target, name string) string {
	if strings.EqualFold(name, t.Controller.User) {
		return name + "*"
	}
	return name
}

func (u *users) ofController(ctx context.Context, t cli.Target, api listUsersAPI) error {
	all, err := api.Users(ctx, u.all)
	if err != nil {
		return err
	}
	times := times{u.exact, u.Now()}
	shown := make([]shownUser, 0, len(all))
	rows := [][]string{{"Name", "Display name", "Access", "Date created", "Last connection"}}
	for _, info := range all {
		one := times.user(info)
		shown = append(shown, one)
		if one.Disabled {
			one.LastConnection.Words += " (disabled)"
		}
		rows = append(rows, []string{star(t, one.Name), one.DisplayName, one.Access, one.DateCreated.Words, one.LastConnection.Words})
	}
	if u.output.Format == "tabular" {
		return u.WriteTable(u.output, "Controller: "+t.Name, rows)
	}
	return u.WriteList(u.output, shown, nil)
}

func (u *users) ofModel(ctx context.Context, t cli.Target, api listUsersAPI, name string) error {
	model, err := u.FindModel(ctx, t, api, name)
	if err != nil {
		return err
	}
	all, err := api.ModelUsers(ctx, model.UUID)
	if err != nil {
		return err
	}
	times := times{u.exact, u.Now()}
	shown := map[string]shownModelUser{}
	rows := [][]string{{"Name", "Display name", "Access", "Last connection"}}
	for _, info := range all {
		last := times.shown(info.LastConnection)
		shown[info.UserName] = shownModelUser{info.DisplayName, info.Access, last}
		rows = append(rows, []string{star(t, info.UserName), info.DisplayName, info.Access, last.Words})
	}
	return u.WriteList(u.output, shown, rows)
}
