package main

import (
	"github.com/spf13/cobra"

	"juju/apiserver/client"
)

func grantCommand(s *session) *cobra.Command {
	return accessCommand(s, &cobra.Command{
		Use:   "grant USER LEVEL [MODEL...]",
		Short: "Let a user do more",
		Long: `Grant a user a level of access to the controller, or to models. It holds all levels
below, and takes effect at once.

` + levelsHelp + `

On cloud "local" hooks run as the user who bootstrapped the controller. Whoever may
write in a model there, or make one, can deploy a charm and so run any command as
that user. Grant more than "read" and "login" only to people who may do that.`,
		Example: `  juju grant bob read staging
  juju grant bob write staging prod
  juju grant bob superuser`,
	}, client.Grant)
}
