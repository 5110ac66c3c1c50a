package offers

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/display"
	"juju/cmd/juju/cli"
	"juju/state/entity"
)

type offersAPI interface {
	FindOffers(ctx context.Context, f entity.OfferFilter) ([]entity.Offer, error)
	Offer(ctx context.Context, url string) (entity.Offer, error)
}

type listOffersAPI interface {
	offersAPI
	cli.ModelsAPI
}

// fullName returns the URL of an offer of the target model that is given by its name, and other texts as they are.
func fullName(t cli.Target, text string) string {
	if entity.IsValidService(text) {
		return t.Model + "." + text
	}
	return text
}

func OffersCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	var f entity.OfferFilter
	var active bool
	cmd := &cobra.Command{
		Use:     "offers [OFFER]",
		Aliases: []string{"list-offers"},
		Short:   "List the offers of a model",
		Long: `List the offers of a model, and the relations that use them. The format summary lists the
endpoints of each offer instead, and how many of its relations are joined.`,
		Example: `  juju offers
  juju offers --active-only
  juju offers --interface mysql --format yaml`,
		Annotations: cli.SeeAlso("offer", "show-offer", "find-offers", "remove-offer"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckFormat(output.Format, "tabular", "summary"); err != nil {
				return err
			}
			ctx := cmd.Context()
			f.Name = strings.Join(args, "")
			return cli.WithModelsController(ctx, s, func(t cli.Target, api listOffersAPI) error {
				f.Owner, f.Model, _ = strings.Cut(t.Model, "/")
				all, err := api.FindOffers(ctx, f)
				if err == nil && len(all) == 0 { // there may be no such model
					_, err = s.FindModel(ctx, t, api, t.Model)
				}
				if err != nil {
					return err
				}
				if active {
					all = slices.DeleteFunc(all, func(o entity.Offer) bool { return len(o.Connections) == 0 })
				}
				people := output.Format == "tabular" || output.Format == "summary"
				if len(all) == 0 && people {
					s.Note("No offers to display.")
					return nil
				}
				if output.Format == "summary" {
					rows := [][]string{{"Offer", "Application", "Charm", "Connected", "Store", "URL", "Endpoint", "Interface", "Role"}}
					for _, o := range all {
						rows = append(rows, summaryRows(t, o)...)
					}
					return s.Write(output, cli.Table(rows))
				}
				rows := [][]string{{"Offer", "User", "Relation id", "Status", "Endpoint", "Interface", "Role", "Ingress subnets"}}
				for _, o := range all {
					rows = append(rows, connectionRows(o)...)
				}
				return s.WriteList(output, shownOffers(t, all), rows)
			})
		},
	}
	cmd.Flags().StringVar(&f.Service, "application", "", "list only the offers of this `service`")
	cmd.Flags().StringVar(&f.Interface, "interface", "", "list only the offers with an endpoint of this `interface`")
	cmd.Flags().StringVar(&f.ConnectedUser, "connected-user", "", "list only the offers that this `user` uses")
	cmd.Flags().StringVar(&f.AllowedUser, "allowed-consumer", "", "list only the offers that this `user` may use")
	cmd.Flags().BoolVar(&active, "active-only", false, "list only the offers that a relation uses")
	output.Flags(cmd, "tabular", append([]string{"summary"}, cli.ListFormats...)...)
	s.ModelFlag(cmd)
	return cmd
}

// connectionRows returns a row for each relation that uses an offer, or else for each endpoint.
func connectionRows(o entity.Offer) (rows [][]string) {
	ends := map[string]entity.RemoteEndpoint{}
	for _, e := range o.Endpoints {
		ends[e.Name] = e
	}
	for _, c := range o.Connections {
		e := ends[c.Endpoint]
		rows = append(rows, []string{o.Name, c.User, strconv.Itoa(c.Relation), string(c.Status().Status), c.Endpoint, e.Interface, e.Role,
			strings.Join(c.Ingress, ",")})
	}
	if len(rows) == 0 {
		for _, e := range o.Endpoints {
			rows = append(rows, []string{o.Name, "-", "", "", e.Name, e.Interface, e.Role, ""})
		}
	}
	return rows
}

