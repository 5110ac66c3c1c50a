package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/actions"
	"juju/cmd/juju/backups"
	"juju/cmd/juju/blocks"
	"juju/cmd/juju/bundles"
	"juju/cmd/juju/charms"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/controllers"
	"juju/cmd/juju/hub"
	"juju/cmd/juju/machines"
	"juju/cmd/juju/models"
	"juju/cmd/juju/networks"
	"juju/cmd/juju/offers"
	"juju/cmd/juju/secrets"
	"juju/cmd/juju/services"
	"juju/cmd/juju/ssh"
	"juju/cmd/juju/status"
	"juju/cmd/juju/storage"
	"juju/cmd/juju/users"
	"juju/cmd/juju/wait"
	"juju/state/entity"
)

// groups are the groups of commands in the help.
var groups = []*cobra.Group{
	{ID: "controllers", Title: "Controllers:"},
	{ID: "models", Title: "Models:"},
	{ID: "services", Title: "Services and units:"},
	{ID: "secrets", Title: "Secrets:"},
	{ID: "relations", Title: "Relations:"},
	{ID: "machines", Title: "Machines:"},
	{ID: "actions", Title: "Actions and commands on units:"},
	{ID: "storage", Title: "Storage:"},
	{ID: "networks", Title: "Networks:"},
	{ID: "resources", Title: "Resources:"},
	{ID: "hub", Title: "Charm stores:"},
	{ID: "users", Title: "Users and protection:"},
	{ID: "looking", Title: "Status and logs:"},
}

