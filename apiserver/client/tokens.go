package client

import (
	"context"
	"time"

	"juju/apiserver/params"
	"juju/state/entity"
)

// CreateToken creates a token for the model of the connection, which expires after age, and returns its text.
func (c *Conn) CreateToken(ctx context.Context, name string,
	age time.Duration) (text string, token entity.AccessToken, err error) {
	var result params.CreatedToken
	err = c.call(ctx, "Tokens", 1, "Create", params.CreateToken{Name: name, Age: age}, &result)
	return result.Text, result.Token, err
}

// Tokens returns the tokens of a user, "" for one's own. The connection must be to the controller itself.
func (c *Conn) Tokens(ctx context.Context, user string) ([]entity.AccessToken, error) {
	var result params.TokenResults
	err := c.call(ctx, "Tokens", 1, "List", params.TokenOwner{User: tokenOwner(user)}, &result)
	return result.Tokens, err
}

// RevokeToken revokes a token of a user, "" for one's own. The connection must be to the controller itself.
func (c *Conn) RevokeToken(ctx context.Context, user, name string) error {
	var result params.ErrorResults
	if err := c.call(ctx, "Tokens", 1, "Revoke", params.TokenNames{User: tokenOwner(user), Names: []string{name}}, &result); err != nil {
		return err
	}
	return only(result.Results)
}

func tokenOwner(user string) *params.Tag {
	if user == "" {
		return nil
	}
	tag := params.TagOf(entity.UserTag(user))
	return &tag
}

// CreateLogin creates a log-in to the dashboard, which works once, and returns its text and until when it works. The
// connection must be to the controller itself.
func (c *Conn) CreateLogin(ctx context.Context) (text string, expires time.Time, err error) {
	var result params.CreatedLogin
	err = c.call(ctx, "Tokens", 1, "CreateLogin", nil, &result)
	return result.Text, result.Expires, err
}
