package params

import (
	"time"

	"juju/state/entity"
)

// An AddUsers is what UserManager 3 AddUser takes.
type AddUsers struct {
	Users []AddUser `json:"users"`
}

// An AddUser describes a new user.
type AddUser struct {
	Username    string `json:"username"`
	DisplayName string `json:"display-name"`
	Password    string `json:"password,omitempty"` // "" for a key by which the user sets it
}

// An AddUserResults has the outcome of each. ResetPassword returns it too.
type AddUserResults struct {
	Results []AddUserResult `json:"results"`
}

// An AddUserResult is a user, with the key for Admin Register if one was made.
type AddUserResult struct {
	Tag       *Tag   `json:"tag,omitempty"`
	SecretKey []byte `json:"secret-key,omitempty"`
	Error     *Error `json:"error,omitempty"`
}

// An EntityPasswords is what SetPassword takes.
type EntityPasswords struct {
	Changes []EntityPassword `json:"changes"`
}

// An EntityPassword is the new password of a user.
type EntityPassword struct {
	Tag      Tag    `json:"tag"`
	Password string `json:"password"`
}

// A UserInfoRequest asks for users; none stand for all that the caller may see. Disabled
// users are included if named or asked for.
type UserInfoRequest struct {
	Entities        []Entity `json:"entities"`
	IncludeDisabled bool     `json:"include-disabled"`
}

// A UserInfoResults is what UserInfo returns.
type UserInfoResults struct {
	Results []UserInfoResult `json:"results"`
}

// A UserInfoResult is one user, or an error.
type UserInfoResult struct {
	Result *entity.UserInfo `json:"result,omitempty"`
	Error  *Error           `json:"error,omitempty"`
}

// A ModelUserInfoResults is what ModelUserInfo returns.
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

// A ModifyModelAccessRequest is what ModelManager 10 ModifyModelAccess takes.
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

// A ModifyControllerAccessRequest is what Controller 12 ModifyControllerAccess takes.
type ModifyControllerAccessRequest struct {
	Changes []ModifyControllerAccess `json:"changes"`
}

// A ModifyControllerAccess grants a level of access to the controller, or revokes it.
type ModifyControllerAccess struct {
	UserTag Tag    `json:"user-tag"`
	Action  string `json:"action"`
	Access  string `json:"access"` // "login", "add-model" or "superuser"
}

// A UserAccessResults is what GetControllerAccess returns.
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