// New returns the root command with all subcommands.
func New(s *cli.Session) *cobra.Command {
	root := cli.NewRoot(s)
	root.Short = "Deploy, relate and scale services"
	root.Long = `Juju runs services. You declare which services to run, how many units each has and how
they relate to each other. Charms, which know how to operate each service, do the rest.

A controller keeps your services running as declared. It manages models, each with its own
services, relations and machines.`
	root.Example = `  juju bootstrap
  juju deploy ./charms/store
  juju deploy ./charms/web
  juju add-relation web store
  juju status`
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			_, err := fmt.Fprint(s.Stdout, beginning(cmd))
			return err
		}
		return unknownCommand(cmd, args)
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return cli.WithHelp(cmd, unknownFlag(cmd, cli.FlagError(err)))
	})
	root.Flags().Bool("version", false, "print the version of this program")
	root.Version = Version
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddGroup(groups...)
	for _, group := range []struct {
		id       string
		commands []*cobra.Command
	}{
		{"controllers", []*cobra.Command{controllers.BootstrapCommand(s), controllers.DestroyEnvironmentCommand(s), users.RegisterCommand(s),
			users.UnregisterCommand(s), users.LoginCommand(s), users.LogoutCommand(s), users.WhoamiCommand(s), controllers.UpgradeControllerCommand(s),
			controllers.ControllersCommand(s), controllers.ShowControllerCommand(s), controllers.ControllerConfigCommand(s), controllers.CloudsCommand(s), controllers.ShowCloudCommand(s), controllers.RegionsCommand(s),
			controllers.AddCloudCommand(s), controllers.UpdateCloudCommand(s), controllers.RemoveCloudCommand(s), controllers.DefaultRegionCommand(s),
			controllers.AddCredentialCommand(s), controllers.UpdateCredentialCommand(s), controllers.RemoveCredentialCommand(s), controllers.DefaultCredentialCommand(s), controllers.AutoloadCredentialsCommand(s),
			controllers.AuditLogCommand(s), controllers.CredentialsCommand(s), controllers.ShowCredentialCommand(s), controllers.EnableHACommand(s), controllers.DashboardCommand(s), controllers.MigrateStoreCommand(s),
			backups.CreateCommand(s), backups.VerifyCommand(s), backups.RestoreCommand(s)}},
		{"models", []*cobra.Command{models.AddModelCommand(s), models.ModelsCommand(s), models.ShowModelCommand(s), models.DestroyModelCommand(s),
			models.SetCredentialCommand(s), models.SwitchCommand(s), models.ModelConfigCommand(s), models.ModelDefaultsCommand(s), controllers.UpgradeModelCommand(s)}},
		{"services", []*cobra.Command{services.DeployCommand(s), bundles.ApplyCommand(s), bundles.DiffCommand(s), bundles.DiffBundleCommand(s), bundles.ExportCommand(s),
			charms.UpgradeCharmCommand(s), services.AddUnitCommand(s), services.DestroyUnitCommand(s), services.DestroyServiceCommand(s),
			services.SetCommand(s), services.GetCommand(s), services.UnsetCommand(s), services.ConfigCommand(s), services.TrustCommand(s), services.BindCommand(s),
			services.SetConstraintsCommand(s), services.ConstraintsCommand(s), services.SetMinUnitsCommand(s), services.SetApplicationBaseCommand(s), services.ExposeCommand(s), services.UnexposeCommand(s),
			services.ResolvedCommand(s), services.ShowUnitCommand(s), services.PayloadsCommand(s), services.ShowApplicationCommand(s)}},
		{"actions", []*cobra.Command{actions.ActionsCommand(s), actions.ShowActionCommand(s), actions.RunActionCommand(s), actions.RunCommand(s), actions.ExecCommand(s),
			actions.OperationsCommand(s), actions.ShowOperationCommand(s), actions.ShowTaskCommand(s), actions.CancelTaskCommand(s),
			actions.ShowActionStatusCommand(s), actions.ShowActionOutputCommand(s)}},
		{"secrets", []*cobra.Command{secrets.SecretsCommand(s), secrets.ShowSecretCommand(s), secrets.AddSecretCommand(s), secrets.UpdateSecretCommand(s),
			secrets.RemoveSecretCommand(s), secrets.GrantSecretCommand(s), secrets.RevokeSecretCommand(s)}},
		{"relations", []*cobra.Command{services.AddRelationCommand(s), services.DestroyRelationCommand(s),
			offers.OfferCommand(s), offers.OffersCommand(s), offers.ShowOfferCommand(s), offers.FindOffersCommand(s), offers.RemoveOfferCommand(s),
			offers.ConsumeCommand(s), offers.RemoveSaasCommand(s), offers.SuspendRelationCommand(s), offers.ResumeRelationCommand(s)}},
		{"machines", []*cobra.Command{machines.AddMachineCommand(s), machines.MachinesCommand(s), machines.ShowMachineCommand(s),
			machines.DestroyMachineCommand(s), machines.RetryProvisioningCommand(s), machines.UpgradeMachineCommand(s),
			ssh.SSHCommand(s), ssh.SCPCommand(s), ssh.DebugHooksCommand(s), ssh.KeysCommand(s), ssh.AddKeyCommand(s),
			ssh.ImportKeyCommand(s), ssh.RemoveKeyCommand(s),
			services.SetModelConstraintsCommand(s), services.ModelConstraintsCommand(s)}},
		{"storage", []*cobra.Command{storage.StorageCommand(s), storage.ShowStorageCommand(s), storage.AddStorageCommand(s),
			storage.AttachStorageCommand(s), storage.DetachStorageCommand(s), storage.RemoveStorageCommand(s),
			storage.ImportFilesystemCommand(s), storage.StoragePoolsCommand(s),
			storage.CreateStoragePoolCommand(s), storage.UpdateStoragePoolCommand(s), storage.RemoveStoragePoolCommand(s)}},
		{"networks", []*cobra.Command{networks.SpacesCommand(s), networks.ShowSpaceCommand(s), networks.AddSpaceCommand(s),
			networks.RenameSpaceCommand(s), networks.RemoveSpaceCommand(s), networks.MoveToSpaceCommand(s), networks.ReloadSpacesCommand(s),
			networks.SubnetsCommand(s)}},
		{"resources", []*cobra.Command{charms.ResourcesCommand(s), charms.AttachResourceCommand(s), charms.PendingResourcesCommand(s)}},
		{"hub", []*cobra.Command{hub.InfoCommand(s), hub.FindCommand(s), hub.DownloadCommand(s), hub.CharmResourcesCommand(s)}},
		{"users", []*cobra.Command{users.AddUserCommand(s), users.UsersCommand(s), users.ShowUserCommand(s), users.EnableUserCommand(s),
			users.DisableUserCommand(s), users.RemoveUserCommand(s), users.ChangeUserPasswordCommand(s), users.GrantCommand(s), users.RevokeCommand(s),
			users.CreateTokenCommand(s), users.TokensCommand(s), users.RevokeTokenCommand(s),
			blocks.DisableCommandCommand(s), blocks.EnableCommandCommand(s), blocks.DisabledCommandsCommand(s), blocks.EnableDestroyControllerCommand(s)}},
		{"looking", []*cobra.Command{status.StatusCommand(s), status.ExplainCommand(s), controllers.CheckCommand(s), status.ShowStatusLogCommand(s),
			ssh.CharmHistoryCommand(s),
			wait.WaitForCommand(s), status.DebugLogCommand(s), controllers.DumpDBCommand(s), helpToolCommand(s),
			versionCommand(s)}},
	} {
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(clouds.KeeperCommand())
	for _, cmd := range []*cobra.Command{documentationCommand(s, root), completionCommand(s, root)} {
		cmd.GroupID = "looking"
		root.AddCommand(cmd)
	}
	help := helpCommand(s, root)
	help.GroupID = "looking"
	completeNames(s, root, help)
	root.SetHelpCommand(help)
	root.SetUsageTemplate(strings.ReplaceAll(usageTemplate, "WIDTH", strconv.Itoa(helpWidth(s))))
	root.SetHelpTemplate(strings.ReplaceAll(helpTemplate, "WIDTH", strconv.Itoa(helpWidth(s))))
	for _, cmd := range root.Commands() {
		hintUsage(cmd)
		if mayAsk(cmd) && cmd.Flags().Lookup("yes") == nil {
			cli.AcceptYes(cmd)
		}
		completeNames(s, root, cmd)
	}
	return root
}

