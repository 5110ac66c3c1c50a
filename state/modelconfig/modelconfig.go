// Package modelconfig defines the settings of models: their keys, the meaning of their values, and their defaults.
package modelconfig

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/juju/loggo"

	"juju/charm/charmhub"
	"juju/state/entity"
	"juju/state/limits"
	"juju/state/modelconfig/userdata"
)

// The settings of a model.
const (
	AptMirror      = "apt-mirror"
	AuthorizedKeys = "authorized-keys"
	CharmhubCA     = "charmhub-ca-cert"
	CharmhubURL    = "charmhub-url"
	DefaultBase    = "default-base" // DefaultSeries, as Juju 3 names it
	RetryHooks     = "automatically-retry-hooks"
	DefaultSeries  = "default-series"
	EgressSubnets  = "egress-subnets"
	FirewallMode   = "firewall-mode"
	HarvestMode    = "provisioner-harvest-mode"
	HostLock       = "host-lock"
	LockExempt     = "machine-lock-exempt"
	Logging        = "logging-config"
	TaskAge        = "max-action-results-age"
	TaskSize       = "max-action-results-size"
	ProxySSH       = "proxy-ssh"
	UpdateStatus   = "update-status-hook-interval"
	UserData       = userdata.Key
)

// The values of HarvestMode.
const (
	HarvestNone      = "none"
	HarvestUnknown   = "unknown"
	HarvestDestroyed = "destroyed"
	HarvestAll       = "all"
)

// The values of FirewallMode.
const (
	FirewallInstance = "instance"
	FirewallGlobal   = "global"
	FirewallNone     = "none"
)

// The sources of a model setting's value, in Juju's words.
const (
	FromDefault    = "default"    // not set anywhere
	FromController = "controller" // from the bootstrap of the controller
	FromModel      = "model"      // set for this model
)

// A Setting describes one setting of a model.
type Setting struct {
	Key     string
	Type    string   // "bool", "duration" or "string"
	Values  []string // the valid values, if only these are valid
	Default string   // "" for a setting whose default depends on the controller
	Empty   bool     // the value "" is valid
	Lines   bool     // a value can have several lines
	Fixed   bool     // set when the model is created, and can't be changed
	Doc     string
	// Unused says why a setting of Juju's has no effect here; "" if it has. Here is the value that says how it is here.
	Unused, Here string
}

// AgentVersion is entity.JujuVersion. It is shown with a model's settings, because clients look for it there, but can't be
// set.
var AgentVersion = Setting{Key: "agent-version", Type: "string", Fixed: true,
	Doc: "the version of Juju whose API this is; juju status shows the release that agents run"}

