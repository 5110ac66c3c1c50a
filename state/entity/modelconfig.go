package entity

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/juju/loggo"
)

// The settings of a model.
const (
	ConfigAptMirror     = "apt-mirror"
	ConfigKeys          = "authorized-keys"
	ConfigRetryHooks    = "automatically-retry-hooks"
	ConfigDefaultSeries = "default-series"
	ConfigFirewallMode  = "firewall-mode"
	ConfigHarvestMode   = "provisioner-harvest-mode"
	ConfigLockExempt    = "machine-lock-exempt"
	ConfigLogging       = "logging-config"
	ConfigTaskAge       = "max-action-results-age"
	ConfigTaskSize      = "max-action-results-size"
	ConfigUpdateStatus  = "update-status-hook-interval"
)

// The values of ConfigHarvestMode.
const (
	HarvestNone      = "none"
	HarvestUnknown   = "unknown"
	HarvestDestroyed = "destroyed"
	HarvestAll       = "all"
)

// The values of ConfigFirewallMode.
const (
	FirewallInstance = "instance"
	FirewallGlobal   = "global"
	FirewallNone     = "none"
)

// The sources of a model setting's value, in Juju's words.
const (
	ConfigFromDefault    = "default"    // not set anywhere
	ConfigFromController = "controller" // from the bootstrap of the controller
	ConfigFromModel      = "model"      // set for this model
)

// A ModelSetting describes one setting of a model.
type ModelSetting struct {
	Key     string
	Type    string   // "bool", "duration" or "string"
	Values  []string // the only values that it can have, if they are few
	Default string   // "" for a setting whose default depends on the controller
	Empty   bool     // it may have the value ""
	Fixed   bool     // it is set when the model is made, and can't be changed
	Doc     string
}

// AgentVersionSetting is what a model shows beside its settings: the version that its agents are to run. No
// one sets it; an upgrade of the model changes it.
var AgentVersionSetting = ModelSetting{Key: "agent-version", Type: "string", Fixed: true,
	Doc: "the version that the model's agents are to run; juju upgrade-juju changes it, and nothing else can"}

// ModelSettings lists all settings, sorted by key. Each of them has an effect.
var ModelSettings = []ModelSetting{
	proxySetting("apt-ftp-proxy", aptProxy("FTP", "ftp")),
	proxySetting("apt-http-proxy", aptProxy("HTTP", "http")),
	proxySetting("apt-https-proxy", aptProxy("HTTPS", "https")),
	{
		Key: ConfigAptMirror, Type: "string", Empty: true,
		Doc: "the mirror of packages that apt uses on the machines, instead of the archive that it names first. The machines " +
			"of the local cloud are the host, whose files juju does not change",
	},
	proxySetting("apt-no-proxy", aptProxy("hosts without one", "no")),
	{
		Key: ConfigKeys, Type: "string", Empty: true,
		Doc: "the SSH keys of those who may log in to the machines as ubuntu, one a line: see juju add-ssh-key. The " +
			"machines of the local cloud have no users of their own, and ignore it",
	},
	{
		Key: ConfigRetryHooks, Type: "bool", Default: "false",
		Doc: "whether a unit runs a failed hook again by itself, first after 5 seconds, then after twice as long each " +
			"time, up to 5 minutes; otherwise it waits for juju resolved",
	},
	{
		Key: ConfigDefaultSeries, Type: "string",
		Doc: "the series of machines when neither the user nor the charm names one",
	},
	{
		Key: ConfigFirewallMode, Type: "string", Default: FirewallInstance, Fixed: true,
		Values: []string{FirewallInstance, FirewallGlobal, FirewallNone},
		Doc: "what closes the ports that no exposed service has opened: rules for each machine (instance), rules that open " +
			"the ports of one machine on all (global), or nothing (none). It is set when a model is made, and can't be " +
			"changed",
	},
	proxySetting("ftp-proxy", "the proxy for FTP, for all programs that hooks run, and that those run who log in to the "+
		"machines: $FTP_PROXY and $ftp_proxy"),
	proxySetting("http-proxy", "the proxy for HTTP, for all programs that hooks run, and that those run who log in to the "+
		"machines: $HTTP_PROXY and $http_proxy"),
	proxySetting("https-proxy", "the proxy for HTTPS, for all programs that hooks run, and that those run who log in to the "+
		"machines: $HTTPS_PROXY and $https_proxy"),
	proxySetting("juju-ftp-proxy", "the proxy for FTP, for charms that look for it: $JUJU_CHARM_FTP_PROXY"),
	proxySetting("juju-http-proxy", "the proxy for HTTP, for charms that look for it: $JUJU_CHARM_HTTP_PROXY"),
	proxySetting("juju-https-proxy", "the proxy for HTTPS, for charms that look for it: $JUJU_CHARM_HTTPS_PROXY"),
	proxySetting("juju-no-proxy", "the hosts that need no proxy, separated by commas, for charms that look for it: "+
		"$JUJU_CHARM_NO_PROXY"),
	{
		Key: ConfigLogging, Type: "string", Default: "<root>=INFO;unit=TRACE",
		Doc: "which lines the agents of machines and units log: the lowest level of each module, TRACE, DEBUG, INFO, " +
			"WARNING or ERROR. The modules unit and unit.NAME are what charms log and print; <root> is all others",
	},
	{
		Key: ConfigLockExempt, Type: "string", Empty: true,
		Doc: "the services, separated by commas, whose hooks neither wait for other hooks of the machine nor keep them " +
			"waiting; those of all others run one at a time",
	},
	{
		Key: ConfigTaskAge, Type: "duration", Default: "336h",
		Doc: "how long the tasks of actions and commands are kept that are over; 0s for ever",
	},
	{
		Key: ConfigTaskSize, Type: "string", Default: "5G",
		Doc: "how much room they may take, as in 500M or 5G; the oldest are removed first; 0M for any",
	},
	proxySetting("no-proxy", "the hosts that need no proxy, separated by commas, for all programs that hooks run, "+
		"and that those run who log in to the machines: $NO_PROXY and $no_proxy"),
	{
		Key: ConfigHarvestMode, Type: "string", Default: HarvestAll,
		Values: []string{HarvestNone, HarvestUnknown, HarvestDestroyed, HarvestAll},
		Doc: "which instances are stopped that no machine needs: those of destroyed machines (destroyed), those that no " +
			"machine is known for (unknown), both (all) or neither (none). Destroying the model stops all of them",
	},
	{
		Key: ConfigUpdateStatus, Type: "duration", Default: "5m",
		Doc: "how often a unit runs the hook update-status, give or take a fifth; from 1m to 60m",
	},
}

