package lxd

import "juju/state/entity"

// The attributes of a credential.
const (
	ClientCert = "client-cert"
	ClientKey  = "client-key"
	ServerCert = "server-cert"
)

// Credential returns the credential with which LXD is reached.
func (c Config) Credential() entity.CloudCredential {
	if c.ClientKey == "" {
		return entity.CloudCredential{AuthType: entity.AuthEmpty}
	}
	return entity.CloudCredential{AuthType: entity.AuthCertificate, Attributes: map[string]string{
		ClientCert: c.ClientCert, ClientKey: c.ClientKey, ServerCert: c.ServerCert}}
}

// SetCredential replaces the credential.
func (c *Config) SetCredential(one entity.CloudCredential) {
	c.ClientCert, c.ClientKey, c.ServerCert = one.Attributes[ClientCert], one.Attributes[ClientKey],
		one.Attributes[ServerCert]
}
