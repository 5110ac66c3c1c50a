package facades

import (
	"context"
	"strings"

	"juju/apiserver/params"
	"juju/state/controller"
	"juju/state/entity"
)

// isSelf reports whether a tag is the caller's. User names are compared case-insensitively.
func isSelf(c *Caller, tag params.Tag) bool {
	return tag.Kind == entity.KindUser && strings.EqualFold(tag.ID, c.Tag.ID)
}

// aboutUser rejects tags that are not users', and callers who are neither that user nor a superuser.
func aboutUser(c *Caller, tag params.Tag) error {
	if err := isKind(tag, entity.KindUser); err != nil {
		return err
	}
	if !isSelf(c, tag) && c.Roles&Admin == 0 {
		return lacksController(c.Identity, controller.AccessSuperuser)
	}
	return nil
}

func userManagerAddUser(ctx context.Context, c *Caller, p params.AddUsers) (params.AddUserResults, error) {
	return params.AddUserResults{Results: addUserResults(c, "AddUser", p.Users,
		func(u params.AddUser) (params.AddUserResult, error) {
			release := func() {}
			if u.Password != "" {
				var err error
				if release, err = c.Request.HashTurn(ctx, c.Tag.ID); err != nil {
					return params.AddUserResult{}, err
				}
			}
			defer release()
			key, err := c.Controller.AddUser(ctx, controller.AddUserParams{
				Name: u.Username, DisplayName: u.DisplayName, Password: u.Password, Creator: c.Tag.ID,
			})
			tag := params.TagOf(entity.UserTag(u.Username))
			return params.AddUserResult{Tag: &tag, SecretKey: key}, err
		})}, nil
}

// addUserResults calls do for each element of a list and collects users with their keys.
func addUserResults[P any](
	c *Caller, doing string, list []P, do func(P) (params.AddUserResult, error),
) []params.AddUserResult {
	return each(c, doing, list, func(e *params.Error) params.AddUserResult { return params.AddUserResult{Error: e} }, do)
}

func userManagerResetPassword(ctx context.Context, c *Caller, p params.Entities) (params.AddUserResults, error) {
	return params.AddUserResults{Results: addUserResults(c, "ResetPassword", p.Entities,
		func(e params.Entity) (params.AddUserResult, error) {
			if err := aboutUser(c, e.Tag); err != nil {
				return params.AddUserResult{}, err
			}
			if isSelf(c, e.Tag) {
				return params.AddUserResult{}, entity.WithHint(Denied(), "To change your own password: juju change-user-password")
			}
			key, err := c.Controller.ResetUserPassword(ctx, e.Tag.ID)
			return params.AddUserResult{Tag: &e.Tag, SecretKey: key}, err
		})}, nil
}

func userManagerSetPassword(ctx context.Context, c *Caller, p params.EntityPasswords) (params.ErrorResults, error) {
	return outcomes(c, "SetPassword", p.Changes, func(change params.EntityPassword) error {
		if err := aboutUser(c, change.Tag); err != nil {
			return err
		}
		release, err := c.Request.HashTurn(ctx, c.Tag.ID)
		if err != nil {
			return err
		}
		defer release()
		return c.Request.ChangePassword(func() (stamp string, err error) {
			stamp, err = c.Controller.SetUserPassword(ctx, change.Tag.ID, change.Password)
			if !isSelf(c, change.Tag) {
				stamp = ""
			}
			return stamp, err
		})
	}), nil
}

// eachUser calls do for each user, if the caller is a superuser.
func eachUser(c *Caller, doing string, p params.Entities, do func(name string) error) (params.ErrorResults, error) {
	return outcomes(c, doing, p.Entities, func(e params.Entity) error {
		if err := aboutUser(c, e.Tag); err != nil {
			return err
		}
		return do(e.Tag.ID)
	}), nil
}

func userManagerEnableUser(ctx context.Context, c *Caller, p params.Entities) (params.ErrorResults, error) {
	return eachUser(c, "EnableUser", p, func(name string) error { return c.Controller.EnableUser(ctx, name) })
}

func userManagerDisableUser(ctx context.Context, c *Caller, p params.Entities) (params.ErrorResults, error) {
	return eachUser(c, "DisableUser", p, func(name string) error { return c.Controller.DisableUser(ctx, name) })
}

func userManagerRemoveUser(ctx context.Context, c *Caller, p params.Entities) (params.ErrorResults, error) {
	return eachUser(c, "RemoveUser", p, func(name string) error { return c.Controller.RemoveUser(ctx, name) })
}

func userInfo(u controller.User) *entity.UserInfo {
	info := &entity.UserInfo{
		Username: u.Name, DisplayName: u.DisplayName, Access: u.Access, CreatedBy: u.CreatedBy,
		DateCreated: u.Created.UTC(), LastConnection: params.TimeOf(u.LastLogin), Disabled: u.Disabled,
	}
	if u.Disabled {
		info.Access = ""
	}
	return info
}

// userAbout returns a user whom the caller may look up.
func userAbout(ctx context.Context, c *Caller, e params.Entity) (controller.User, error) {
	if err := aboutUser(c, e.Tag); err != nil {
		return controller.User{}, err
	}
	return c.Controller.User(ctx, e.Tag.ID)
}

