package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"juju/cmd/juju/cli"
	"juju/cmd/juju/cloudfiles"
	"juju/state/entity"
)

type credentialAPI interface {
	cloudsAPI
	Credential(ctx context.Context, cloud, name string, secrets bool) (entity.CloudCredential, map[string]string, error)
}

type cloudsAPI interface {
	Clouds(ctx context.Context) ([]string, error)
	// CredentialNames returns the names of a cloud's credentials.
	CredentialNames(ctx context.Context, cloud string) ([]string, error)
}

// The YAML and JSON forms of credentials.
type (
	shownCredentials struct {
		OfController map[string]cloudCredentials `yaml:"controller-credentials,omitempty" json:"controller-credentials,omitempty"`
		OfClient     map[string]cloudCredentials `yaml:"client-credentials,omitempty" json:"client-credentials,omitempty"`
	}
	cloudCredentials struct {
		Default     string                     `yaml:"default-credential,omitempty" json:"default-credential,omitempty"`
		Region      string                     `yaml:"default-region,omitempty" json:"default-region,omitempty"`
		Credentials map[string]shownCredential `yaml:",inline" json:"cloud-credentials,omitempty"`
	}
	shownCredential struct {
		AuthType   string            `yaml:"auth-type" json:"auth-type"`
		Attributes map[string]string `yaml:",inline" json:"details,omitempty"`
	}
)

func CredentialsCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	secrets, client := false, false
	cmd := &cobra.Command{
		Use:     "credentials [CLOUD]",
		Aliases: []string{"list-credentials"},
		Short:   "List the credentials for clouds",
		Long: `List credentials for clouds: those that the controller has, and those of this client,
which juju bootstrap and juju add-credential give to controllers. The type is "empty" for
a cloud that needs none. * marks the default; a controller's default is the one used at
bootstrap.`,
		Example: `  juju credentials
  juju credentials rack --client`,
		Annotations: cli.SeeAlso("show-credential", "add-credential", "default-credential", "clouds", "trust"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := checkCloud(args, 1); err != nil {
					return err
				}
			}
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			return listCredentials(cmd.Context(), s, output, args, secrets, client)
		},
	}
	cmd.Flags().BoolVar(&secrets, "show-secrets", false, "also show secrets; only superusers see those of a controller")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	onClientFlag(cmd, &client)
	s.ControllerFlag(cmd)
	return cmd
}

func listCredentials(ctx context.Context, s *cli.Session, output cli.Output, of []string, secrets, client bool) error {
	own, err := ownCredentials(s, of, secrets)
	if err != nil {
		return err
	}
	shown := shownCredentials{map[string]cloudCredentials{}, own}
	ask, err := asks(s, client)
	if err != nil {
		return err
	}
	if ask {
		err := cli.WithController(ctx, s, func(_ cli.Target, api credentialAPI) error {
			clouds, err := orAll(of, func() ([]string, error) { return api.Clouds(ctx) })
			if err != nil {
				return err
			}
			for _, cloud := range clouds {
				if err := shown.addOfController(ctx, api, cloud, secrets); err != nil {
					return err
				}
			}
			return nil
		})
		// The client may have credentials of another cloud.
		if err != nil && (!errors.Is(err, entity.NotFound) || len(of) == 0 || len(own) == 0) {
			return err
		}
	}
	rows := [][]string{{"Cloud", "Credential", "Type", "Source"}}
	for _, one := range []struct {
		source string
		of     map[string]cloudCredentials
	}{{"controller", shown.OfController}, {"client", shown.OfClient}} {
		for _, cloud := range slices.Sorted(maps.Keys(one.of)) {
			of := one.of[cloud]
			for _, name := range slices.Sorted(maps.Keys(of.Credentials)) {
				mark := ""
				if name == of.Default {
					mark = "*"
				}
				rows = append(rows, []string{cloud, name + mark, of.Credentials[name].AuthType, one.source})
			}
		}
	}
	return s.WriteList(output, shown, rows)
}

// orAll returns given, or all if that is empty.
func orAll(given []string, all func() ([]string, error)) ([]string, error) {
	if len(given) > 0 {
		return given, nil
	}
	return all()
}

// addOfController adds the controller's credentials of a cloud, the first of which is the default.
func (shown shownCredentials) addOfController(ctx context.Context, api credentialAPI,
	cloud string, secrets bool) error {
	names, err := api.CredentialNames(ctx, cloud)
	if err != nil || len(names) == 0 {
		return err
	}
	of := cloudCredentials{Default: names[0], Credentials: map[string]shownCredential{}}
	for _, name := range names {
		c, _, err := api.Credential(ctx, cloud, name, secrets)
		if err != nil {
			return err
		}
		of.Credentials[name] = shownCredential{c.AuthType, c.Attributes}
	}
	shown.OfController[cloud] = of
	return nil
}

