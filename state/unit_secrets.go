package state

import (
	"context"

	"juju/state/entity"
)

// Secret returns the secret that the unit asks for.
func (u *Unit) Secret(ctx context.Context, query entity.SecretQuery) (entity.SecretRead, error) {
	return entity.SecretRead{}, entity.Errorf(entity.NotFound, "secret %q not found", query.ID)
}

// OwnedSecrets returns the secrets of the unit and of its service.
func (u *Unit) OwnedSecrets(ctx context.Context) ([]entity.SecretInfo, error) {
	return nil, nil
}