// summaryRows returns a row for each endpoint of an offer, the first with the offer itself.
func summaryRows(t cli.Target, o entity.Offer) (rows [][]string) {
	joined := 0
	for _, c := range o.Connections {
		if c.Status().Status == "joined" {
			joined++
		}
	}
	row := []string{o.Name, o.Service, o.CharmURL, fmt.Sprintf("%d/%d", joined, len(o.Connections)), t.Name, o.URL}
	for _, e := range o.Endpoints {
		rows = append(rows, append(row, e.Name, e.Interface, e.Role))
		row = make([]string, len(row))
	}
	return rows
}

// The YAML and JSON forms of offers.
type (
	shownOffer struct {
		Application string                   `json:"application,omitempty" yaml:"application,omitempty"`
		Store       string                   `json:"store" yaml:"store"`
		Charm       string                   `json:"charm,omitempty" yaml:"charm,omitempty"`
		URL         string                   `json:"offer-url" yaml:"offer-url"`
		Description string                   `json:"description,omitempty" yaml:"description,omitempty"`
		Access      string                   `json:"access,omitempty" yaml:"access,omitempty"`
		Endpoints   map[string]shownEndpoint `json:"endpoints" yaml:"endpoints"`
		Connections []shownConnection        `json:"connections,omitempty" yaml:"connections,omitempty"`
		Users       map[string]shownUser     `json:"users,omitempty" yaml:"users,omitempty"`
	}
	shownEndpoint struct {
		Interface string `json:"interface" yaml:"interface"`
		Role      string `json:"role" yaml:"role"`
	}
	shownConnection struct {
		Model    string      `json:"source-model-uuid" yaml:"source-model-uuid"`
		User     string      `json:"username" yaml:"username"`
		Relation int         `json:"relation-id" yaml:"relation-id"`
		Endpoint string      `json:"endpoint" yaml:"endpoint"`
		Status   shownStatus `json:"status" yaml:"status"`
		Ingress  []string    `json:"ingress-subnets,omitempty" yaml:"ingress-subnets,omitempty"`
	}
	shownStatus struct {
		Current string       `json:"current" yaml:"current"`
		Message string       `json:"message,omitempty" yaml:"message,omitempty"`
		Since   display.Time `json:"since,omitzero" yaml:"since,omitempty"`
	}
	shownUser struct {
		DisplayName string `json:"display-name,omitempty" yaml:"display-name,omitempty"`
		Access      string `json:"access" yaml:"access"`
	}
)

func shownOffers(t cli.Target, all []entity.Offer) map[string]shownOffer {
	shown := map[string]shownOffer{}
	for _, o := range all {
		shown[o.Name] = show(t, o)
	}
	return shown
}

func show(t cli.Target, o entity.Offer) shownOffer {
	one := shownOffer{Application: o.Service, Store: t.Name, Charm: o.CharmURL, URL: o.URL, Description: o.Description, Access: access(t, o),
		Endpoints: map[string]shownEndpoint{}, Users: map[string]shownUser{}}
	for _, e := range o.Endpoints {
		one.Endpoints[e.Name] = shownEndpoint{e.Interface, e.Role}
	}
	for _, c := range o.Connections {
		status := c.Status()
		one.Connections = append(one.Connections, shownConnection{c.Model, c.User, c.Relation, c.Endpoint,
			shownStatus{string(status.Status), status.Message, display.TimeIn(status.Since.Local(), "02 Jan 2006 15:04:05Z07:00")}, c.Ingress})
	}
	for _, u := range o.Users {
		one.Users[u.User] = shownUser{u.DisplayName, u.Access}
	}
	return one
}

// keyOf returns the key of an offer among those of all models: its URL with the controller, which is all that another
// model needs to consume it.
func keyOf(t cli.Target, o entity.Offer) string { return t.Name + ":" + o.URL }

