package params

import (
	"time"

	"juju/state/entity"
)

// An AddUsers is the parameter of UserManager 3 AddUser.
type AddUsers struct {
	Users []AddUser `json:"users"`
}

// An AddUser describes a new user.
type AddUser struct {
	Username    string `json:"username"`
	DisplayName string `json:"display-name"`
	Password    string `json:"password,omitempty"` // "" for a key with which the user sets it
}

// An AddUserResults has the result for each user. ResetPassword returns it too.
type AddUserResults struct {
	Results []AddUserResult `json:"results"`
}

// An AddUserResult is a user, with the key for Admin Register if one was made.
type AddUserResult struct {
	Tag       *Tag   `json:"tag,omitempty"`
	SecretKey []byte `json:"secret-key,omitempty"`
	Error     *Error `json:"error,omitempty"`
}

// An EntityPasswords is the parameter of SetPassword.
type EntityPasswords struct {
	Changes []EntityPassword `json:"changes"`
}

// An EntityPassword is the new password of a user.
type EntityPassword struct {
	Tag      Tag    `json:"tag"`
	Password string `json:"password"`
}

// A UserInfoRequest selects users; without entities, all users that the caller may see. Disabled users are included if
// they are named or IncludeDisabled is set.
type UserInfoRequest struct {
	Entities        []Entity `json:"entities"`
	IncludeDisabled bool     `json:"include-disabled"`
}

// A UserInfoResults is the result of UserInfo.
type UserInfoResults struct {
	Results []UserInfoResult `json:"results"`
}

// A UserInfoResult is one user, or an error.
type UserInfoResult struct {
	Result *entity.UserInfo `json:"result,omitempty"`
	Error  *Error           `json:"error,omitempty"`
}

// A ModelUserInfoResults is the result of ModelUserInfo.
type ModelUserInfoResults struct {
	Results []ModelUserInfoResult `json:"results"`
}

// A ModelUserInfoResult is one user of a model, or an error.
type ModelUserInfoResult struct {
	Result *entity.ModelUser `json:"result,omitempty"`
	Error  *Error            `json:"error,omitempty"`
}

// The actions of requests that change access.
const (
	Grant  = "grant"
	Revoke = "revoke"
)

// A ModifyModelAccessRequest is the parameter of ModelManager 10 ModifyModelAccess.
type ModifyModelAccessRequest struct {
	Changes []ModifyModelAccess `json:"changes"`
}

// A ModifyModelAccess grants a level of access to a model, or revokes it.
type ModifyModelAccess struct {
	UserTag  Tag    `json:"user-tag"`
	Action   string `json:"action"`
	Access   string `json:"access"` // "read", "write" or "admin"
	ModelTag Tag    `json:"model-tag"`
}

// A ModifyControllerAccessRequest is the parameter of Controller 12 ModifyControllerAccess.
type ModifyControllerAccessRequest struct {
	Changes []ModifyControllerAccess `json:"changes"`
}

// A ModifyControllerAccess grants a level of access to the controller, or revokes it.
type ModifyControllerAccess struct {
	UserTag Tag    `json:"user-tag"`
	Action  string `json:"action"`
	Access  string `json:"access"` // "login", "add-model" or "superuser"
}

// A UserAccessResults is the result of GetControllerAccess.
type UserAccessResults struct {
	Results []UserAccessResult `json:"results,omitempty"`
}

// A UserAccessResult is one user's access, or an error.
type UserAccessResult struct {
	Result *UserAccess `json:"result,omitempty"`
	Error  *Error      `json:"error,omitempty"`
}

// A UserAccess is a user's access to the controller.
type UserAccess struct {
	UserTag Tag    `json:"user-tag"`
	Access  string `json:"access"`
}

// TimeOf returns a time for an optional field: nil for the zero time.
func TimeOf(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