// ownCredentials returns this client's credentials of clouds, all if none are named.
func ownCredentials(s *cli.Session, of []string, secrets bool) (map[string]cloudCredentials, error) {
	st, err := s.Store()
	if err != nil {
		return nil, err
	}
	all, err := cloudfiles.ReadCredentials(st)
	if err != nil {
		return nil, err
	}
	own := map[string]cloudCredentials{}
	for cloud, one := range all {
		if len(of) > 0 && !slices.Contains(of, cloud) {
			continue
		}
		shown := cloudCredentials{Default: one.Default, Region: one.Region, Credentials: map[string]shownCredential{}}
		for name, c := range one.Named {
			attributes := maps.Clone(c.Attributes)
			if !secrets {
				maps.DeleteFunc(attributes, func(key, _ string) bool { return entity.IsSecretAttribute(key) })
			}
			shown.Credentials[name] = shownCredential{c.AuthType, attributes}
		}
		own[cloud] = shown
	}
	return own, nil
}

// The YAML and JSON form of show-credential. In JSON its keys are those of Juju, which are names of Go's there.
type (
	shownDetails struct {
		OfController namedDetails `yaml:"controller-credentials,omitempty" json:"Controller"`
		OfClient     namedDetails `yaml:"client-credentials,omitempty" json:"Client"`
	}
	namedDetails      map[string]map[string]credentialDetails // by cloud and credential
	credentialDetails struct {
		Content credentialContent `yaml:"content" json:"Content"`
		Models  map[string]string `yaml:"models,omitempty" json:"Models"` // the access to each
	}
	credentialContent struct {
		AuthType   string            `yaml:"auth-type" json:"AuthType"`
		Validity   string            `yaml:"validity-check,omitempty" json:"Validity"` // by the controller
		Attributes map[string]string `yaml:",inline" json:"Attributes"`
	}
)

// add adds a credential of a cloud.
func (d namedDetails) add(cloud, name string, c shownCredential, validity string, models map[string]string) {
	if d[cloud] == nil {
		d[cloud] = map[string]credentialDetails{}
	}
	orEmpty := func(m map[string]string) map[string]string { // not null in JSON
		if m == nil {
			m = map[string]string{}
		}
		return m
	}
	d[cloud][name] = credentialDetails{credentialContent{c.AuthType, validity, orEmpty(c.Attributes)}, orEmpty(models)}
}

func ShowCredentialCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	secrets, client := false, false
	cmd := &cobra.Command{
		Use:     "show-credential [CLOUD CREDENTIAL]",
		Aliases: []string{"show-credentials"},
		Short:   "Show a credential for a cloud",
		Long: `Show a credential for a cloud: the controller's, with those of your models that use it,
and this client's. Without arguments, show all credentials.`,
		Example: `  juju show-credential
  juju show-credential lxd default --show-secrets`,
		Annotations: cli.SeeAlso("credentials", "show-cloud"),
		Args:        cli.AtMost(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return cli.Usagef("both cloud and credential name are needed")
			}
			if len(args) > 0 {
				if err := checkCloud(args, 2); err != nil {
					return err
				}
			}
			if err := cli.CheckFormat(output.Format); err != nil {
				return err
			}
			return showCredentials(cmd.Context(), s, output, args, secrets, client)
		},
	}
	cmd.Flags().BoolVar(&secrets, "show-secrets", false, "also show secrets; only superusers see those of a controller")
	output.Flags(cmd, "yaml", "yaml", "json")
	onClientFlag(cmd, &client)
	s.ControllerFlag(cmd)
	return cmd
}

// showCredentials shows a cloud's credential, or all if args is empty.
func showCredentials(ctx context.Context, s *cli.Session, output cli.Output, args []string,
	secrets, client bool) error {
	own, err := ownCredentials(s, args[:min(1, len(args))], secrets)
	if err != nil {
		return err
	}
	shown := shownDetails{namedDetails{}, namedDetails{}}
	for cloud, of := range own {
		for name, c := range of.Credentials {
			if len(args) == 0 || name == args[1] {
				shown.OfClient.add(cloud, name, c, "", nil)
			}
		}
	}
	ask, err := asks(s, client)
	if err == nil && ask {
		err = cli.WithController(ctx, s, func(_ cli.Target, api credentialAPI) error {
			clouds, err := orAll(args[:min(1, len(args))], func() ([]string, error) { return api.Clouds(ctx) })
			if err != nil {
				return err
			}
			for _, cloud := range clouds {
				names, err := orAll(args[min(1, len(args)):], func() ([]string, error) { return api.CredentialNames(ctx, cloud) })
				if err != nil {
					return err
				}
				for _, name := range names {
					c, models, err := api.Credential(ctx, cloud, name, secrets)
					if err != nil {
						return err
					}
					shown.OfController.add(cloud, name, shownCredential{c.AuthType, c.Attributes}, "valid", models)
				}
			}
			return nil
		})
	}
	none := len(shown.OfController)+len(shown.OfClient) == 0
	switch {
	case err != nil && (!errors.Is(err, entity.NotFound) || len(args) == 0 || none):
		return err
	case len(args) > 0 && none:
		return entity.WithHint(entity.Errorf(entity.NotFound, "credential %q of cloud %q not found", args[1], args[0]),
			"To list them: juju credentials")
	}
	text, err := cli.Encode(output.Format, shown)
	if err != nil {
		return err
	}
	return s.Write(output, text)
}
