package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"juju/charm/safeyaml"
	"juju/state/entity"
)

// Withheld replaces a secret.
const Withheld = "(withheld)"

// The limits of an entry's arguments.
const (
	maxRead = 256 << 10 // bytes of a request whose arguments are kept
	maxArgs = 4 << 10   // bytes of the kept arguments
)

// shorter are the limits of texts, and of the number of entries in lists and maps, that are tried one after the other
// until the arguments are short enough.
var shorter = []struct{ text, entries int }{{1000, 200}, {200, 40}, {60, 10}}

// secretName matches the names of values that are secrets.
var secretName = regexp.MustCompile(`(?i)passw|passphrase|secret|token|macaroon|credential|nonce|(private|api|access)[-_. ]?key`)

// urlPassword matches a URL's user and password.
var urlPassword = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://[^/\s:@]*):([^/\s@]+)@`)

// privateKey is a part of every private key in PEM format.
const privateKey = "PRIVATE KEY"

// IsSecretOption reports whether the value of a charm's option is a secret. known is false if the charm is not known.
type IsSecretOption func(option string) (secret, known bool)

// A Redactor takes the secrets out of the arguments of one call.
type Redactor struct {
	// Options returns IsSecretOption for a charm's URL, or if that is empty, for the charm of a service.
	Options func(service, charmURL string) IsSecretOption

	secrets []string // that were taken out
	opaque  bool     // secrets may be in texts that could not be understood
}

// Args returns the arguments of a call without secrets, as JSON of limited size.
func (r *Redactor) Args(request json.RawMessage) json.RawMessage {
	if len(request) == 0 {
		return nil
	}
	if len(request) > maxRead {
		r.opaque = true
		return tooLarge(len(request))
	}
	decoder := json.NewDecoder(bytes.NewReader(request))
	decoder.UseNumber()
	var args any
	if err := decoder.Decode(&args); err != nil {
		r.opaque = true
		return tooLarge(len(request))
	}
	args = r.value(args)
	for _, limit := range shorter {
		text, err := json.Marshal(shorten(args, limit.text, limit.entries))
		if err == nil && len(text) <= maxArgs {
			return text
		}
	}
	return tooLarge(len(request))
}

func tooLarge(size int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"left-out":"%d bytes of arguments"}`, size))
}

// Text returns an error's text without the secrets that Args has taken out, which errors may quote.
func (r *Redactor) Text(text string) string {
	if text == "" {
		return ""
	}
	if r.opaque {
		return Withheld
	}
	for _, secret := range r.secrets {
		forms := []string{secret, strings.Trim(strconv.Quote(secret), `"`)}
		for _, form := range forms {
			if len(form) >= minLoose {
				text = strings.ReplaceAll(text, form, Withheld)
			} else { // it may be a part of any word
				text = strings.ReplaceAll(text, `"`+form+`"`, `"`+Withheld+`"`)
			}
		}
		for _, form := range forms {
			if len(form) <= maxLoose {
				continue
			}
			if i := strings.Index(text, form[:maxLoose]); i >= 0 { // its end has been cut off
				text = text[:i] + Withheld
			}
		}
	}
	return text
}

// A secret is looked for in any text from minLoose bytes on, and its beginning from maxLoose.
const (
	minLoose = 5
	maxLoose = 20
)

// withhold remembers the texts in a secret value, and returns what replaces it.
func (r *Redactor) withhold(v any) any {
	switch v := v.(type) {
	case string:
		if v != "" {
			r.secrets = append(r.secrets, v)
		}
	case json.Number:
		r.secrets = append(r.secrets, v.String())
	case float64:
		r.secrets = append(r.secrets, strconv.FormatFloat(v, 'f', -1, 64))
	case []any:
		for _, e := range v {
			r.withhold(e)
		}
	case map[string]any:
		for _, e := range v {
			r.withhold(e)
		}
	}
	return Withheld
}

// value returns a value of the arguments without secrets, and without what is empty.
func (r *Redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		for i, e := range v {
			v[i] = r.value(e)
		}
	case map[string]any:
		return r.object(v)
	}
	return v
}

func (r *Redactor) text(s string) string {
	if strings.Contains(s, privateKey) {
		r.withhold(s)
		return Withheld
	}
	for _, found := range urlPassword.FindAllStringSubmatch(s, -1) {
		r.withhold(found[2])
	}
	return urlPassword.ReplaceAllString(s, "$1:"+Withheld+"@")
}