// ShownSettings are all settings, and what a model shows beside them.
var ShownSettings = append([]ModelSetting{AgentVersionSetting}, ModelSettings...)

// aptProxy describes a setting of apt's proxies.
func aptProxy(what, kind string) string {
	return "apt's proxy for " + what + " on the machines, if it is another than juju-" + kind + "-proxy, or else " + kind +
		"-proxy, say. The machines of the local cloud are the host, whose files juju does not change"
}

func proxySetting(key, doc string) ModelSetting {
	return ModelSetting{Key: key, Type: "string", Empty: true, Doc: doc}
}

// FindModelSetting returns the setting with this key; Invalid for an unknown key.
func FindModelSetting(key string) (ModelSetting, error) {
	for _, s := range ModelSettings {
		if s.Key == key {
			return s, nil
		}
	}
	keys := make([]string, len(ModelSettings))
	for i, s := range ModelSettings {
		keys[i] = s.Key
	}
	return ModelSetting{},
		WithHint(Errorf(Invalid, "unknown model config key %q", key), "Valid keys: %s", strings.Join(keys, ", "))
}

// Canonical returns the form in which a value is stored, or an Invalid error if the setting can't
// have it.
func (s ModelSetting) Canonical(value string) (string, error) {
	if s.Type == "bool" {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return "", Errorf(Invalid, "%s: expected bool, got %q", s.Key, value)
		}
		return strconv.FormatBool(b), nil
	}
	if s.Key == ConfigUpdateStatus {
		return value, checkUpdateStatus(value)
	}
	if s.Key == ConfigLogging {
		if _, err := loggo.ParseConfigString(value); err != nil {
			return "", Errorf(Invalid, "%s: %w", s.Key, err)
		}
	}
	if strings.HasSuffix(s.Key, "no-proxy") {
		return value, checkNoProxy(s.Key, value)
	}
	if s.Key == ConfigAptMirror || strings.HasSuffix(s.Key, "-proxy") {
		return value, checkProxy(s.Key, value)
	}
	if s.Key == ConfigTaskAge || s.Key == ConfigTaskSize {
		return value, checkKept(s.Key, value)
	}
	if s.Key == ConfigLockExempt {
		return value, checkServices(s.Key, value)
	}
	if len(s.Values) > 0 && !slices.Contains(s.Values, value) {
		return "", Errorf(Invalid, "%s: expected one of [%s], got %q", s.Key, strings.Join(s.Values, " "), value)
	}
	if value == "" && !s.Empty {
		return "", WithHint(Errorf(Invalid, "%s: expected a value, got %q", s.Key, value), "To give it its default: "+
			"--reset %s", s.Key)
	}
	return value, nil
}

