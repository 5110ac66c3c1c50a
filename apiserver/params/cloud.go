package params

import (
	"strings"

	"juju/state/entity"
)

// A Cloud is a cloud as clients know it.
type Cloud struct {
	Type              string        `json:"type"`
	HostCloudRegion   string        `json:"host-cloud-region,omitempty"`
	AuthTypes         []string      `json:"auth-types,omitempty"`
	Endpoint          string        `json:"endpoint,omitempty"`
	Regions           []CloudRegion `json:"regions,omitempty"`
	IsControllerCloud bool          `json:"is-controller-cloud,omitempty"`
}

// A CloudRegion is a region of a cloud.
type CloudRegion struct {
	Name     string `json:"name"`
	Endpoint string `json:"endpoint,omitempty"`
}

// credentialPrefix is the prefix of the tags of credentials.
const credentialPrefix = "cloudcred-"

// CredentialTag returns the tag of a user's credential of a cloud.
func CredentialTag(cloud, user, name string) string {
	return credentialPrefix + cloud + "_" + user + "_" + name
}

// ParseCredentialTag returns the cloud and the name in the tag of a credential.
func ParseCredentialTag(tag string) (cloud, name string, err error) {
	text, ok := strings.CutPrefix(tag, credentialPrefix)
	parts := strings.Split(text, "_")
	if !ok || len(parts) != 3 {
		return "", "", entity.Errorf(entity.Invalid, "%q is not a valid cloudcred tag", tag)
	}
	return parts[0], parts[2], nil
}

// A CloudsResult is the result of Cloud 7 Clouds: clouds by their tags.
type CloudsResult struct {
	Clouds map[string]Cloud `json:"clouds"`
}

// CloudTags are the tags of clouds, or of their credentials: cloud-NAME, cloudcred-CLOUD_USER_NAME.
type CloudTags struct {
	Entities []CloudEntity `json:"entities"`
}

// A CloudEntity is one of them.
type CloudEntity struct {
	Tag string `json:"tag"`
}

// A CloudResults is the result of Cloud.
type CloudResults struct {
	Results []CloudResult `json:"results"`
}

// A CloudResult is one cloud, or an error.
type CloudResult struct {
	Cloud *Cloud `json:"cloud,omitempty"`
	Error *Error `json:"error,omitempty"`
}

// A UserClouds is the parameter of UserCredentials: whose credentials, and of which clouds.
type UserClouds struct {
	UserClouds []UserCloud `json:"user-clouds"`
}

// A UserCloud names a user and a cloud.
type UserCloud struct {
	UserTag  Tag    `json:"user-tag"`
	CloudTag string `json:"cloud-tag"`
}

// A CloudCredentialArgs is the parameter of CredentialContents; without credentials, it means all.
type CloudCredentialArgs struct {
	Credentials    []CloudCredentialArg `json:"credentials,omitempty"`
	IncludeSecrets bool                 `json:"include-secrets"`
}

// A CloudCredentialArg names a credential.
type CloudCredentialArg struct {
	CloudName      string `json:"cloud-name"`
	CredentialName string `json:"credential-name"`
}

// A CredentialContentResults is the result of CredentialContents.
type CredentialContentResults struct {
	Results []CredentialContentResult `json:"results,omitempty"`
}

// A CredentialContentResult is one credential, or an error.
type CredentialContentResult struct {
	Result *ControllerCredential `json:"result,omitempty"`
	Error  *Error                `json:"error,omitempty"`
}

// A ControllerCredential is a credential with the models that use it.
type ControllerCredential struct {
	Content CredentialContent `json:"content"`
	Models  []ModelAccess     `json:"models,omitempty"`
}

// A CredentialContent is what a credential contains.
type CredentialContent struct {
	Name       string            `json:"name"`
	Cloud      string            `json:"cloud"`
	AuthType   string            `json:"auth-type"`
	Valid      *bool             `json:"valid,omitempty"`
	Attributes map[string]string `json:"attrs,omitempty"`
}

// A ModelAccess is a model, and the caller's access to it.
type ModelAccess struct {
	Model  string `json:"model,omitempty"`
	Access string `json:"access,omitempty"`
}

// An UpdateCredentialArgs is the parameter of UpdateCredentialsCheckModels.
type UpdateCredentialArgs struct {
	Credentials []TaggedCredential `json:"credentials"`
	Force       bool               `json:"force"` // even if the cloud does not accept them
}

// An AddCredentialArgs is the parameter of AddCredentials.
type AddCredentialArgs struct {
	Credentials []TaggedCredential `json:"credentials"`
}

// A TaggedCredential is a credential with its tag.
type TaggedCredential struct {
	Tag        string                 `json:"tag"`
	Credential entity.CloudCredential `json:"credential"`
}

// An UpdateCredentialResults is the result of UpdateCredentialsCheckModels.
type UpdateCredentialResults struct {
	Results []UpdateCredentialResult `json:"results,omitempty"`
}

// An UpdateCredentialResult names the models that use an updated credential.
type UpdateCredentialResult struct {
	Tag    string         `json:"tag"`
	Error  *Error         `json:"error,omitempty"`
	Models []UpdatedModel `json:"models,omitempty"`
}

// An UpdatedModel is a model whose credential was updated.
type UpdatedModel struct {
	UUID   string        `json:"uuid"`
	Name   string        `json:"name"`
	Errors []ErrorResult `json:"errors,omitempty"`
}

// A RevokeCredentialArgs is the parameter of RevokeCredentialsCheckModels.
type RevokeCredentialArgs struct {
	Credentials []RevokedCredential `json:"credentials"`
}

// A RevokedCredential is one of them. Force changes nothing: models can't do without a credential.
type RevokedCredential struct {
	Tag   string `json:"tag"`
	Force bool   `json:"force"`
}

// An AddCloudArgs is the parameter of AddCloud.
type AddCloudArgs struct {
	Cloud Cloud  `json:"cloud"`
	Name  string `json:"name"`
	Force bool   `json:"force,omitempty"`
}

// A ChangeModelCredentials is the parameter of ModelManager ChangeModelCredential.
type ChangeModelCredentials struct {
	Models []ChangeModelCredential `json:"model-credentials"`
}

// A ChangeModelCredential is a model, and the credential that it should use.
type ChangeModelCredential struct {
	ModelTag      Tag    `json:"model-tag"`
	CredentialTag string `json:"credential-tag"`
}