// Settings lists the settings that have an effect, sorted by key.
var Settings = []Setting{
	proxySetting("apt-ftp-proxy", aptProxy("apt's proxy for FTP on the machines", "ftp")),
	proxySetting("apt-http-proxy", aptProxy("apt's proxy for HTTP on the machines", "http")),
	proxySetting("apt-https-proxy", aptProxy("apt's proxy for HTTPS on the machines", "https")),
	{
		Key: AptMirror, Type: "string", Empty: true,
		Doc: "the package mirror that apt uses on the machines, instead of the first archive in its sources. The machines " +
			"of the local cloud are the host, whose files juju does not change",
	},
	proxySetting("apt-no-proxy", aptProxy("the hosts, separated by commas, that apt on the machines reaches without a proxy", "no")),
	{
		Key: AuthorizedKeys, Type: "string", Empty: true, Lines: true,
		Doc: "the SSH keys that may log in to the machines as ubuntu, one per line: see juju add-ssh-key. The " +
			"machines of the local cloud have no users of their own, and ignore it",
	},
	{
		Key: RetryHooks, Type: "bool", Default: "false",
		Doc: "whether a unit retries a failed hook automatically, first after 5 seconds, then after twice as long each " +
			"time, up to 5 minutes; otherwise it waits for juju resolved",
	},
	{
		Key: CharmhubCA, Type: "string", Empty: true, Lines: true,
		Doc: "the certificates, in PEM, that vouch for the charm store, in place of those that the controller's system trusts: those " +
			"of a store of your own (juju help deploy)",
	},
	{
		Key: CharmhubURL, Type: "string", Default: charmhub.DefaultURL, Fixed: true,
		Doc: "the charm store from which the controller gets charms. It is set when a model is created, and can't be changed",
	},
	{
		Key: UserData, Type: "string", Empty: true, Lines: true,
		Doc: "what cloud-init does on new machines besides installing Juju's agent, as YAML: keys of cloud-init such as packages " +
			"or ca_certs, and lists of commands that run as root before and after Juju's own, preruncmd and postruncmd. They " +
			"must bear to run again, because LXD can have cloud-init start over, as after a snapshot is restored. The setting can " +
			"break machines, and every user of one can read it. The machines of the local cloud and those added by SSH ignore it",
	},
	{
		Key: DefaultSeries, Type: "string",
		Doc: "the series of machines when neither the user nor the charm names one",
	},
	{
		Key: EgressSubnets, Type: "string", Empty: true,
		Doc: "the subnets, separated by commas, from which the model's units connect, such as 10.1.0.0/24, if a gateway hides " +
			"the units' own addresses. Units publish them in their relations, network-get prints them, and the models whose " +
			"offers the units use open ports to them",
	},
	{
		Key: FirewallMode, Type: "string", Default: FirewallInstance, Fixed: true,
		Values: []string{FirewallInstance, FirewallGlobal, FirewallNone},
		Doc: "what closes the ports that no exposed service has opened: rules for each machine (instance), rules that open " +
			"the ports of one machine on all (global), or nothing (none). It is set when a model is created, and can't be " +
			"changed",
	},
	proxySetting("ftp-proxy", "the FTP proxy for all programs run by hooks and by users logged in to the machines: "+
		"$FTP_PROXY and $ftp_proxy"),
	{
		Key: HostLock, Type: "string", Empty: true,
		Doc: "the services, separated by commas, whose hooks wait for each other also on different machines, if these share a " +
			"host as on the local cloud: those whose hooks use what the host has once, such as apt",
	},
	proxySetting("http-proxy", "the HTTP proxy for all programs run by hooks and by users logged in to the machines: "+
		"$HTTP_PROXY and $http_proxy"),
	proxySetting("https-proxy", "the HTTPS proxy for all programs run by hooks and by users logged in to the machines: "+
		"$HTTPS_PROXY and $https_proxy"),
	proxySetting("juju-ftp-proxy", "the FTP proxy for charms that look for it: $JUJU_CHARM_FTP_PROXY"),
	proxySetting("juju-http-proxy", "the HTTP proxy for charms that look for it: $JUJU_CHARM_HTTP_PROXY"),
	proxySetting("juju-https-proxy", "the HTTPS proxy for charms that look for it: $JUJU_CHARM_HTTPS_PROXY"),
	proxySetting("juju-no-proxy", "the hosts that need no proxy, separated by commas, for charms that look for it: "+
		"$JUJU_CHARM_NO_PROXY"),
	{
		Key: Logging, Type: "string", Default: "<root>=INFO;unit=TRACE",
		Doc: "which lines the machine and unit agents log: the lowest level of each module, TRACE, DEBUG, INFO, " +
			"WARNING or ERROR. The modules unit and unit.NAME are what charms log and print; <root> is all others",
	},
	{
		Key: LockExempt, Type: "string", Empty: true,
		Doc: "the services, separated by commas, whose hooks wait for no others, neither on the machine nor on its host; the " +
			"hooks of all other services on a machine run one at a time",
	},
	{
		Key: TaskAge, Type: "duration", Default: "336h",
		Doc: "how long finished tasks of actions and commands are kept; 0s means forever",
	},
	{
		Key: TaskSize, Type: "string", Default: "5G",
		Doc: "how much space finished tasks may use, such as 500M or 5G; the oldest are removed first; 0M means no limit",
	},
	proxySetting("no-proxy", "the hosts that need no proxy, separated by commas, for all programs run by hooks and by "+
		"users logged in to the machines: $NO_PROXY and $no_proxy"),
	{
		Key: HarvestMode, Type: "string", Default: HarvestAll,
		Values: []string{HarvestNone, HarvestUnknown, HarvestDestroyed, HarvestAll},
		Doc: "which unused instances are stopped: those of destroyed machines (destroyed), those that belong to no known " +
			"machine (unknown), both (all) or neither (none). Destroying the model stops all of them",
	},
	{
		Key: ProxySSH, Type: "bool", Default: "false",
		Doc: "whether juju ssh and juju scp connect through the controller's machine unless --proxy says otherwise; the " +
			"machines of the local cloud are directories, and no connection is made",
	},
	{
		Key: UpdateStatus, Type: "duration", Default: "5m",
		Doc: "how often a unit runs the hook update-status, plus or minus a fifth; from 1s to 60m. Below 1m is for tests",
	},
}