// checkUpdateStatus returns an Invalid error unless units can run update-status this often.
func checkUpdateStatus(value string) error {
	interval, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return Errorf(Invalid, "invalid update status hook interval in model configuration: %w", err)
	case interval < time.Minute:
		return Errorf(Invalid, "update status hook frequency %v cannot be less than 1m", interval)
	case interval > time.Hour:
		return Errorf(Invalid, "update status hook frequency %v cannot be greater than 60m", interval)
	}
	return nil
}

// checkProxy returns an Invalid error unless the value is the address of a proxy or mirror. Files that
// apt and shells read hold it, so it has no character that means something to them.
func checkProxy(key, value string) error {
	if err := LimitName.CheckText(value); err != nil {
		return err
	}
	for _, r := range value {
		if r == ' ' || !unicode.IsPrint(r) || strings.ContainsRune("\"'`\\;{}<>#", r) {
			return Errorf(Invalid, "%s: %q has a character that no address has: %q", key, value, r)
		}
	}
	if value == "" {
		return nil
	}
	address := value
	if !strings.Contains(address, "://") && key != ConfigAptMirror {
		address = "http://" + address
	}
	schemes := []string{"http", "https", "ftp", "socks5", "socks5h"}
	if key == ConfigAptMirror {
		schemes = []string{"http", "https", "ftp"}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return Errorf(Invalid, "%s: %q is no URL: expected one like http://HOST:PORT", key, value)
	}
	if _, path, _ := strings.Cut(address, u.Host); strings.ContainsAny(path, "[]") {
		return Errorf(Invalid, "%s: %q has brackets in its path: write them as %%5B and %%5D", key, value)
	}
	return nil
}

// directHost matches what a list of hosts without proxy may name: hosts, with wildcards, domains,
// addresses and networks.
var directHost = regexp.MustCompile(`^(\[[\w:.]+\]|[\pL\pN*._:-]+)([:/][0-9.]+)?$`)

// checkNoProxy returns an Invalid error unless the value is a list of hosts. Apt reads each as the name of
// a setting, without quotes, and stops at one that has a blank or begins a comment.
func checkNoProxy(key, value string) error {
	if err := LimitName.CheckText(value); err != nil {
		return err
	}
	for _, host := range splitList(value) {
		if !directHost.MatchString(host) {
			return Errorf(Invalid, "%s: %q is no host: expected hosts, domains and networks, separated by commas, "+
				"such as localhost,.example.com,10.0.0.0/8", key, host)
		}
	}
	return nil
}

// checkKept returns an Invalid error unless the value is the age or size of tasks that are kept.
func checkKept(key, value string) error {
	if key == ConfigTaskSize {
		if _, err := parseSize(value); err != nil {
			return Errorf(Invalid, "invalid max action size in model configuration: %w", err)
		}
		return nil
	}
	if age, err := time.ParseDuration(value); err != nil || age < 0 {
		return Errorf(Invalid, "invalid max action age in model configuration: %q is not a duration", value)
	}
	return nil
}

// parseSize parses a number of bytes with a suffix M, G, T or P; M without one.
func parseSize(text string) (bytes int64, err error) {
	number, shift := text, 20
	if i := strings.IndexAny(text, "MGTP"); i > 0 && i == len(text)-1 {
		number, shift = text[:i], 20+10*strings.IndexByte("MGTP", text[i])
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1<<(62-shift) {
		return 0, Errorf(Invalid, "expected a size like 500M or 5G, got %q", text)
	}
	return n << shift, nil
}

// checkServices returns an Invalid error unless the value is a list of names of services. They
// need not be there yet.
func checkServices(key, value string) error {
	for _, name := range splitList(value) {
		if !IsValidService(name) {
			return Errorf(Invalid, "%s: invalid service name %q", key, name)
		}
	}
	return nil
}

// splitList returns the elements of a list separated by commas.
func splitList(value string) (all []string) {
	for element := range strings.SplitSeq(value, ",") {
		if element = strings.TrimSpace(element); element != "" {
			all = append(all, element)
		}
	}
	return all
}

// Plain converts a stored value for JSON and YAML: a bool is true or false.
func (s ModelSetting) Plain(value string) any {
	if s.Type == "bool" {
		return value == "true"
	}
	return value
}

// ParseModelConfig checks settings from a user and returns them in their stored form, or the
// error of the first wrong one, by key.
func ParseModelConfig(given map[string]string) (map[string]string, error) {
	config := make(map[string]string, len(given))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		s, err := FindModelSetting(key)
		if err != nil {
			return nil, err
		}
		if config[key], err = s.Canonical(given[key]); err != nil {
			return nil, err
		}
	}
	return config, CheckProxies(config, nil)
}