// asking are the verbs of the commands that ask for confirmation in some version of Juju, and the commands without such a
// verb.
var asking = strings.Fields("remove destroy delete kill detach revoke unregister logout restore-backup upgrade-controller upgrade-model")

// mayAsk reports whether scripts may tell a command not to ask, by any of its names.
func mayAsk(cmd *cobra.Command) bool {
	return slices.ContainsFunc(append([]string{cmd.Name()}, cmd.Aliases...), func(name string) bool {
		verb, _, _ := strings.Cut(name, "-")
		return slices.Contains(asking, verb) || slices.Contains(asking, name)
	})
}

// lists says, of commands about what juju status does not show, how to list that.
var lists = map[string]string{
	"show-task": "To list the tasks: juju operations", "cancel-task": "To list the tasks: juju operations",
	"show-action-output": "To list the tasks: juju operations", "show-operation": "To list the operations: juju operations",
	"remove-storage-pool": "To list the pools: juju storage-pools", "update-storage-pool": "To list the pools: juju storage-pools",
	"remove-ssh-key": "To list the keys: juju ssh-keys", "suspend-relation": "To list the relations: juju offers",
	"resume-relation": "To list the relations: juju offers", "destroy-relation": "To list the relations: juju status --relations",
	"show-storage": "To list the storage: juju storage", "remove-storage": "To list the storage: juju storage",
	"detach-storage": "To list the storage: juju storage", "attach-storage": "To list the storage: juju storage",
	"show-space": "To list the spaces: juju spaces", "remove-space": "To list the spaces: juju spaces",
	"rename-space": "To list the spaces: juju spaces",
}