func (r *Redactor) object(m map[string]any) any {
	service, _ := m["application"].(string)
	url, _ := m["charm-url"].(string)
	kept := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v := m[name]
		switch field := strings.ToLower(plain(name)); {
		case isEmpty(v):
		case field == "config" || field == "config-settings":
			kept[name] = r.settings(v, r.Options(service, url))
		case field == "config-yaml" || field == "config-settings-yaml":
			kept[name] = r.yaml(v, service, r.Options(service, url))
		case field == "content":
			kept[name] = r.content(v)
		case field == "show-secrets": // whether content was asked for
			kept[name] = v
		case secretName.MatchString(plain(name)):
			kept[name] = r.withhold(v)
		default:
			if v = r.value(v); !isEmpty(v) {
				kept[name] = v
			}
		}
	}
	return kept
}

// content returns the content of a user's secret without its values.
func (r *Redactor) content(v any) any {
	m, _ := v.(map[string]any)
	data, ok := m["data"].(map[string]any)
	if !ok || len(m) > 1 {
		return r.withhold(v)
	}
	for key, value := range data {
		data[key] = r.withhold(value)
	}
	return m
}

// settings returns the settings of a service's charm without the secret ones, or without all values if the charm is not
// known.
func (r *Redactor) settings(v any, isSecret IsSecretOption) any {
	m, ok := v.(map[string]any)
	if !ok {
		return r.withhold(v)
	}
	kept := map[string]any{}
	for name, value := range m {
		secret, known := isSecret(name)
		if !known || secret || secretName.MatchString(plain(name)) {
			kept[name] = r.withhold(value)
		} else {
			kept[name] = r.value(value)
		}
	}
	return kept
}

// yaml is settings for a file with the settings of several services, of which the call uses those of one.
func (r *Redactor) yaml(v any, service string, isSecret IsSecretOption) any {
	text, _ := v.(string)
	services, err := settingsIn([]byte(text))
	if err != nil {
		r.opaque = true
		return Withheld
	}
	kept := map[string]any{}
	for name, settings := range services {
		if name != service {
			kept[name] = r.withhold(settings)
			continue
		}
		var plain any // of JSON's types
		if text, err := json.Marshal(settings); err != nil || json.Unmarshal(text, &plain) != nil {
			r.opaque = true
			return Withheld
		}
		kept[name] = r.settings(plain, isSecret)
	}
	return kept
}

// settingsIn returns the settings by service in a file, which can also be what juju config prints of one.
func settingsIn(text []byte) (services map[string]map[string]any, err error) {
	if err = safeyaml.Unmarshal(text, &services, safeyaml.Default); err == nil {
		return services, nil
	}
	var printed struct {
		Application string
		Own         map[string]struct{ Value any } `yaml:"application-config"`
		Settings    map[string]struct{ Value any }
	}
	if safeyaml.Unmarshal(text, &printed, safeyaml.Default) != nil || printed.Settings == nil {
		return nil, err
	}
	maps.Copy(printed.Settings, printed.Own)
	settings := map[string]any{}
	for name, option := range printed.Settings {
		settings[name] = option.Value
	}
	return map[string]map[string]any{printed.Application: settings}, nil
}

// plain undoes what JSON's decoder ignores in the names of fields.
func plain(name string) string {
	return strings.NewReplacer("\u017f", "s", "\u212a", "k").Replace(name)
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// shorten returns a value whose texts have at most so many bytes, and whose lists and maps so many entries.
func shorten(v any, bytes, entries int) any {
	switch v := v.(type) {
	case string:
		return entity.Cut(v, bytes)
	case []any:
		short := make([]any, 0, min(len(v), entries)+1)
		for _, e := range v[:min(len(v), entries)] {
			short = append(short, shorten(e, bytes, entries))
		}
		if len(v) > entries {
			short = append(short, fmt.Sprintf("… and %d more", len(v)-entries))
		}
		return short
	case map[string]any:
		short := map[string]any{}
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i == entries {
				short["…"] = fmt.Sprintf("and %d more", len(v)-entries)
				break
			}
			short[entity.Cut(name, bytes)] = shorten(v[name], bytes, entries)
		}
		return short
	}
	return v
}
