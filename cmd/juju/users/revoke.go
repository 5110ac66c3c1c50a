package users

import (
	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
)

func RevokeCommand(s *cli.Session) *cobra.Command {
	return accessCommand(s, &cobra.Command{
		Use:   "revoke USER LEVEL [MODEL|OFFER...]",
		Short: "Revoke access from a user",
		Long: `Revoke a user's level of access to the controller or to models. On a model or an offer the
user keeps the next lower level, and on the controller "login". The change takes effect at
once, also on open connections. The last superuser who can log in keeps that level. A
user's relations with an offer are suspended once the user may no longer consume it.

` + levelsHelp,
		Example: `  juju revoke bob write staging
  juju revoke bob read staging prod
  juju revoke bob login`,
		Annotations: cli.SeeAlso("grant", "users", "disable-user"),
	}, client.Revoke)
}