// access returns the user's own access to an offer, which a superuser has without a grant.
func access(t cli.Target, o entity.Offer) string {
	for _, u := range o.Users {
		if strings.EqualFold(u.User, t.Controller.User) {
			return u.Access
		}
	}
	return "admin"
}

func FindOffersCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	url := ""
	var f entity.OfferFilter
	cmd := &cobra.Command{
		Use:   "find-offers [CONTROLLER:][USER/MODEL]",
		Short: "Find offers that you may use",
		Long:  "Find offers in all models of a controller, or in one, that you have access to.",
		Example: `  juju find-offers
  juju find-offers other:
  juju find-offers bob/shop --interface mysql`,
		Annotations: cli.SeeAlso("show-offer", "consume", "offers"),
		Args:        cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			if url != "" && len(args) > 0 {
				return cli.Usagef("unrecognized args: %q: --url says where to look", args)
			}
			where := append(args, url)[0]
			if of, rest, named := strings.Cut(where, ":"); named {
				s.Controller, where = of, rest
			}
			ctx := cmd.Context()
			return cli.WithController(ctx, s, func(t cli.Target, api offersAPI) error {
				if where != "" {
					model, offer, _ := strings.Cut(where, ".")
					f.Owner, f.Model, _ = strings.Cut(t.Controller.Qualify(model), "/")
					f.Name = offer
				}
				all, err := api.FindOffers(ctx, f)
				if err != nil {
					return err
				}
				if len(all) == 0 {
					return entity.WithHint(entity.Errorf(entity.NotFound, "no matching application offers found"), "To list those of a model of your own: juju offers")
				}
				rows, shown := [][]string{{"Store", "URL", "Access", "Interfaces"}}, map[string]shownOffer{}
				for _, o := range all {
					var ends []string
					for _, e := range o.Endpoints {
						ends = append(ends, e.Interface+":"+e.Name)
					}
					rows = append(rows, []string{t.Name, o.URL, access(t, o), strings.Join(ends, ", ")})
					shown[keyOf(t, o)] = show(t, o)
				}
				return s.WriteList(output, shown, rows)
			})
		},
	}
	cmd.Flags().StringVar(&f.Interface, "interface", "", "list only offers with an endpoint of this `interface`")
	cmd.Flags().StringVar(&f.Endpoint, "endpoint", "", "list only offers with this `endpoint`")
	cmd.Flags().StringVar(&f.Name, "offer", "", "list only offers of this `name`")
	cmd.Flags().StringVar(&url, "url", "", "where to look, or the `URL` of an offer, instead of the argument")
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ControllerFlag(cmd)
	return cmd
}

func ShowOfferCommand(s *cli.Session) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "show-offer OFFER|URL",
		Short: "Show an offer",
		Long:  "Show an offer: its endpoints, and who may use it.",
		Example: `  juju show-offer mysql
  juju show-offer bob/shop.mysql --format yaml`,
		Annotations: cli.SeeAlso("offers", "find-offers", "consume"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("must specify an offer URL")
			}
			if len(args) > 1 {
				return cli.Usagef("unrecognized args: %q", args[1:])
			}
			if err := cli.CheckListFormat(output.Format); err != nil {
				return err
			}
			ctx := cmd.Context()
			_, t, err := s.ReadModelTarget()
			if err != nil {
				return err
			}
			offer, err := s.Offer(t, fullName(t, args[0]))
			if err != nil {
				return err
			}
			return cli.AtOffer(ctx, s, offer, func(t cli.Target, api offersAPI) error {
				o, err := api.Offer(ctx, offer.OfferURL.String())
				if err != nil {
					return err
				}
				rows := [][]string{{"Store", "URL", "Access", "Description", "Endpoint", "Interface", "Role"}}
				for _, e := range o.Endpoints {
					rows = append(rows, []string{t.Name, o.URL, access(t, o), o.Description, e.Name, e.Interface, e.Role})
				}
				return s.WriteList(output, map[string]shownOffer{keyOf(t, o): show(t, o)}, rows)
			})
		},
	}
	output.Flags(cmd, "tabular", cli.ListFormats...)
	s.ModelFlag(cmd)
	return cmd
}
