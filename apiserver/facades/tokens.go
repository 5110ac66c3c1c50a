package facades

import (
	"context"

	"juju/apiserver/params"
	"juju/state/entity"
)

// tokensCreate creates a token of the caller's for the model.
func tokensCreate(ctx context.Context, c *Caller, p params.CreateToken) (params.CreatedToken, error) {
	text, token, err := c.Controller.CreateToken(ctx, c.Tag.ID, p.Name, c.Model.UUID(), p.Age)
	return params.CreatedToken{Token: token, Text: text}, err
}

// tokenOwner returns the user whose tokens a request is about. Only superusers may ask about others.
func tokenOwner(c *Caller, user *params.Tag) (string, error) {
	if user == nil {
		return c.Tag.ID, nil
	}
	return user.ID, aboutUser(c, *user)
}

func tokensList(ctx context.Context, c *Caller, p params.TokenOwner) (params.TokenResults, error) {
	owner, err := tokenOwner(c, p.User)
	if err != nil {
		return params.TokenResults{}, err
	}
	all, err := c.Controller.Tokens(ctx, owner)
	return params.TokenResults{Tokens: append([]entity.AccessToken{}, all...)}, err
}

func tokensRevoke(ctx context.Context, c *Caller, p params.TokenNames) (params.ErrorResults, error) {
	owner, err := tokenOwner(c, p.User)
	if err != nil {
		return params.ErrorResults{}, err
	}
	return outcomes(c, "Revoke", p.Names, func(name string) error {
		return c.Controller.RevokeToken(ctx, owner, name)
	}), nil
}

// tokensCreateLogin creates a log-in to the dashboard for the caller.
func tokensCreateLogin(ctx context.Context, c *Caller, _ None) (params.CreatedLogin, error) {
	text, expires, err := c.Controller.CreateLogin(ctx, c.Tag.ID)
	return params.CreatedLogin{Text: text, Expires: expires}, err
}
