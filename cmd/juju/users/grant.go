package users

import (
	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
)

func GrantCommand(s *cli.Session) *cobra.Command {
	return accessCommand(s, &cobra.Command{
		Use:   "grant USER LEVEL [MODEL|OFFER...]",
		Short: "Grant a user access",
		Long: `Grant a user a level of access to the controller, to models or to offers. A level includes
those above it in the list. The change takes effect at once.

` + levelsHelp + `

On cloud "local", hooks run as the user who bootstrapped the controller. A user with write
access to a model there, or with add-model, can deploy a charm and so run any command as
that user. Grant more than read and login only to people you trust with that.`,
		Example: `  juju grant bob read staging
  juju grant bob write staging prod
  juju grant bob consume shop.mysql
  juju grant bob superuser`,
		Annotations: cli.SeeAlso("revoke", "users", "add-user"),
	}, client.Grant)
}
