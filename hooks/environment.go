package hooks

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"juju/hooks/tool"
	"juju/state/entity"
)

// inherited are the variables that a hook inherits from its agent. It is an allowlist, because the
// agent's environment comes from the shell it was started in, and may contain a user's secrets.
var inherited = map[string]bool{
	"TZ": true, "TMPDIR": true, // of the host
	"http_proxy": true, "https_proxy": true, "ftp_proxy": true, "no_proxy": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "FTP_PROXY": true, "NO_PROXY": true,
	// By these the local cloud, and the agent of a host without systemd, find what a charm has
	// left running (provider/local and agent/supervise.go document them); they must reach every
	// daemon that a hook starts.
	"JUJU_LOCAL_INSTANCE": true, "JUJU_LOCAL_ADDRESS": true, "JUJU_HOST_AGENT": true,
}

// SystemPath is where hooks find programs, after the hook tools. The PATH of the agent may be that of the shell in which a
// user bootstrapped or added a host, with that user's own programs: a charm must not depend on them, nor keep links to them.
const SystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin"

// terminal returns TERM for the hooks of this host.
var terminal = sync.OnceValue(func() string {
	release, _ := os.ReadFile("/etc/os-release") // a host without one is no Ubuntu
	return terminalOf(string(release))
})

// terminalOf returns the terminal that Juju gives hooks on the system with this /etc/os-release.
func terminalOf(release string) string {
	if slices.Contains(strings.Split(release, "\n"), "ID=ubuntu") {
		return "tmux-256color"
	}
	return "screen"
}

// environment returns the environment of the hook's process; agent is the agent's own.
func (c *Context) environment(agent []string, charmDir, toolsDir, socket string) []string {
	var env []string
	for _, entry := range agent {
		if name, _, _ := strings.Cut(entry, "="); inherited[name] {
			env = append(env, entry)
		}
	}
	set := func(name, value string) { env = append(env, name+"="+value) }
	set("PATH", toolsDir+string(filepath.ListSeparator)+SystemPath)
	set("LANG", "C.UTF-8")
	set("TERM", terminal())
	set("DEBIAN_FRONTEND", "noninteractive")
	set("APT_LISTCHANGES_FRONTEND", "none")

	p := c.params
	if p.Unit != "" {
		c.unitEnvironment(set, charmDir, socket)
	}
	if t := p.Task; c.isTask() {
		name := t.Name
		if t.isCommand() {
			name = tool.JujuExecName
		}
		set("JUJU_ACTION_NAME", name)
		set("JUJU_ACTION_UUID", t.ID)
		set("JUJU_ACTION_TAG", entity.TaskTag(t.ID).String())
	}
	set("JUJU_MODEL_NAME", p.ModelName)
	set("JUJU_MODEL_UUID", p.ModelUUID)
	set("JUJU_ENV_NAME", p.ModelName)
	set("JUJU_ENV_UUID", p.ModelUUID)
	var addresses []string
	if p.APIAddresses != nil {
		addresses = p.APIAddresses()
	}
	set("JUJU_API_ADDRESSES", strings.Join(addresses, " "))
	set("JUJU_MACHINE_ID", p.Machine)
	set("JUJU_AVAILABILITY_ZONE", p.Zone)
	set("JUJU_VERSION", entity.JujuVersion)
	set("CLOUD_API_VERSION", "") // only Kubernetes has one
	set("JUJU_SLA", "unsupported")
	for _, kind := range []string{"http", "https", "ftp", "no"} {
		name := strings.ToUpper(kind) + "_PROXY"
		set("JUJU_CHARM_"+name, p.Settings["juju-"+kind+"-proxy"])
		if value := p.Settings[kind+"-proxy"]; value != "" {
			set(name, value)
			set(strings.ToLower(name), value)
		}
	}
	return env
}

// unitEnvironment sets the variables for hooks and commands of units.
func (c *Context) unitEnvironment(set func(name, value string), charmDir, socket string) {
	p := c.params
	set("CHARM_DIR", charmDir)
	set("JUJU_CHARM_DIR", charmDir)
	set(tool.ContextVar, c.id)
	set(tool.SocketVar, socket)
	set("JUJU_AGENT_SOCKET_ADDRESS", socket)
	set("JUJU_AGENT_SOCKET_NETWORK", "unix")
	hook := ""
	if p.Task == nil {
		hook = c.HookName()
	}
	set("JUJU_HOOK_NAME", hook) // there, but empty, in actions and commands
	if path := c.dispatchPath(); path != "" {
		set("JUJU_DISPATCH_PATH", path)
	}
	set("JUJU_UNIT_NAME", p.Unit)
	set("JUJU_PRINCIPAL_UNIT", p.Principal)
	if p.TargetSeries != "" {
		set("JUJU_TARGET_SERIES", p.TargetSeries)
		set("JUJU_TARGET_BASE", entity.BaseOf(p.TargetSeries).Short())
	}
	if s, ok := c.attached()[p.Info.Storage]; ok {
		set("JUJU_STORAGE_ID", s.ID)
		set("JUJU_STORAGE_LOCATION", s.Location)
		set("JUJU_STORAGE_KIND", entity.StorageKind)
	}
	if secret := p.Info.Secret; p.Info.Kind.IsSecret() {
		set("JUJU_SECRET_ID", entity.SecretOfKey(secret.ID).String())
		set("JUJU_SECRET_LABEL", secret.Label)
		if p.Info.Kind == SecretRemove || p.Info.Kind == SecretExpired {
			set("JUJU_SECRET_REVISION", strconv.Itoa(secret.Revision))
		}
	}
	if p.Info.Kind.IsRelation() {
		relation := p.Relations[p.Info.RelationID]
		remote := relation.Remote
		if p.Info.RemoteUnit != "" {
			remote = entity.UnitService(p.Info.RemoteUnit)
		}
		set("JUJU_RELATION", relation.Name)
		set("JUJU_RELATION_ID", c.relationID(p.Info.RelationID))
		set("JUJU_REMOTE_UNIT", p.Info.RemoteUnit) // there, but empty, in relation-created and relation-broken
		set("JUJU_REMOTE_APP", remote)
		if p.Info.Kind == RelationDeparted {
			set("JUJU_DEPARTING_UNIT", p.DepartingUnit)
		}
	}
}