// hintUsage makes the usage errors of a command point to its help, or to the command that its first words mean.
func hintUsage(cmd *cobra.Command) {
	cli.HintHelp(cmd)
	run, check := cmd.RunE, cmd.Args
	if run == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		err := check(cmd, args)
		if like := joined(commandNames(cmd.Root()), append([]string{cmd.CalledAs()}, args...)); err != nil && like != "" {
			return entity.WithHint(err, "Did you mean: juju %s", like)
		}
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if list := lists[cmd.Name()]; list != "" && entity.IsNotFound(err) && entity.Hint(err) == cli.SeeModel {
			return entity.WithHint(err, "%s", list)
		}
		return err
	}
}

// helpCommand prints the help of a command, given by its name or an alias.
func helpCommand(s *cli.Session, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "Show the help of a command or topic, or list all commands",
		Long: `Show what a command does, its flags and examples; or list all commands. juju help topics
lists the topics.`,
		Example: `  juju help
  juju help deploy
  juju help placement`,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if len(args) == 1 && (err != nil || cmd == root || len(rest) > 0) {
				if text := topicText(s, root, args[0]); text != "" {
					_, err := fmt.Fprint(s.Stdout, text)
					return err
				}
			}
			if err != nil || len(rest) > 0 {
				err := unknownCommand(root, args)
				return entity.WithHint(err, "%s; the topics of help: juju help topics", entity.Hint(err))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// beginners are the commands that juju alone lists.
var beginners = strings.Fields("bootstrap deploy add-relation status explain config expose add-unit upgrade-charm debug-log " +
	"destroy-service destroy-environment")

// beginning returns what juju alone prints: the commands to begin with, and where the others are.
func beginning(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString("Juju runs services: you declare which, and a controller makes it so and keeps it so.\n\n" +
		"Usage: juju COMMAND [ARGUMENTS]\n\nCommands to begin with:\n")
	for _, name := range beginners {
		if cmd, _, err := root.Find([]string{name}); err == nil && cmd != root {
			fmt.Fprintf(&b, "  %-20s %s\n", name, cmd.Short)
		}
	}
	b.WriteString("\nAll commands: juju help; more about one: juju help COMMAND; other things: juju help topics\n")
	return b.String()
}

// helpWidth returns the width of the terminal that help is printed on, or 0.
func helpWidth(s *cli.Session) int {
	if !s.OutTerminal {
		return 0
	}
	return s.Width()
}

// prose fits the paragraphs of a help text into a width, unless that is 0. Indented lines are not prose, and stay.
func prose(text string, width int) string {
	if width == 0 {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") {
			paragraphs[i] = strings.Join(display.Wrap(p, min(width, proseWidth)), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// proseWidth is how wide help texts are on terminals that are wider: longer lines are hard to read.
const proseWidth = 90

func init() { cobra.AddTemplateFunc("prose", prose) }

// WIDTH stands for the terminal's width, or 0.
const helpTemplate = `{{with (or .Long .Short)}}{{prose (. | trimTrailingWhitespaces) WIDTH}}

{{end}}{{if or .Runnable .HasSubCommands}}{{.UsageString}}{{end}}`

const usageTemplate = `Usage: ` +
	`{{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND [ARGUMENTS]{{else}}{{.UseLine}}{{end}}` +
	`{{if .Aliases}}
Also known as: {{range $i, $a := .Aliases}}{{if $i}}, {{end}}{{$a}}{{end}}{{end}}` +
	`{{if .HasAvailableSubCommands}}{{$commands := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped WIDTH | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Flags of all commands:
{{.InheritedFlags.FlagUsagesWrapped WIDTH | trimTrailingWhitespaces}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{with index .Annotations "see also"}}

See also: {{.}}{{end}}{{if .HasAvailableSubCommands}}

More about a command: {{.CommandPath}} help COMMAND; about other things: {{.CommandPath}} help topics{{end}}
`
