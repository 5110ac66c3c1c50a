package main

import (
	"github.com/spf13/cobra"

	"juju/apiserver/client"
)

func revokeCommand(s *session) *cobra.Command {
	return accessCommand(s, &cobra.Command{
		Use:   "revoke USER LEVEL [MODEL...]",
		Short: "Let a user do less",
		Long: `Revoke a level of access to the controller, or to models, from a user: the level below
is left. It takes effect at once, also for who is connected just now. The last
superuser who can log in stays one.

` + levelsHelp,
		Example: `  juju revoke bob write staging
  juju revoke bob read staging prod
  juju revoke bob login`,
	}, client.Revoke)
}
