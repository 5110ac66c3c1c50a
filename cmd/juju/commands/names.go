package commands

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"juju/apiserver/client"
	"juju/cmd/juju/cli"
	"juju/cmd/juju/clouds"
	"juju/cmd/juju/wait"
	"juju/hooks/hooktools"
	"juju/state/entity"
	"juju/state/modelconfig"
)

// A naming asks for the names of one kind, after these arguments of a command.
type naming struct {
	context.Context
	*cli.Session
	root  *cobra.Command
	args  []string
	begun string
}

// A namer returns the names of one kind of entity, none if it cannot know them: a shell has nowhere to show errors.
type namer func(naming) []string

// namers are the kinds that words in argumentKinds and in usage lines stand for.
var namers = map[string]namer{
	"ACTION": ofModel(func(n naming, api namesAPI) ([]string, error) {
		return keys(api.ServiceActions(n, n.service()))
	}),
	"CIDR": ofModel(func(n naming, api namesAPI) (names []string, err error) {
		spaces, err := api.Spaces(n)
		for _, space := range spaces {
			for _, subnet := range space.Subnets {
				names = append(names, subnet.CIDR)
			}
		}
		return names, err
	}),
	"CLOUD": func(naming) []string { return slices.Collect(maps.Keys(clouds.Homes)) },
	"CONTROLLER-KEY": ofController(func(n naming, _ cli.Target, api namesOfControllerAPI) ([]string, error) {
		return keys(api.ControllerConfig(n))
	}),
	"CREDENTIAL": ofController(func(n naming, _ cli.Target, api namesOfControllerAPI) ([]string, error) {
		return api.CredentialNames(n, n.first())
	}),
	"CONTROLLER": func(n naming) []string { return ofStore(n, "CONTROLLER") },
	"MODEL":      func(n naming) []string { return ofStore(n, "MODEL") },
	"HELP": func(n naming) []string {
		names := commandNames(n.root)
		for _, t := range topics {
			names = append(names, t.name)
		}
		return names
	},
	"LEVEL": fixed("login", "add-model", "superuser", "read", "write", "admin", "consume"),
	"MODEL-KEY": ofModel(func(n naming, api namesAPI) ([]string, error) {
		return keys(api.ModelConfig(n))
	}),
	"OFFER": ofOffers(func(t cli.Target, o entity.Offer) []string {
		if strings.HasPrefix(o.URL, t.Model+".") {
			return []string{o.Name}
		}
		return nil
	}),
	"OPTION": ofModel(func(n naming, api namesAPI) ([]string, error) {
		config, err := api.ServiceConfig(n, n.first())
		return slices.AppendSeq(slices.Collect(maps.Keys(config.Settings)), maps.Keys(config.Own)), err
	}),
	"OPERATION": ofOperations(func(o entity.Operation) []string { return []string{o.ID} }),
	"TASK": ofOperations(func(o entity.Operation) (ids []string) {
		return each(o.Tasks, func(t entity.Task) string { return t.ID })
	}),
	"POOL": ofModel(func(n naming, api namesAPI) ([]string, error) {
		pools, err := api.StoragePools(n, nil, nil)
		return each(pools, func(p entity.StoragePool) string { return p.Name }), err
	}),
	"RELATION": ofOffers(func(_ cli.Target, o entity.Offer) []string {
		return each(o.Connections, func(c entity.Connection) string { return strconv.Itoa(c.Relation) })
	}),
	"RESOURCE": ofModel(func(n naming, api namesAPI) ([]string, error) {
		of, err := api.Resources(n, n.first())
		return each(of.Resources, func(r entity.Resource) string { return r.Name }), err
	}),
	"SET": fixed("all", "destroy-model", "remove-object"),
	"SPACE": ofModel(func(n naming, api namesAPI) ([]string, error) {
		spaces, err := api.Spaces(n)
		return each(spaces, func(s entity.Space) string { return s.Name }), err
	}),
	"STORAGE": ofModel(func(n naming, api namesAPI) ([]string, error) {
		all, err := api.Storage(n)
		return each(all, func(s entity.StorageStatus) string { return s.ID }), err
	}),
	"TOOL": func(naming) []string { return each(hooktools.Helps(), func(h hooktools.Help) string { return h.Name }) },
	"URL":  ofOffers(func(_ cli.Target, o entity.Offer) []string { return []string{o.URL} }),
	"USER": ofController(func(n naming, _ cli.Target, api namesOfControllerAPI) ([]string, error) {
		users, err := api.Users(n, true)
		return each(users, func(u entity.UserInfo) string { return u.Username }), err
	}),
	"SERVICE": ofStatus(servicesOf),
	"UNIT":    ofStatus(unitsOf),
	"MACHINE": ofStatus(machinesOf),
	"TARGET":  ofStatus(unitsOf, machinesOf),
	"PATTERN": ofStatus(servicesOf, unitsOf, machinesOf),
	"SAAS": ofStatus(func(m *entity.ModelStatus) []string {
		return each(m.Remotes, func(r entity.RemoteStatus) string { return r.Name })
	}),
}

