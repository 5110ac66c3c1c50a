package entity

import "time"

// An AccessToken lets whoever has its text read one model over HTTP, as long as the user who created it may read it.
type AccessToken struct {
	User      string    `json:"user"` // who created it
	Name      string    `json:"name"` // unique among the user's tokens
	ModelUUID string    `json:"model-uuid"`
	Model     string    `json:"model,omitempty"` // OWNER/NAME, where it is looked up
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires"`
}

// IsValidToken reports whether name is a valid name of an access token.
func IsValidToken(name string) bool { return isShort(name) && modelName.MatchString(name) }

// InvalidToken returns the error for an invalid name of an access token.
func InvalidToken(name string) error {
	return WithHint(Errorf(Invalid, "%q is not a valid name: token names may only contain lowercase letters, digits and hyphens", name),
		"A token name begins with a letter or digit, and has at most %d characters: grafana, ci-1", MaxName)
}