// ProxyKinds are the kinds of proxies that a model sets either for all programs (http-proxy) or for
// charms alone (juju-http-proxy).
var ProxyKinds = []string{"http", "https", "ftp"}

// CheckProxies returns an Invalid error if settings would give a model proxies for all programs and
// others for charms alone, since it is one or the other. Set is what changes, and the rest what it has.
func CheckProxies(set, rest map[string]string) error {
	first := func(prefix string) (key string, changes bool) {
		for _, kind := range ProxyKinds {
			name := prefix + kind + "-proxy"
			if set[name] != "" {
				return name, true
			}
			if _, ok := set[name]; !ok && rest[name] != "" {
				key = name
			}
		}
		return key, false
	}
	all, changesAll := first("")
	charms, changesCharms := first("juju-")
	if all == "" || charms == "" || !changesAll && !changesCharms {
		return nil
	}
	return WithHint(Errorf(Invalid, "cannot specify both legacy proxy values and juju proxy values: %s and %s", all, charms),
		"%s is for all programs, %s only for charms that look for it. To change over, empty one and set the other at once, "+
			"as in: juju model-config %[1]s= %[2]s=http://HOST:PORT", all, charms)
}

// A ModelValue is the value of a setting in one model.
type ModelValue struct {
	Value  string // in its stored form
	Source string // ConfigFromModel, …
}

// A ModelConfig is all settings of one model, by key.
type ModelConfig map[string]ModelValue

// NewModelConfig adds the defaults to what was set for a model. Series is the controller's
// default series.
func NewModelConfig(set map[string]string, series string) ModelConfig {
	config := ModelConfig{}
	for _, s := range ModelSettings {
		if value, ok := set[s.Key]; ok {
			config[s.Key] = ModelValue{value, ConfigFromModel}
		} else if s.Key == ConfigDefaultSeries {
			config[s.Key] = ModelValue{series, ConfigFromController}
		} else {
			config[s.Key] = ModelValue{s.Default, ConfigFromDefault}
		}
	}
	return config
}

// RetryHooks reports whether failed hooks are retried without a user's request.
func (c ModelConfig) RetryHooks() bool { return c[ConfigRetryHooks].Value == "true" }

// HarvestsUnknown reports whether instances without a known machine are stopped.
func (c ModelConfig) HarvestsUnknown() bool {
	mode := c[ConfigHarvestMode].Value
	return mode == HarvestUnknown || mode == HarvestAll
}

// HarvestsDestroyed reports whether the instances of destroyed machines are stopped.
func (c ModelConfig) HarvestsDestroyed() bool {
	mode := c[ConfigHarvestMode].Value
	return mode == HarvestDestroyed || mode == HarvestAll
}

// LockExempt reports whether the hooks of a service's units run beside others.
func (c ModelConfig) LockExempt(service string) bool {
	return slices.Contains(splitList(c[ConfigLockExempt].Value), service)
}

// Logging returns the lowest level that each module logs.
func (c ModelConfig) Logging() loggo.Config {
	levels, _ := loggo.ParseConfigString(c[ConfigLogging].Value) // checked when it was set
	return levels
}

// KeepTasks returns how long tasks are kept that are over, and how many bytes they may take; 0
// means that this is not limited.
func (c ModelConfig) KeepTasks() (age time.Duration, size int64) {
	age, _ = time.ParseDuration(c[ConfigTaskAge].Value) // both were checked when they were set
	size, _ = parseSize(c[ConfigTaskSize].Value)
	return age, size
}

// UpdateStatusInterval returns the time between update-status hooks of a unit.
func (c ModelConfig) UpdateStatusInterval() time.Duration {
	interval, _ := time.ParseDuration(c[ConfigUpdateStatus].Value) // checked when it was set
	return interval
}

// Values returns the values alone, by key.
func (c ModelConfig) Values() map[string]string {
	values := make(map[string]string, len(c))
	for key, v := range c {
		values[key] = v.Value
	}
	return values
}