type namesAPI interface {
	wait.StatusAPI
	ServiceActions(ctx context.Context, service string) (map[string]client.ActionInfo, error)
	ServiceConfig(ctx context.Context, service string) (client.ServiceConfig, error)
	Operations(ctx context.Context, q client.OperationQuery) (all []entity.Operation, more bool, err error)
	Storage(ctx context.Context) ([]entity.StorageStatus, error)
	StoragePools(ctx context.Context, names, providers []string) ([]entity.StoragePool, error)
	Spaces(ctx context.Context) ([]entity.Space, error)
	Resources(ctx context.Context, service string) (entity.ResourcesOf, error)
	ModelConfig(ctx context.Context) (modelconfig.Config, error)
}

type namesOfControllerAPI interface {
	Users(ctx context.Context, disabled bool) ([]entity.UserInfo, error)
	FindOffers(ctx context.Context, f entity.OfferFilter) ([]entity.Offer, error)
	CredentialNames(ctx context.Context, cloud string) ([]string, error)
	ControllerConfig(ctx context.Context) (map[string]any, error)
}

// first returns the first argument, "" if there is none yet.
func (n naming) first() string {
	if len(n.args) == 0 {
		return ""
	}
	return n.args[0]
}

// service returns the service that the first argument is, or is a unit of.
func (n naming) service() string {
	service, _, _ := strings.Cut(n.first(), "/")
	return service
}

func each[T any](all []T, name func(T) string) (names []string) {
	for _, one := range all {
		names = append(names, name(one))
	}
	return names
}

func keys[M ~map[string]V, V any](all M, err error) ([]string, error) {
	return slices.Collect(maps.Keys(all)), err
}

func fixed(names ...string) namer { return func(naming) []string { return slices.Clone(names) } }

func ofModel(find func(naming, namesAPI) ([]string, error)) namer {
	return func(n naming) (names []string) {
		_ = cli.WithModel(n, n.Session, func(api namesAPI) (err error) {
			names, err = find(n, api)
			return err
		})
		return names
	}
}

// ofController returns the names that the controller of the target model has.
func ofController(find func(naming, cli.Target, namesOfControllerAPI) ([]string, error)) namer {
	return func(n naming) (names []string) {
		of := cli.WithModelsController[namesOfControllerAPI]
		if n.Controller != "" {
			of = cli.WithController[namesOfControllerAPI]
		}
		_ = of(n, n.Session, func(t cli.Target, api namesOfControllerAPI) (err error) {
			names, err = find(n, t, api)
			return err
		})
		return names
	}
}

func ofOffers(of func(cli.Target, entity.Offer) []string) namer {
	return ofController(func(n naming, t cli.Target, api namesOfControllerAPI) (names []string, err error) {
		offers, err := api.FindOffers(n, entity.OfferFilter{})
		for _, o := range offers {
			names = append(names, of(t, o)...)
		}
		return names, err
	})
}

func ofOperations(of func(entity.Operation) []string) namer {
	return ofModel(func(n naming, api namesAPI) (names []string, err error) {
		all, _, err := api.Operations(n, client.OperationQuery{})
		for _, o := range all {
			names = append(names, of(o)...)
		}
		return names, err
	})
}

func ofStatus(of ...func(*entity.ModelStatus) []string) namer {
	return ofModel(func(n naming, api namesAPI) (names []string, err error) {
		status, err := api.Status(n)
		if err != nil {
			return nil, err
		}
		for _, find := range of {
			names = append(names, find(status)...)
		}
		return names, nil
	})
}

func servicesOf(m *entity.ModelStatus) []string {
	return each(m.Services, func(s entity.ServiceStatus) string { return s.Name })
}

func unitsOf(m *entity.ModelStatus) []string {
	return each(m.AllUnits(), func(u entity.UnitStatus) string { return u.Name })
}

func machinesOf(m *entity.ModelStatus) []string {
	return each(m.AllMachines(), func(m entity.MachineStatus) string { return m.ID })
}

// ofStore returns the controllers that this client knows, or its models: of the selected controller, or after CONTROLLER: of that
// one.
func ofStore(n naming, kind string) (names []string) {
	st, err := n.Store()
	if err != nil {
		return nil
	}
	known, err := st.Read()
	if err != nil {
		return nil
	}
	if kind == "CONTROLLER" {
		return known.Names()
	}
	name, _, named := strings.Cut(n.begun, ":")
	if !named {
		name = n.Controller
	}
	if _, ctrl, err := known.Controller(name); err == nil {
		for model := range ctrl.Models {
			model = ctrl.Unqualify(model)
			if named {
				model = name + ":" + model
			}
			names = append(names, model)
		}
	}
	return names
}