// Shown lists these and AgentVersion.
var Shown = append([]Setting{AgentVersion}, Settings...)

// aptProxy returns the description of a setting for apt's proxies.
func aptProxy(what, kind string) string {
	return what + ", if different from juju-" + kind + "-proxy or, without that, " + kind +
		"-proxy. The machines of the local cloud are the host, whose files juju does not change"
}

func proxySetting(key, doc string) Setting {
	return Setting{Key: key, Type: "string", Empty: true, Doc: doc}
}

// Find returns the setting with this key. The error is Invalid for a key that models don't have.
func Find(key string) (Setting, error) {
	for _, s := range All {
		if s.Key == key {
			return s, nil
		}
	}
	keys := make([]string, len(Settings))
	for i, s := range Settings {
		keys[i] = s.Key
	}
	return Setting{},
		entity.WithHint(entity.Errorf(entity.Invalid, "unknown model config key %q", key), "Valid keys: %s",
			strings.Join(keys, ", "))
}

// Canonical returns the stored form of a value, or an Invalid error if the value is not valid for the setting.
func (s Setting) Canonical(value string) (string, error) {
	if s.Type == "bool" {
		b, err := strconv.ParseBool(value)
		if err != nil {
			return "", entity.Errorf(entity.Invalid, "%s: expected bool, got %q", s.Key, value)
		}
		return strconv.FormatBool(b), nil
	}
	switch s.Key {
	case UserData:
		return value, userdata.Check(value)
	case CharmhubCA:
		return value, checkCertificates(value)
	case CharmhubURL:
		return charmhub.ParseURL(value)
	}
	if err := limits.Name.CheckText(value); err != nil {
		return "", err
	}
	if s.Unused != "" {
		return value, s.checkUnused(value)
	}
	if s.Key == UpdateStatus {
		return value, checkUpdateStatus(value)
	}
	if s.Key == Logging {
		if _, err := loggo.ParseConfigString(value); err != nil {
			return "", entity.Errorf(entity.Invalid, "%s: %w", s.Key, err)
		}
	}
	if strings.HasSuffix(s.Key, "no-proxy") {
		return value, checkNoProxy(s.Key, value)
	}
	if s.Key == AptMirror || strings.HasSuffix(s.Key, "-proxy") {
		return value, checkProxy(s.Key, value)
	}
	if s.Key == TaskAge || s.Key == TaskSize {
		return value, checkTaskLimit(s.Key, value)
	}
	if s.Key == EgressSubnets {
		return canonicalSubnets(s.Key, value)
	}
	if s.Key == LockExempt || s.Key == HostLock {
		return value, checkServices(s.Key, value)
	}
	if len(s.Values) > 0 && !slices.Contains(s.Values, value) {
		return "", entity.Errorf(entity.Invalid, "%s: expected one of [%s], got %q", s.Key,
			strings.Join(s.Values, " "), value)
	}
	if value == "" && !s.Empty {
		return "", entity.WithHint(entity.Errorf(entity.Invalid, "%s: expected a value, got %q", s.Key, value),
			"To reset it to its default: "+
				"--reset %s", s.Key)
	}
	return value, nil
}

// Juju documents one minute as the least interval between update-status hooks, but accepts any, and tests of charms set
// seconds to have the hook run while they wait.
const (
	leastInterval = time.Second
	UsualInterval = time.Minute // from here on the hooks are no burden
)

// checkUpdateStatus returns an Invalid error unless units can run update-status at this interval.
func checkUpdateStatus(value string) error {
	interval, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return entity.Errorf(entity.Invalid, "invalid update status hook interval in model configuration: %w", err)
	case interval < leastInterval:
		return entity.Errorf(entity.Invalid, "update status hook frequency %v cannot be less than 1s", interval)
	case interval > time.Hour:
		return entity.Errorf(entity.Invalid, "update status hook frequency %v cannot be greater than 60m", interval)
	}
	return nil
}

// maxCertificates is how many bytes the certificates that vouch for a charm store may have.
const maxCertificates = 64 << 10

