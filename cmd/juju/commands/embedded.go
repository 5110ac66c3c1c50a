package commands

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
)

// embeddable lists the commands that a controller runs for users who are elsewhere. They need nothing but the API: no
// file, program, terminal or other host; arguments that name a file are refused by the session.
var embeddable = strings.Fields(`
	add-model deploy upgrade-charm
	actions cancel-task exec operations run run-action show-action show-action-output show-action-status show-operation show-task
	add-machine add-ssh-key add-unit
	add-relation consume destroy-relation find-offers offer offers remove-offer remove-saas resume-relation show-offer suspend-relation
	add-storage attach-storage create-storage-pool detach-storage import-filesystem remove-storage remove-storage-pool
	add-space move-to-space reload-spaces remove-space rename-space show-space spaces subnets
	show-storage storage storage-pools update-storage-pool
	audit-log bind check clouds controller-config credentials regions show-cloud
	config constraints debug-log destroy-machine destroy-service destroy-unit disable-command disabled-commands enable-command
	explain export-bundle expose get machines model-config model-constraints model-defaults models pending-resources resolved resources
	retry-provisioning set set-constraints set-min-units set-model-constraints show-application show-controller show-machine
	show-model show-status-log show-unit set-credential ssh-keys status trust unexpose unset remove-ssh-key
	add-user disable-user enable-user grant revoke show-user users whoami
	help help-tool version wait-for`)

// keepEmbeddable removes all commands that are not embeddable, and returns their names.
func keepEmbeddable(root *cobra.Command) (removed []string) {
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if !slices.Contains(embeddable, cmd.Name()) {
			root.RemoveCommand(cmd)
			removed = append(append(removed, cmd.Name()), cmd.Aliases...)
		}
	}
	return removed
}

// notEmbedded returns the error for a command that a controller does not run, in Juju's words.
func notEmbedded(name string) error {
	return cli.WithHint(cli.Usagef("juju %q is not supported when run via a controller API call", name),
		"Run it with juju, where you are. To list the commands that the controller runs: help commands")
}
