package facades

import (
	"context"
	"fmt"
	"strings"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

func modelManagerDestroyModels(
	ctx context.Context, c *Caller, p params.DestroyModelsParams,
) (params.ErrorResults, error) {
	return outcomes(c, "DestroyModels", p.Models, func(m params.DestroyModelParams) error {
		if err := isKind(m.ModelTag, entity.KindModel); err != nil {
			return err
		}
		how, err := m.Read()
		if err != nil {
			return err
		}
		row, err := modelOfAdmin(ctx, c, m.ModelTag.ID)
		if err != nil {
			return err
		}
		if err := mayDestroy(ctx, c, row); err != nil {
			return err
		}
		if err := noManualMachines(ctx, c, row, how); err != nil {
			return err
		}
		return destroyModel(ctx, c, row, how)
	}), nil
}

// modelOfAdmin returns the row of a model that the caller has admin access to. It does not reveal whether other models
// exist.
func modelOfAdmin(ctx context.Context, c *Caller, uuid string) (controller.ModelRow, error) {
	rows, access, err := c.Controller.ModelsOf(ctx, c.Tag.ID)
	if err != nil {
		return controller.ModelRow{}, err
	}
	has := ""
	for i, row := range rows {
		if row.UUID != uuid {
			continue
		}
		if has = access[i]; has == controller.AccessAdmin {
			return row, nil
		}
	}
	return controller.ModelRow{}, c.lacksModelAdmin(ctx, uuid, has)
}

// mayDestroy returns OperationBlocked if a block of the model rejects its destruction.
func mayDestroy(ctx context.Context, c *Caller, row controller.ModelRow) error {
	if row.IsRemoving() {
		return nil
	}
	st, err := c.Controller.Model(ctx, row.UUID)
	if err != nil {
		return err
	}
	return Destroys.AllowedAt(ctx, st)
}

// noManualMachines returns an error that names the model's manual machines, unless all are being destroyed. Their hosts
// have owners, who decide first. With force they are destroyed like other machines.
func noManualMachines(ctx context.Context, c *Caller, row controller.ModelRow, how entity.Destruction) error {
	if row.IsRemoving() || how.Strength == entity.Force {
		return nil
	}
	st, err := c.Controller.Model(ctx, row.UUID)
	if err != nil {
		return err
	}
	machines, err := st.Machines(ctx)
	if err != nil {
		return err
	}
	var manual []string
	for _, m := range machines {
		if entity.IsManualInstance(m.InstanceID()) && m.Life() == entity.Alive {
			manual = append(manual, m.ID())
		}
	}
	if len(manual) == 0 {
		return nil
	}
	return entity.Errorf(entity.InUse, "manually provisioned machines must first be destroyed with `juju destroy-machine %s`",
		strings.Join(manual, " "))
}

// destroyModel begins the destruction of a model.
func destroyModel(ctx context.Context, c *Caller, row controller.ModelRow, how entity.Destruction) error {
	logger.Infof("%s destroys model %q (%s)", c.Request, row.Name, how.Strength)
	return c.Controller.DestroyModel(ctx, row.UUID, how)
}

// untoldStorage returns an error if one of the models has persistent storage and how does not specify what happens to
// it.
func untoldStorage(ctx context.Context, c *Caller, rows []controller.ModelRow, how entity.Destruction) error {
	if how.Storage || how.Release {
		return nil
	}
	filesystems, models := 0, 0
	for _, row := range rows {
		if row.IsRemoving() {
			continue
		}
		st, err := c.Controller.Model(ctx, row.UUID)
		if err != nil {
			return err
		}
		n, err := st.Provisioning().PersistentStorage(ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			filesystems, models = filesystems+n, models+1
		}
	}
	if models > 0 {
		return entity.HasStorage("controller", c.Controller.Name(), filesystems, models)
	}
	return nil
}

// modelManagerLeftovers returns the cloud resources left behind by removed models: all of them for superusers,
// otherwise those of the caller's own models.
func modelManagerLeftovers(ctx context.Context, c *Caller, _ None) (params.LeftoverResults, error) {
	owner := c.Tag.ID
	if c.Roles&Admin != 0 {
		owner = ""
	}
	leftovers, err := c.Controller.ModelLeftovers(ctx, owner)
	return params.LeftoverResults{Results: leftovers}, err
}

// controllerDestroy destroys the controller and all its models. It fails while other models than the controller's
// exist, unless the request includes them. A controller that can't destroy itself destroys only the other models; the
// caller waits until they are removed, and ends the controller on its host.
func controllerDestroy(ctx context.Context, c *Caller, p params.DestroyControllerArgs) error {
	how, err := params.Destruction{Force: p.Force != nil && *p.Force, MaxWait: p.ModelTimeout}.Read()
	if err != nil {
		return err
	}
	if p.DestroyStorage != nil {
		how.Storage, how.Release = *p.DestroyStorage, !*p.DestroyStorage
	}
	rows, err := c.Controller.Models(ctx)
	if err != nil {
		return err
	}
	others := rows[:0]
	for _, row := range rows {
		if row.UUID != c.ControllerModel.UUID() {
			others = append(others, row)
		}
	}
	if len(others) > 0 && !p.DestroyModels {
		plural := "s"
		if len(others) == 1 {
			plural = ""
		}
		return entity.WithHint(entity.Errorf(entity.InUse, "cannot destroy controller: hosting %d other model%s", len(others),
			plural),
			"Destroy the controller with all its models: juju destroy-environment --destroy-all-models")
	}
	if c.DestroyController == nil && len(others) == 0 {
		return entity.WithHint(entity.Errorf(entity.NotSupported, "this controller cannot be destroyed by a request"),
			"Destroy it on its host: juju destroy-environment %s", c.Controller.Name())
	}
	for _, row := range others {
		if err := mayDestroy(ctx, c, row); err != nil {
			return fmt.Errorf("cannot destroy model %q: %w", row.Name, err)
		}
		if err := noManualMachines(ctx, c, row, how); err != nil {
			return fmt.Errorf("cannot destroy model %q: %w", row.Name, err)
		}
	}
	if err := untoldStorage(ctx, c, others, how); err != nil {
		return err
	}
	logger.Infof("%s destroys the controller", c.Request)
	for _, row := range others {
		if err := destroyModel(ctx, c, row, how); err != nil {
			return err
		}
	}
	if c.DestroyController == nil {
		return nil
	}
	return c.DestroyController(ctx)
}
