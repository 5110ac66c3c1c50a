package params

import (
	"net"
	"time"
)

// A LoginRequest is the parameter of Admin 3 Login.
type LoginRequest struct {
	AuthTag       Tag    `json:"auth-tag"`
	Credentials   string `json:"credentials"` // the password
	Nonce         string `json:"nonce"`       // for a machine's agent: its instance's nonce
	ClientVersion string `json:"client-version,omitempty"`
	SHA256        string `json:"agent-sha256,omitempty"` // not in Juju: of an agent's binaries
	Commit        string `json:"agent-commit,omitempty"` // not in Juju: the commit they were built from
}

// A LoginResult describes the server, and what the caller can use.
type LoginResult struct {
	ControllerTag Tag              `json:"controller-tag"`
	ModelTag      *Tag             `json:"model-tag,omitempty"` // absent on the controller's own path
	ServerVersion string           `json:"server-version"`      // entity.JujuVersion
	Release       string           `json:"release"`             // not in Juju: the controller's own version
	Servers       [][]HostPort     `json:"servers"`
	UserInfo      *AuthUserInfo    `json:"user-info,omitempty"` // absent for agents
	Facades       []FacadeVersions `json:"facades"`
}

// A FacadeVersions lists the versions of one facade that the caller can use.
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

// AddressKind returns the type and the scope of a host's address.
func AddressKind(host string) (kind, scope string) {
	ip := net.ParseIP(host)
	if ip == nil {
		return "hostname", "public"
	}
	kind, scope = "ipv6", "public"
	if ip.To4() != nil {
		kind = "ipv4"
	}
	switch {
	case ip.IsLoopback():
		scope = "local-machine"
	case ip.IsPrivate():
		scope = "local-cloud"
	}
	return kind, scope
}

// An AuthUserInfo describes the user who has logged in.
type AuthUserInfo struct {
	DisplayName      string     `json:"display-name"`
	Identity         string     `json:"identity"` // the user's tag
	LastConnection   *time.Time `json:"last-connection,omitempty"`
	ControllerAccess string     `json:"controller-access"`
	ModelAccess      string     `json:"model-access"`
}

// A RegisterRequest is the parameter of Admin 3 Register: a key, which works once, and the password to set. Juju does
// not have this method. Its clients use an endpoint with its own encryption, because they don't know the CA yet.
type RegisterRequest struct {
	User     Tag    `json:"user"`
	Key      []byte `json:"secret-key"`
	Password string `json:"password"`
}

// A RedirectInfoResult would tell where a model has moved. Models don't move here.
type RedirectInfoResult struct {
	Servers [][]HostPort `json:"servers"`
	CACert  string       `json:"ca-cert"`
}
