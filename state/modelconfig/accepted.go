package modelconfig

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"juju/state/entity"
)

// All lists all settings that a model can have.
var All = slices.Concat(Settings, accepted)

// extraInfo is any text that users keep with a model.
const extraInfo = "extra-info"

const (
	noImages    = "machines are made from the images of their cloud"
	noSnaps     = "juju installs no snaps, and does not configure snapd"
	noSyslog    = "logs are kept by the controller: see juju debug-log"
	noTelemetry = "nothing is sent to anyone"
	noBridges   = "juju leaves the networks of machines as they are"
	everywhere  = "0.0.0.0/0,::/0"
)

func unused(key, kind, here, why string) Setting {
	return Setting{Key: key, Type: kind, Empty: true, Unused: why, Here: here}
}

// accepted are the settings of Juju 3.6 without an effect here. They are kept, because programs compare what they have set
// with what a model has.
var accepted = []Setting{
	unused("agent-metadata-url", "string", "", "agents run the binaries of their controller"),
	unused("agent-stream", "string", "released", "agents run the binaries of their controller"),
	unused("backup-dir", "string", "", "juju create-backup says where a backup is written"),
	unused("container-image-metadata-defaults-disabled", "bool", "false", noImages),
	unused("container-image-metadata-url", "string", "", noImages),
	unused("container-image-reference", "string", "", noImages),
	unused("container-image-stream", "string", "released", noImages),
	unused("container-inherit-properties", "string", "", "containers inherit nothing from their machine"),
	unused("container-networking-method", "string", "", noBridges),
	unused("default-space", "string", "", "say at each deploy: --bind SPACE"),
	unused("development", "bool", "", "all models are alike in this"),
	unused("disable-network-management", "bool", "", noBridges),
	unused("disable-telemetry", "bool", "true", noTelemetry),
	unused("enable-os-refresh-update", "bool", "false", "juju does not update the packages of new machines"),
	unused("enable-os-upgrade", "bool", "false", "juju does not upgrade the packages of new machines"),
	{Key: extraInfo, Type: "string", Empty: true},
	unused("fan-config", "string", "", noBridges),
	unused("ignore-machine-addresses", "bool", "false", "addresses are those that the cloud says"),
	unused("image-metadata-defaults-disabled", "bool", "false", noImages),
	unused("image-metadata-url", "string", "", noImages),
	unused("image-stream", "string", "released", noImages),
	unused("logforward-enabled", "bool", "false", noSyslog),
	unused("logging-output", "string", "", noSyslog),
	unused("lxd-snap-channel", "string", "", noSnaps),
	unused("max-status-history-age", "string", "", "the length of a history is fixed: see doc/security.md"),
	unused("max-status-history-size", "string", "", "the length of a history is fixed: see doc/security.md"),
	unused("mode", "string", "", "commands that destroy data ask, unless -y is given"),
	unused("net-bond-reconfigure-delay", "int", "", noBridges),
	unused("num-container-provision-workers", "int", "", "how many machines are started at once is fixed"),
	unused("num-provision-workers", "int", "", "how many machines are started at once is fixed"),
	unused("resource-tags", "string", "", "instances have only juju's own tags"),
	unused("saas-ingress-allow", "string", everywhere,
		"an offer opens no ports: to open its service's to some networks only, juju expose SERVICE --to-cidrs CIDRS"),
	unused("secret-backend", "string", "auto", "the controller's store keeps all secrets"),
	unused("snap-http-proxy", "string", "", noSnaps),
	unused("snap-https-proxy", "string", "", noSnaps),
	unused("snap-store-assertions", "string", "", noSnaps),
	unused("snap-store-proxy", "string", "", noSnaps),
	unused("snap-store-proxy-url", "string", "", noSnaps),
	unused("ssh-allow", "string", everywhere,
		"SSH (22/tcp) of a model's machines can be reached from everywhere: filter it in front of the machines, on LXD with an ACL of yours"),
	unused("ssl-hostname-verification", "bool", "true", "host names are always verified"),
	unused("storage-default-block-source", "string", "", "there are no block devices"),
	unused("storage-default-filesystem-source", "string", "", "a store without a pool gets the cloud's first: name it with --storage"),
	unused("syslog-ca-cert", "string", "", noSyslog),
	unused("syslog-client-cert", "string", "", noSyslog),
	unused("syslog-client-key", "string", "", noSyslog),
	unused("syslog-host", "string", "", noSyslog),
	unused("test-mode", "bool", "", noTelemetry),
	unused("transmit-vendor-metrics", "bool", "false", noTelemetry),
}

// checkUnused returns an Invalid error unless the value can be that of a setting without an effect.
func (s Setting) checkUnused(value string) error {
	if _, err := strconv.Atoi(value); s.Type == "int" && err != nil {
		return entity.Errorf(entity.Invalid, "%s: expected a whole number, got %q", s.Key, value)
	}
	return nil
}

// Words returns what is to be said of settings that a user gives: which have no effect, and which are not known.
func Words(given map[string]string) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		s, err := Find(key)
		switch {
		case slices.Contains([]string{DefaultBase, AgentVersion.Key, "name", "type", "uuid"}, key): // the controller judges these
		case err != nil:
			all = append(all, fmt.Sprintf("key %q is not defined in the current model configuration: possible misspelling; it is ignored", key))
		case s.Unused != "" && given[key] != s.Here && given[key] != "":
			all = append(all, fmt.Sprintf("model config key %q has no effect: %s", key, s.Unused))
		}
	}
	return all
}

// ofController are the settings of controllers in Juju 3.6, but for those of traces, which work.
var ofController = []string{
	"agent-logfile-max-backups", "agent-logfile-max-size", "agent-ratelimit-max", "agent-ratelimit-rate", "allow-model-access",
	"api-port", "api-port-open-delay", "application-resource-download-limit", "audit-log-capture-args",
	"audit-log-exclude-methods", "audit-log-max-backups", "audit-log-max-size", "auditing-enabled", "autocert-dns-name",
	"autocert-url", "batch-raft-fsm", "ca-cert", "caas-image-repo", "caas-operator-image-path", "charmstore-url", "controller-api-port",
	"controller-name", "controller-resource-download-limit", "controller-uuid", "features", "identity-public-key", "identity-url",
	"juju-db-snap-channel", "juju-ha-space", "juju-mgmt-space", "jujud-controller-snap-source", "login-token-refresh-url",
	"max-agent-state-size", "max-charm-state-size", "max-debug-log-duration", "max-prune-txn-batch-size",
	"max-prune-txn-passes", "max-txn-log-size", "metering-url", "migration-agent-wait-time", "model-logfile-max-backups",
	"model-logfile-max-size", "model-logs-size", "mongo-memory-profile", "non-synced-writes-to-raft-log",
	"object-store-s3-endpoint", "object-store-s3-static-key", "object-store-s3-static-secret", "object-store-s3-static-session",
	"object-store-type", "prune-txn-query-count", "prune-txn-sleep-time", "public-dns-address", "query-tracing-enabled",
	"query-tracing-threshold", "set-numa-control-policy", "ssh-max-concurrent-connections", "ssh-server-port", "state-port",
	"system-ssh-keys",
}

// IsOfController reports whether a key is that of a setting of controllers in Juju.
func IsOfController(key string) bool { return slices.Contains(ofController, key) }

// ControllerWord returns what is to be said of such a setting, which is accepted.
func ControllerWord(key string) string {
	return fmt.Sprintf("controller config key %q has no effect: what it sets is fixed here, as juju controller-config and doc/security.md say", key)
}
