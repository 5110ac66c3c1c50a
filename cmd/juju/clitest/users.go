package clitest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"juju/state/entity"
)

func aToken(name string) entity.AccessToken {
	return entity.AccessToken{User: "admin", Name: name, ModelUUID: "u", Model: "admin/default", Created: SomeTime,
		Expires: SomeTime.Add(time.Hour)}
}

func (f *FakeModel) CreateToken(_ context.Context, name string, age time.Duration) (string, entity.AccessToken, error) {
	return "jujutoken_x", aToken(name), f.Note("CreateToken", name, " ", age)
}

func (f *FakeController) Tokens(_ context.Context, user string) ([]entity.AccessToken, error) {
	f.Calls = append(f.Calls, fmt.Sprintf("Tokens %q", user))
	if user == "nobody" {
		return nil, f.Err
	}
	return []entity.AccessToken{aToken("ci"), aToken("old")}, f.Err
}

func (f *FakeController) RevokeToken(_ context.Context, user, name string) error {
	f.Calls = append(f.Calls, fmt.Sprintf("RevokeToken %q %q", user, name))
	return f.Err
}

func (f *FakeController) CreateLogin(context.Context) (string, time.Time, error) {
	f.Calls = append(f.Calls, "CreateLogin")
	return "jujulogin_x", SomeTime, f.Err
}

func (f *FakeController) asked(call string, args ...any) error {
	f.Calls = append(f.Calls, strings.TrimSpace(call+" "+strings.TrimSuffix(fmt.Sprintln(args...), "\n")))
	return f.Err
}

func (f *FakeController) AddUser(_ context.Context, name, displayName string) ([]byte, error) {
	return []byte("key"), f.asked("AddUser", name, displayName)
}

func (f *FakeController) ResetPassword(_ context.Context, name string) ([]byte, error) {
	return []byte("key"), f.asked("ResetPassword", name)
}

func (f *FakeController) SetPassword(_ context.Context, name, password string) error {
	return f.asked("SetPassword", name, password)
}

func (f *FakeController) EnableUser(_ context.Context, name string) error {
	return f.asked("EnableUser", name)
}

func (f *FakeController) DisableUser(_ context.Context, name string) error {
	return f.asked("DisableUser", name)
}

func (f *FakeController) RemoveUser(_ context.Context, name string) error {
	return f.asked("RemoveUser", name)
}

// SomeTime is when things of the fake controller were made.
var SomeTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (f *FakeController) User(_ context.Context, name string) (entity.UserInfo, error) {
	return entity.UserInfo{Username: name, Access: "login", DateCreated: SomeTime}, f.asked("User", name)
}

func (f *FakeController) Users(_ context.Context, disabled bool) ([]entity.UserInfo, error) {
	last := SomeTime.Add(-3 * time.Hour)
	all := []entity.UserInfo{
		{Username: "admin", Access: "superuser", DateCreated: SomeTime.Add(-48 * time.Hour), LastConnection: &last},
		{Username: "bob", DisplayName: "Bob Dobbs", Access: "login", DateCreated: SomeTime.Add(-time.Minute)},
	}
	if disabled {
		all = append(all, entity.UserInfo{Username: "eve", DateCreated: SomeTime, Disabled: true})
	}
	return all, f.asked("Users", disabled)
}

func (f *FakeController) ModelUsers(_ context.Context, uuid string) ([]entity.ModelUser, error) {
	last := SomeTime.Add(-20 * time.Second)
	return []entity.ModelUser{{UserName: "admin", Access: "admin", LastConnection: &last},
		{UserName: "bob", Access: "read"}}, f.asked("ModelUsers", uuid)
}

func (f *FakeController) ModifyModelAccess(_ context.Context, action, user, level string, uuids ...string) ([]error,
	error) {
	errs := make([]error, len(uuids))
	errs[len(errs)-1] = f.Err
	_ = f.asked(action, user, level, uuids)
	return errs, nil
}

func (f *FakeController) ModifyControllerAccess(_ context.Context, action, user, level string) error {
	return f.asked(action, user, level)
}
