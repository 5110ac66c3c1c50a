package client

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// Register sets the password of a user who was given a key for this. A key works once. info contains the controller,
// the user, and the password to set.
func Register(ctx context.Context, info Info, key []byte) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	info.Model = ""
	c, err := connect(ctx, info)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.call(ctx, "Admin", 3, "Register",
		params.RegisterRequest{User: params.TagOf(info.Tag), Key: key, Password: info.Password}, nil)
}

// For all methods below, the connection must be to the controller itself.

// users makes a request to the UserManager facade.
func (c *Conn) users(ctx context.Context, method string, args, result any) error {
	return c.call(ctx, "UserManager", 3, method, args, result)
}

func entities(kind entity.TagKind, ids ...string) params.Entities {
	all := params.Entities{Entities: []params.Entity{}}
	for _, id := range ids {
		all.Entities = append(all.Entities, params.Entity{Tag: params.TagOf(entity.Tag{Kind: kind, ID: id})})
	}
	return all
}

// AddUser adds a user and returns the key for Register.
func (c *Conn) AddUser(ctx context.Context, name, displayName string) (key []byte, err error) {
	var result params.AddUserResults
	err = c.users(ctx, "AddUser", params.AddUsers{Users: []params.AddUser{{Username: name, DisplayName: displayName}}},
		&result)
	return onlyKey(result, err)
}

// ResetPassword invalidates a user's password and returns a key for Register.
func (c *Conn) ResetPassword(ctx context.Context, name string) (key []byte, err error) {
	var result params.AddUserResults
	err = c.users(ctx, "ResetPassword", entities(entity.KindUser, name), &result)
	return onlyKey(result, err)
}

func onlyKey(result params.AddUserResults, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if err := isOne(len(result.Results)); err != nil {
		return nil, err
	}
	return result.Results[0].SecretKey, params.FromError(result.Results[0].Error)
}

// SetPassword changes a user's password.
func (c *Conn) SetPassword(ctx context.Context, name, password string) error {
	args := params.EntityPasswords{Changes: []params.EntityPassword{{Tag: params.TagOf(entity.UserTag(name)),
		Password: password}}}
	var result params.ErrorResults
	if err := c.users(ctx, "SetPassword", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}

// EnableUser enables a disabled user.
func (c *Conn) EnableUser(ctx context.Context, name string) error {
	return c.changeUser(ctx, "EnableUser", name)
}

// DisableUser disables a user, who can no longer log in.
func (c *Conn) DisableUser(ctx context.Context, name string) error {
	return c.changeUser(ctx, "DisableUser", name)
}

// RemoveUser removes a user permanently.
func (c *Conn) RemoveUser(ctx context.Context, name string) error {
	return c.changeUser(ctx, "RemoveUser", name)
}

func (c *Conn) changeUser(ctx context.Context, method, name string) error {
	var result params.ErrorResults
	if err := c.users(ctx, method, entities(entity.KindUser, name), &result); err != nil {
		return err
	}
	return only(result.Results)
}

// User describes one user.
func (c *Conn) User(ctx context.Context, name string) (entity.UserInfo, error) {
	users, err := c.userInfo(ctx, params.UserInfoRequest{Entities: entities(entity.KindUser, name).Entities})
	if err == nil {
		err = isOne(len(users))
	}
	if err != nil {
		return entity.UserInfo{}, err
	}
	return users[0], nil
}

// Users describes the users that the caller may see, sorted by name, including disabled ones if disabled is set.
func (c *Conn) Users(ctx context.Context, disabled bool) ([]entity.UserInfo, error) {
	return c.userInfo(ctx, params.UserInfoRequest{Entities: []params.Entity{}, IncludeDisabled: disabled})
}

func (c *Conn) userInfo(ctx context.Context, args params.UserInfoRequest) ([]entity.UserInfo, error) {
	var result params.UserInfoResults
	if err := c.users(ctx, "UserInfo", args, &result); err != nil {
		return nil, err
	}
	var users []entity.UserInfo
	for _, r := range result.Results {
		if r.Error != nil || r.Result == nil {
			return nil, params.FromError(r.Error)
		}
		users = append(users, *r.Result)
	}
	return users, nil
}

// ModelUsers describes the users of a model that the caller may see, sorted by name.
func (c *Conn) ModelUsers(ctx context.Context, uuid string) ([]entity.ModelUser, error) {
	var result params.ModelUserInfoResults
	if err := c.users(ctx, "ModelUserInfo", entities(entity.KindModel, uuid), &result); err != nil {
		return nil, err
	}
	var users []entity.ModelUser
	for _, r := range result.Results {
		if r.Error != nil || r.Result == nil {
			return nil, params.FromError(r.Error)
		}
		users = append(users, *r.Result)
	}
	return users, nil
}

// The actions of ModifyModelAccess and ModifyControllerAccess.
const (
	Grant  = params.Grant
	Revoke = params.Revoke
)

// ModifyModelAccess grants or revokes a user's access to models. It returns an error or nil for each model, in order.
// The action is Grant or Revoke.
func (c *Conn) ModifyModelAccess(ctx context.Context, action, user, level string, uuids ...string) ([]error, error) {
	var args params.ModifyModelAccessRequest
	for _, uuid := range uuids {
		args.Changes = append(args.Changes, params.ModifyModelAccess{
			UserTag: params.TagOf(entity.UserTag(user)), Action: action, Access: level,
			ModelTag: params.TagOf(entity.ModelTag(uuid)),
		})
	}
	var result params.ErrorResults
	err := c.call(ctx, "ModelManager", 10, "ModifyModelAccess", args, &result)
	return each(len(uuids), result.Results, err)
}

// ModifyControllerAccess grants or revokes a user's access to the controller.
func (c *Conn) ModifyControllerAccess(ctx context.Context, action, user, level string) error {
	args := params.ModifyControllerAccessRequest{Changes: []params.ModifyControllerAccess{
		{UserTag: params.TagOf(entity.UserTag(user)), Action: action, Access: level}}}
	var result params.ErrorResults
	if err := c.call(ctx, "Controller", 12, "ModifyControllerAccess", args, &result); err != nil {
		return err
	}
	return only(result.Results)
}