// checkCertificates returns an Invalid error unless the value has certificates, or nothing.
func checkCertificates(value string) error {
	if value == "" {
		return nil
	}
	if len(value) > maxCertificates {
		return entity.Errorf(entity.Invalid, "%s: more than %d KiB", CharmhubCA, maxCertificates>>10)
	}
	if _, err := charmhub.Trusting(value); err != nil {
		return fmt.Errorf("%s: %w", CharmhubCA, err)
	}
	return nil
}

// checkProxy returns an Invalid error unless the value is the address of a proxy or mirror. It is written to files read
// by apt and shells, so it must not contain characters that are special to them.
func checkProxy(key, value string) error {
	for _, r := range value {
		if r == ' ' || !unicode.IsPrint(r) || strings.ContainsRune("\"'`\\;{}<>#", r) {
			return entity.Errorf(entity.Invalid, "%s: %q contains %q, which is not valid in an address", key, value, r)
		}
	}
	if value == "" {
		return nil
	}
	address := value
	if !strings.Contains(address, "://") && key != AptMirror {
		address = "http://" + address
	}
	schemes := []string{"http", "https", "ftp", "socks5", "socks5h"}
	if key == AptMirror {
		schemes = []string{"http", "https", "ftp"}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
		return entity.Errorf(entity.Invalid, "%s: %q is not a URL: expected one like http://HOST:PORT", key, value)
	}
	if _, path, _ := strings.Cut(address, u.Host); strings.ContainsAny(path, "[]") {
		return entity.Errorf(entity.Invalid, "%s: %q has brackets in its path: write them as %%5B and %%5D", key, value)
	}
	return nil
}

// directHost matches the elements of a no-proxy list: hosts, possibly with wildcards, domains, addresses and networks.
var directHost = regexp.MustCompile(`^(\[[\w:.]+\]|[\pL\pN*._:-]+)([:/][0-9.]+)?$`)

// checkNoProxy returns an Invalid error unless the value is a list of hosts. Apt reads each host as the name of a
// setting, without quotes, and stops at a space or the start of a comment.
func checkNoProxy(key, value string) error {
	for _, host := range splitList(value) {
		if !directHost.MatchString(host) {
			return entity.Errorf(entity.Invalid, "%s: %q is not a host: expected hosts, domains and networks, separated by commas, "+
				"such as localhost,.example.com,10.0.0.0/8", key, host)
		}
	}
	return nil
}

// checkTaskLimit returns an Invalid error unless the value is a valid maximum age or size of finished tasks.
func checkTaskLimit(key, value string) error {
	if key == TaskSize {
		if _, err := parseSize(value); err != nil {
			return entity.Errorf(entity.Invalid, "invalid max action size in model configuration: %w", err)
		}
		return nil
	}
	if age, err := time.ParseDuration(value); err != nil || age < 0 {
		return entity.Errorf(entity.Invalid, "invalid max action age in model configuration: %q is not a duration", value)
	}
	return nil
}

