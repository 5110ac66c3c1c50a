package params

import "time"

// A LoginRequest is what Admin 3 Login takes.
type LoginRequest struct {
	AuthTag       Tag    `json:"auth-tag"`
	Credentials   string `json:"credentials"` // the password
	Nonce         string `json:"nonce"`       // for a machine's agent: that of its instance
	ClientVersion string `json:"client-version,omitempty"`
	SHA256        string `json:"agent-sha256,omitempty"` // ours: of an agent's programs
	Commit        string `json:"agent-commit,omitempty"` // ours: what they were built from
}

// A LoginResult says which server this is and what the caller can use.
type LoginResult struct {
	ControllerTag Tag              `json:"controller-tag"`
	ModelTag      *Tag             `json:"model-tag,omitempty"` // absent on the controller's own path
	ServerVersion string           `json:"server-version"`
	Servers       [][]HostPort     `json:"servers"`
	UserInfo      *AuthUserInfo    `json:"user-info,omitempty"` // absent for agents
	Facades       []FacadeVersions `json:"facades"`
}

// A FacadeVersions lists the versions of one facade that the caller can use here.
type FacadeVersions struct {
	Name     string `json:"name"`
	Versions []int  `json:"versions"`
}

// A HostPort is one address of the API.
type HostPort struct {
	Value string `json:"value"`
	Type  string `json:"type"`  // "ipv4", "ipv6" or "hostname"
	Scope string `json:"scope"` // "public", "local-machine", …
	Port  int    `json:"port"`
}

// An AuthUserInfo is the user as the server knows it.
type AuthUserInfo struct {
	DisplayName      string     `json:"display-name"`
	Identity         string     `json:"identity"` // the user's tag
	LastConnection   *time.Time `json:"last-connection,omitempty"`
	ControllerAccess string     `json:"controller-access"`
	ModelAccess      string     `json:"model-access"`
}

// A RegisterRequest is what Admin 3 Register takes: a key, which works once, and the password
// to set. The method is ours. Juju's clients use an endpoint with its own encryption, since
// they don't know the CA yet.
type RegisterRequest struct {
	User     Tag    `json:"user"`
	Key      []byte `json:"secret-key"`
	Password string `json:"password"`
}

// A RedirectInfoResult would say where a model has moved. Our models don't move.
type RedirectInfoResult struct {
	Servers [][]HostPort `json:"servers"`
	CACert  string       `json:"ca-cert"`
}
