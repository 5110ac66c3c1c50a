package charms

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

func ResourcesCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var details bool
	cmd := &cobra.Command{
		Use:     "resources SERVICE|UNIT",
		Aliases: []string{"list-resources"},
		Short:   "List the resources of a service or unit",
		Long: `List the resources that a service's charm declares, with the users who uploaded them, or
charmstore. A revision is that of the charm store, or the time of the upload, or - for a
resource without a file. For a unit, list
the files that it has fetched. --details shows the revision that each unit has and the one
that it will get. SERVICE/leader is the service's leader.`,
		Example: `  juju resources web
  juju resources web --details
  juju resources web/0 --format yaml`,
		Annotations: cli.SeeAlso("attach-resource", "pending-resources", "deploy", "status"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return cli.Usagef("missing application or unit name")
			case !cli.IsUnitTarget(args[0]) && !entity.IsValidService(args[0]):
				return cli.Usagef("%q is neither a service nor a unit", args[0])
			}
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			return cli.WithModel(ctx, s, func(api interface {
				ResourcesAPI
				cli.LeaderAPI
			}) error {
				service, err := cli.Leading(ctx, api, args[0])
				if err != nil {
					return err
				}
				unit := ""
				if entity.IsValidUnit(service) {
					service, unit = entity.UnitService(service), service
				}
				of, err := api.Resources(ctx, service)
				if err != nil {
					return err
				}
				if _, ok := of.Units[unit]; unit != "" && !ok {
					return entity.WithHint(entity.Errorf(entity.NotFound, "unit %q not found", unit),
						"To see what is in the model: juju status")
				}
				if len(of.Resources) == 0 && output.Format == "tabular" {
					s.Note("No resources to display.")
					return nil
				}
				return s.WriteList(output, shownResources(service, unit, details, of), resourceRows(unit, details, of))
			})
		},
	}
	cmd.Flags().BoolVar(&details, "details", false, "show the revision that each unit has, and the one it will get")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}

// revisionOf returns the revision of a file: that of its charm store, or when it was uploaded.
func revisionOf(file *entity.ResourceFile) display.Time {
	if file != nil && file.Revision > 0 {
		return display.Time{Words: strconv.Itoa(file.Revision)}
	}
	if file == nil || file.Uploaded.IsZero() {
		return display.Time{Words: "-"}
	}
	return display.TimeIn(file.Uploaded.UTC(), "2006-01-02T15:04")
}

// unitFile returns a unit's file for a resource, nil if it has none.
func unitFile(of entity.ResourcesOf, unit, resource string) *entity.ResourceFile {
	if file, ok := of.Units[unit][resource]; ok {
		return &file
	}
	return nil
}

// resourceRows returns the table of a service's or unit's resources.
func resourceRows(unit string, details bool, of entity.ResourcesOf) [][]string {
	var rows [][]string
	switch {
	case unit == "" && !details:
		rows = append(rows, []string{"Resource", "Supplied by", "Revision"})
		for _, r := range of.Resources {
			rows = append(rows, []string{r.Name, supplier(r.File), revisionOf(r.File).Words})
		}
	case unit == "":
		rows = append(rows, []string{"Unit", "Resource", "Revision", "Expected"})
		for _, u := range entity.NaturalKeys(of.Units) {
			for _, r := range of.Resources {
				rows = append(rows, []string{u, r.Name, revisionOf(unitFile(of, u, r.Name)).Words, revisionOf(r.File).Words})
			}
		}
	case details:
		rows = append(rows, []string{"Resource", "Revision", "Expected"})
		for _, r := range of.Resources {
			rows = append(rows, []string{r.Name, revisionOf(unitFile(of, unit, r.Name)).Words, revisionOf(r.File).Words})
		}
	default:
		rows = append(rows, []string{"Resource", "Revision"})
		for _, r := range of.Resources {
			rows = append(rows, []string{r.Name, revisionOf(unitFile(of, unit, r.Name)).Words})
		}
	}
	return rows
}

// supplier returns who uploaded a file, or that it is from a charm store.
func supplier(file *entity.ResourceFile) string {
	switch {
	case file == nil:
		return "-"
	case file.Revision > 0:
		return "charmstore"
	}
	return cmp.Or(file.User, "-")
}

// The YAML and JSON forms of resources.
type (
	resourceEntry struct {
		ID          string       `yaml:"resourceid" json:"resourceid"`
		Name        string       `yaml:"name" json:"name"`
		Application string       `yaml:"applicationId" json:"applicationId"`
		Type        string       `yaml:"type" json:"type"`
		Path        string       `yaml:"path" json:"path"`
		Description string       `yaml:"description,omitempty" json:"description,omitempty"`
		Revision    display.Time `yaml:"revision,omitempty" json:"revision,omitzero"`
		Fingerprint string       `yaml:"fingerprint" json:"fingerprint"` // SHA-384 in hex
		Size        int64        `yaml:"size" json:"size"`               // in bytes
		Origin      string       `yaml:"origin" json:"origin"`
		Used        bool         `yaml:"used" json:"used"` // a unit has it
		Timestamp   time.Time    `yaml:"timestamp,omitempty" json:"timestamp"`
		User        string       `yaml:"username,omitempty" json:"username,omitempty"`
	}
	resourceDetail struct {
		Unit     string        `yaml:"unitID" json:"unitID"`
		Resource resourceEntry `yaml:"unit" json:"unit"`
		Expected resourceEntry `yaml:"expected" json:"expected"`
	}
)

func shownResource(service string, r entity.Resource, file *entity.ResourceFile, used bool) resourceEntry {
	e := resourceEntry{ID: service + "/" + r.Name, Name: r.Name, Application: service, Type: r.Type, Path: r.Filename,
		Description: r.Description, Origin: "upload", Used: used}
	if file != nil {
		e.Revision, e.Fingerprint, e.Size, e.User = revisionOf(file), file.SHA384, file.Size, file.User
		e.Timestamp = file.Uploaded.UTC()
		if file.Revision > 0 {
			e.Origin = "store"
		}
	}
	return e
}

func shownResources(service, unit string, details bool, of entity.ResourcesOf) any {
	units := entity.NaturalKeys(of.Units)
	if unit != "" {
		units = []string{unit}
	}
	list := []resourceEntry{}
	all := []resourceDetail{}
	for _, r := range of.Resources {
		used := slices.ContainsFunc(units, func(u string) bool { return unitFile(of, u, r.Name) != nil })
		file := r.File
		if unit != "" {
			file = unitFile(of, unit, r.Name)
		}
		list = append(list, shownResource(service, r, file, used))
		for _, u := range units {
			has := unitFile(of, u, r.Name)
			all = append(all, resourceDetail{Unit: u, Resource: shownResource(service, r, has, has != nil),
				Expected: shownResource(service, r, r.File, has != nil)})
		}
	}
	switch {
	case unit != "" && details:
		return all
	case unit != "":
		return list
	case details:
		return map[string][]resourceDetail{"resources": all}
	}
	return map[string][]resourceEntry{"resources": list}
}