// parseSize parses a size with a suffix M, G, T or P, which defaults to M, and returns bytes.
func parseSize(text string) (bytes int64, err error) {
	number, shift := text, 20
	if i := strings.IndexAny(text, "MGTP"); i > 0 && i == len(text)-1 {
		number, shift = text[:i], 20+10*strings.IndexByte("MGTP", text[i])
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > 1<<(62-shift) {
		return 0, entity.Errorf(entity.Invalid, "expected a size like 500M or 5G, got %q", text)
	}
	return n << shift, nil
}

// checkServices returns an Invalid error unless the value is a list of service names. The services need not exist.
func checkServices(key, value string) error {
	for _, name := range splitList(value) {
		if !entity.IsValidService(name) {
			return entity.Errorf(entity.Invalid, "%s: invalid service name %q", key, name)
		}
	}
	return nil
}

// canonicalSubnets returns a list of CIDRs as it is stored.
func canonicalSubnets(key, value string) (string, error) {
	all := splitList(value)
	if err := entity.CheckEgress(all); err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	return strings.Join(all, ","), nil
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

// Plain converts a stored value for JSON and YAML: it returns the settings of type bool as bools.
func (s Setting) Plain(value string) any {
	if s.Type == "bool" {
		return value == "true"
	}
	return value
}

// Parse checks settings from a user and returns them in their stored form, or the error for the first invalid one. As in
// Juju, a key that is not known is no error; it is left out, and Words warns of it.
func Parse(given map[string]string) (map[string]string, error) {
	config := make(map[string]string, len(given))
	for _, key := range slices.Sorted(maps.Keys(given)) {
		value := given[key]
		if key == DefaultBase && value != "" {
			base, err := entity.ParseBase(value, "")
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			key, value = DefaultSeries, base.Series()
		}
		s, err := Find(key)
		if err != nil {
			continue
		}
		if config[key], err = s.Canonical(value); err != nil {
			return nil, err
		}
	}
	return config, CheckProxies(config, nil)
}

// ProxyKinds are the kinds of proxies that a model sets either for all programs (http-proxy) or only for charms
// (juju-http-proxy).
var ProxyKinds = []string{"http", "https", "ftp"}

// CheckProxies returns an Invalid error if a model would have proxies both for all programs and only for
// charms, which are mutually exclusive. set has the changed settings, rest the others.
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
	return entity.WithHint(entity.Errorf(entity.Invalid,
		"cannot specify both legacy proxy values and juju proxy values: %s and %s", all, charms),
		"%s is for all programs, %s only for charms that look for it. To switch, clear one and set the other at once, "+
			"for example: juju model-config %[1]s= %[2]s=http://HOST:PORT", all, charms)
}

// A Value is the value of a setting in one model.
type Value struct {
	Value  string // in its stored form
	Source string // FromModel, …
}

// A Config is all settings of one model, by key.
type Config map[string]Value

// New adds the defaults to the settings of a model. Those without an effect have none. series is the controller's default series.
func New(set map[string]string, series string) Config {
	config := Config{}
	for _, s := range Settings {
		if value, ok := set[s.Key]; ok {
			config[s.Key] = Value{value, FromModel}
		} else if s.Key == DefaultSeries {
			config[s.Key] = Value{series, FromController}
		} else {
			config[s.Key] = Value{s.Default, FromDefault}
		}
	}
	for _, s := range accepted {
		if value, ok := set[s.Key]; ok {
			config[s.Key] = Value{value, FromModel}
		}
	}
	return config
}

// RetryHooks reports whether failed hooks are retried automatically.
func (c Config) RetryHooks() bool { return c[RetryHooks].Value == "true" }

// ProxySSH reports whether clients connect to machines through the controller's.
func (c Config) ProxySSH() bool { return c[ProxySSH].Value == "true" }

// HarvestsUnknown reports whether instances that belong to no known machine are stopped.
func (c Config) HarvestsUnknown() bool {
	mode := c[HarvestMode].Value
	return mode == HarvestUnknown || mode == HarvestAll
}

// HarvestsDestroyed reports whether the instances of destroyed machines are stopped.
func (c Config) HarvestsDestroyed() bool {
	mode := c[HarvestMode].Value
	return mode == HarvestDestroyed || mode == HarvestAll
}

// LockExempt reports whether the hooks of a service's units may run concurrently with other hooks on the machine.
func (c Config) LockExempt(service string) bool {
	return slices.Contains(splitList(c[LockExempt].Value), service)
}

// HostLock reports whether the hooks of a service's units run one at a time with others on the host that machines share.
func (c Config) HostLock(service string) bool {
	return slices.Contains(splitList(c[HostLock].Value), service)
}

// Logging returns the lowest level that each module logs.
func (c Config) Logging() loggo.Config {
	levels, _ := loggo.ParseConfigString(c[Logging].Value) // checked when it was set
	return levels
}

// KeepTasks returns how long finished tasks are kept, and how many bytes they may use; 0 means no limit.
func (c Config) KeepTasks() (age time.Duration, size int64) {
	age, _ = time.ParseDuration(c[TaskAge].Value) // both were checked when they were set
	size, _ = parseSize(c[TaskSize].Value)
	return age, size
}

// UpdateStatusInterval returns the time between update-status hooks of a unit.
func (c Config) UpdateStatusInterval() time.Duration {
	interval, _ := time.ParseDuration(c[UpdateStatus].Value) // checked when it was set
	return interval
}

// Values returns the values by key.
func (c Config) Values() map[string]string {
	values := make(map[string]string, len(c))
	for key, v := range c {
		values[key] = v.Value
	}
	return values
}
