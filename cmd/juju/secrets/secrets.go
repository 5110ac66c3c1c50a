package secrets

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

// A shownSecret is the YAML and JSON form of a secret, with Juju's keys.
type shownSecret struct {
	Revision    int             `yaml:"revision" json:"revision"`
	Checksum    string          `yaml:"checksum,omitempty" json:"checksum,omitempty"`
	Expires     time.Time       `yaml:"expires,omitempty" json:"expires,omitzero"`
	Rotation    string          `yaml:"rotation,omitempty" json:"rotation,omitempty"`
	Rotates     time.Time       `yaml:"rotates,omitempty" json:"rotates,omitzero"`
	Owner       string          `yaml:"owner,omitempty" json:"owner,omitempty"`
	Description string          `yaml:"description,omitempty" json:"description,omitempty"`
	Name        string          `yaml:"name,omitempty" json:"name,omitempty"`
	Label       string          `yaml:"label,omitempty" json:"label,omitempty"`
	Created     time.Time       `yaml:"created" json:"created"`
	Updated     time.Time       `yaml:"updated" json:"updated"`
	Error       string          `yaml:"error,omitempty" json:"error,omitempty"`
	Content     *shownContent   `yaml:"content,omitempty" json:"content,omitempty"`
	Revisions   []shownRevision `yaml:"revisions,omitempty" json:"revisions,omitempty"`
	Access      []shownAccess   `yaml:"access,omitempty" json:"access,omitempty"`
}

// A shownContent is the content of a secret. In JSON it is below "Data", as in Juju, where clients read it.
type shownContent struct {
	Data map[string]string `yaml:",inline" json:"Data,omitempty"`
}

type shownRevision struct {
	Revision int       `yaml:"revision" json:"revision"`
	Backend  string    `yaml:"backend,omitempty" json:"backend,omitempty"`
	Created  time.Time `yaml:"created" json:"created"`
	Updated  time.Time `yaml:"updated" json:"updated"`
	Expires  time.Time `yaml:"expires,omitempty" json:"expires,omitzero"`
}

type shownAccess struct {
	Target string `yaml:"target" json:"target"`
	Scope  string `yaml:"scope" json:"scope"`
	Role   string `yaml:"role" json:"role"`
}

// applicationPrefix is how Juju's tags of services begin.
const applicationPrefix = "application-"

// tagOf returns a tag as Juju prints it.
func tagOf(t entity.Tag) string {
	if t.Kind == entity.KindService {
		return applicationPrefix + t.ID
	}
	return t.String()
}

// parseOwner parses the tag of what can own a secret.
func parseOwner(text string) (entity.Tag, error) {
	tag, _ := entity.ParseTag(text)
	if name, ok := strings.CutPrefix(text, applicationPrefix); ok && entity.IsValidService(name) {
		tag = entity.ServiceTag(name)
	} else if tag.Kind != entity.KindUnit && tag.Kind != entity.KindModel {
		return entity.Tag{}, entity.WithHint(fmt.Errorf("invalid owner %q", text), "An owner is application-NAME, unit-NAME-NUMBER or model-UUID.")
	}
	return tag, nil
}

// ownerOf returns how an owner is shown: "<model>", a service or a unit.
func ownerOf(s client.Secret) string {
	if s.Owner.Kind == entity.KindModel {
		return "<model>"
	}
	return s.Owner.ID
}

// shownOf returns the form of a secret, with its grants and its revisions if that is asked for.
func shownOf(s client.Secret, access, revisions bool) shownSecret {
	shown := shownSecret{Revision: s.Latest, Expires: s.Expire, Rotation: string(s.Rotate),
		Rotates: s.NextRotate, Owner: ownerOf(s), Description: s.Description, Created: s.Created, Updated: s.Updated}
	if s.Owner.Kind == entity.KindModel {
		shown.Name = s.Label
	} else {
		shown.Label = s.Label
	}
	switch {
	case s.ContentError != nil:
		shown.Error = s.ContentError.Error()
	case s.Content != nil:
		shown.Checksum, shown.Content = s.Checksum, &shownContent{map[string]string{}}
		for key, value := range s.Content {
			text, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				shown.Content.Data[key] = value
				continue
			}
			shown.Content.Data[key] = string(text)
		}
	}
	if access {
		for _, a := range s.Access {
			target, scope := entity.ServiceTag(a.Subject), s.Owner
			if entity.IsValidUnit(a.Subject) {
				target = entity.UnitTag(a.Subject)
			}
			if a.Scope != "" {
				scope = entity.RelationTag(a.Scope)
			}
			shown.Access = append(shown.Access, shownAccess{tagOf(target), tagOf(scope), "view"})
		}
	}
	if revisions {
		for _, r := range s.Revisions {
			shown.Revisions = append(shown.Revisions, shownRevision{r.Revision, "internal", r.Created, r.Updated, r.Expire})
		}
	}
	return shown
}

func SecretsCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var owner string
	cmd := &cobra.Command{
		Use:     "secrets",
		Aliases: []string{"list-secrets"},
		Short:   "List the secrets of a model",
		Long: `List the secrets of the model: those that users have added, whose owner is <model>, and
those that charms keep. Their content is not shown; see juju show-secret.`,
		Example: `  juju secrets
  juju secrets --owner application-mysql
  juju secrets --format yaml`,
		Annotations: cli.SeeAlso("add-secret", "show-secret", "remove-secret", "update-secret"),
		Args:        cli.AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			var filter client.SecretsFilter
			if owner != "" {
				tag, err := parseOwner(owner)
				if err != nil {
					return cli.Usage(err)
				}
				filter.Owner = tag
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api secretsAPI) error {
				all, err := api.Secrets(ctx, filter, false)
				if err != nil {
					return err
				}
				if len(all) == 0 && output.Format == "tabular" {
					s.Note("No secrets to display.")
					return nil
				}
				return s.WriteList(output, shownSecrets(all, false, false), secretRows(all, s.Now()))
			})
		},
	}
	cmd.Flags().StringVar(&owner, "owner", "", "list the secrets of this owner: a `tag` such as application-mysql")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

func shownSecrets(all []client.Secret, access, revisions bool) map[string]shownSecret {
	shown := make(map[string]shownSecret, len(all))
	for _, one := range all {
		shown[one.ID] = shownOf(one, access, revisions)
	}
	return shown
}

// secretRows returns the table of secrets, by owner.
func secretRows(all []client.Secret, now time.Time) [][]string {
	slices.SortStableFunc(all, func(a, b client.Secret) int {
		return cmp.Or(strings.Compare(ownerOf(a), ownerOf(b)), cmp.Compare(b.Latest, a.Latest), strings.Compare(a.ID, b.ID))
	})
	rows := [][]string{{"ID", "Name", "Owner", "Rotation", "Revision", "Last updated"}}
	for _, one := range all {
		name := "-"
		if one.Owner.Kind == entity.KindModel {
			name = one.Label
		}
		rows = append(rows, []string{one.ID, name, ownerOf(one), cmp.Or(string(one.Rotate), "never"), fmt.Sprintf("%8d", one.Latest),
			cli.Ago(one.Updated, now)})
	}
	return rows
}