func userManagerUserInfo(ctx context.Context, c *Caller, p params.UserInfoRequest) (params.UserInfoResults, error) {
	results := params.UserInfoResults{Results: []params.UserInfoResult{}}
	if len(p.Entities) > 0 {
		results.Results = each(c, "UserInfo", p.Entities,
			func(e *params.Error) params.UserInfoResult { return params.UserInfoResult{Error: e} },
			func(e params.Entity) (params.UserInfoResult, error) {
				user, err := userAbout(ctx, c, e)
				return params.UserInfoResult{Result: userInfo(user)}, err
			})
		return results, nil
	}
	users, err := c.Controller.Users(ctx, p.IncludeDisabled)
	for _, u := range users {
		if aboutUser(c, params.TagOf(entity.UserTag(u.Name))) == nil {
			results.Results = append(results.Results, params.UserInfoResult{Result: userInfo(u)})
		}
	}
	return results, err
}

// modelUsers returns the users of a model that the caller may see: all for its admins, otherwise only the caller.
func modelUsers(ctx context.Context, c *Caller, model params.Tag) ([]entity.ModelUser, error) {
	id, err := c.at(ctx, model.ID)
	if err != nil {
		return nil, err
	}
	if isKind(model, entity.KindModel) != nil || id.Roles&Reader == 0 {
		return nil, lacksModel(c.Identity, model.ID, "", controller.AccessRead) // the same if the model does not exist
	}
	users, err := c.Controller.ModelUsers(ctx, model.ID)
	if err != nil {
		return nil, err
	}
	infos := []entity.ModelUser{}
	for _, u := range users {
		if id.Roles&Admin != 0 || strings.EqualFold(u.Name, c.Tag.ID) {
			infos = append(infos, entity.ModelUser{ModelTag: model.Tag, UserName: u.Name, DisplayName: u.DisplayName,
				LastConnection: params.TimeOf(u.LastLogin), Access: u.Access})
		}
	}
	return infos, nil
}

func userManagerModelUserInfo(ctx context.Context, c *Caller, p params.Entities) (params.ModelUserInfoResults, error) {
	results := params.ModelUserInfoResults{Results: []params.ModelUserInfoResult{}}
	for _, e := range p.Entities {
		infos, err := modelUsers(ctx, c, e.Tag)
		if err == nil {
			err = c.keep(ctx, infos)
		}
		if err != nil {
			return params.ModelUserInfoResults{}, err
		}
		for _, info := range infos {
			results.Results = append(results.Results, params.ModelUserInfoResult{Result: &info})
		}
	}
	return results, nil
}

// modelManagerModifyAccess may be called by every user. It checks the caller's access to each model.
func modelManagerModifyAccess(
	ctx context.Context, c *Caller, p params.ModifyModelAccessRequest,
) (params.ErrorResults, error) {
	return outcomes(c, "ModifyModelAccess", p.Changes, func(change params.ModifyModelAccess) error {
		if err := isKind(change.ModelTag, entity.KindModel); err != nil {
			return err
		}
		if err := isKind(change.UserTag, entity.KindUser); err != nil {
			return err
		}
		id, err := c.at(ctx, change.ModelTag.ID)
		if err != nil {
			return err
		}
		if id.Roles&Admin == 0 {
			return c.lacksModelAdmin(ctx, change.ModelTag.ID, id.ModelAccess)
		}
		st, err := c.Controller.Model(ctx, change.ModelTag.ID)
		if err != nil {
			return err
		}
		if err := Changes.AllowedAt(ctx, st); err != nil {
			return err
		}
		switch change.Action {
		case params.Grant:
			return c.Controller.GrantModel(ctx, st.UUID(), change.UserTag.ID, change.Access, c.Tag.ID)
		case params.Revoke:
			return c.Controller.RevokeModel(ctx, st.UUID(), change.UserTag.ID, change.Access)
		}
		return unknownAction(change.Action)
	}), nil
}

func unknownAction(action string) error {
	return entity.Errorf(entity.Invalid, "unknown action %q", action)
}

func controllerModifyAccess(
	ctx context.Context, c *Caller, p params.ModifyControllerAccessRequest,
) (params.ErrorResults, error) {
	return outcomes(c, "ModifyControllerAccess", p.Changes, func(change params.ModifyControllerAccess) error {
		if err := aboutUser(c, change.UserTag); err != nil {
			return err
		}
		switch change.Action {
		case params.Grant:
			return c.Controller.GrantController(ctx, change.UserTag.ID, change.Access)
		case params.Revoke:
			return c.Controller.RevokeController(ctx, change.UserTag.ID, change.Access)
		}
		return unknownAction(change.Action)
	}), nil
}

func controllerGetAccess(ctx context.Context, c *Caller, p params.Entities) (params.UserAccessResults, error) {
	return params.UserAccessResults{Results: each(c, "GetControllerAccess", p.Entities,
		func(e *params.Error) params.UserAccessResult { return params.UserAccessResult{Error: e} },
		func(e params.Entity) (params.UserAccessResult, error) {
			user, err := userAbout(ctx, c, e)
			return params.UserAccessResult{Result: &params.UserAccess{UserTag: e.Tag, Access: userInfo(user).Access}}, err
		})}, nil
}
