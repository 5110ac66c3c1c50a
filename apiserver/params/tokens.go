package params

import (
	"time"

	"juju/state/entity"
)

// A CreateToken is the parameter of Tokens 1 Create: a token for the model of the connection.
type CreateToken struct {
	Name string        `json:"name"`
	Age  time.Duration `json:"age"` // until it expires, in nanoseconds
}

// A CreatedToken is a token with its text, which is shown only once.
type CreatedToken struct {
	Token entity.AccessToken `json:"token"`
	Text  string             `json:"text"`
}

// A TokenOwner is the parameter of Tokens 1 List: the user whose tokens to list; nil for the caller.
type TokenOwner struct {
	User *Tag `json:"user,omitempty"`
}

// A TokenResults is the result of List.
type TokenResults struct {
	Tokens []entity.AccessToken `json:"tokens"`
}

// A TokenNames is the parameter of Tokens 1 Revoke: tokens of a user; nil for the caller.
type TokenNames struct {
	User  *Tag     `json:"user,omitempty"`
	Names []string `json:"names"`
}

// A CreatedLogin is a log-in to the dashboard, which works once: the text is shown only now.
type CreatedLogin struct {
	Text    string    `json:"text"`
	Expires time.Time `json:"expires"`
}
