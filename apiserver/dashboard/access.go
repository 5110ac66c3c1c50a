package dashboard

import (
	"context"
	"errors"

	"juju/apiserver/client"
	"juju/state/entity"
)

// Access is the page of who may do what in a model.
type Access struct {
	Users []entity.ModelUser
}

func accessPage(ctx context.Context, v Visit) (any, error) {
	page := &Access{}
	api, err := v.Connect(ctx, "")
	if err != nil {
		return nil, err
	}
	defer api.Close()
	page.Users, err = api.ModelUsers(ctx, v.Model)
	return page, err
}

// Models is the page of a controller: its models, its own machines, and its users.
type Models struct {
	Rows  []ModelRow
	Nodes []entity.ControllerNode
	Users []entity.UserInfo
}

// A ModelRow is a model in the list of them.
type ModelRow struct {
	Name, Path, Status, Message, Access, Cloud string
	Health                                     Health
	Dying                                      bool
	Machines, Units                            int64
}

// ReadModels reads the page of a controller.
func ReadModels(ctx context.Context, api *client.Conn) (*Models, error) {
	page := &Models{}
	all, err := api.ModelSummaries(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		row := ModelRow{Name: m.OwnerTag.ID + "/" + m.Name, Path: ModelPath(m.OwnerTag.ID, m.Name), Status: string(m.Status.Status),
			Message: m.Status.Message, Access: m.UserAccess, Cloud: m.CloudName,
			Health: healthOf(m.Status.Status), Dying: m.Life != entity.Alive.String()}
		for _, c := range m.Counts {
			switch c.Entity {
			case "machines":
				row.Machines = c.Count
			case "units":
				row.Units = c.Count
			}
		}
		page.Rows = append(page.Rows, row)
	}
	page.Nodes, _, err = api.ControllerNodes(ctx)
	if err != nil && !errors.Is(err, entity.Unauthorized) {
		return nil, err
	}
	page.Users, err = api.Users(ctx, true)
	if errors.Is(err, entity.Unauthorized) {
		err = nil
	}
	return page, err
}
