package audit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// options are those of a charm that only the service web and the URL local:x/web-1 have.
func options(service, url string) IsSecretOption {
	return func(option string) (secret, known bool) {
		if url != "local:x/web-1" && (url != "" || service != "web") {
			return false, false
		}
		known = option == "title" || option == "vault" || option == "admin-password"
		return option == "vault", known
	}
}

func TestSecretsAreTakenOut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ about, args, want, text, wantText string }{
		{"nothing secret", `{"application":"web","num-units":0,"force":false,"placement":null,"tags":["a",""]}`,
			`{"application":"web","num-units":0,"tags":["a",""]}`, `service "web" is not alive`, `service "web" is not alive`},
		{"passwords", `{"changes":[{"tag":"user-bob","password":"hunter22"},{"tag":"user-eve","paſſword":"x"}],"secret-key":"a2V5"}`,
			`{"changes":[{"password":"(withheld)","tag":"user-bob"},{"paſſword":"(withheld)","tag":"user-eve"}],"secret-key":"(withheld)"}`,
			`"hunter22" is too short, and "x" is too, six`, `"(withheld)" is too short, and "(withheld)" is too, six`},
		{"a private key", `{"ssh-keys":["ssh-ed25519 AAAA me","-----BEGIN OPENSSH PRIVATE KEY-----\nabc"]}`,
			`{"ssh-keys":["ssh-ed25519 AAAA me","(withheld)"]}`,
			`cannot add "-----BEGIN OPENSSH PRIVATE KEY-----\nabc": no`, `cannot add "(withheld)": no`},
		{"a macaroon", `{"args":[{"macaroon":{"caveats":[],"signature":"0a1b2c3d"},"offer":{"offer-name":"db"}}]}`,
			`{"args":[{"macaroon":"(withheld)","offer":{"offer-name":"db"}}]}`, "0a1b2c3d is wrong", "(withheld) is wrong"},
		{"a URL with a password", `{"config":{"http-proxy":"http://me:s3cret@proxy:1/"},"x":"ftp://me:s3cret@h"}`,
			`{"config":{"http-proxy":"(withheld)"},"x":"ftp://me:(withheld)@h"}`, `bad "ftp://me:s3cret@h"`, `bad "ftp://me:(withheld)@h"`},
		{"settings of a known charm", `{"application":"web","config":{"title":"hi","vault":"secret:abcdef","admin-password":"p","nosuch":"value"}}`,
			`{"application":"web","config":{"admin-password":"(withheld)","nosuch":"(withheld)","title":"hi","vault":"(withheld)"}}`,
			`option "vault": secret:abcdef [9 bytes cut]`, `option "vault": (withheld) [9 bytes cut]`},
		{"settings in a request that can't be read", `{"application":"web","Config":{"vault":"hidden"},"ConfiG-YAML":"web: {vault: hidden}","num-units":"x"}`,
			`{"ConfiG-YAML":{"web":{"vault":"(withheld)"}},"Config":{"vault":"(withheld)"},"application":"web","num-units":"x"}`, "", ""},
		{"settings at a deployment", `{"application":"new","charm-url":"local:x/web-1","config":{"title":"hi","vault":"v"}}`,
			`{"application":"new","charm-url":"local:x/web-1","config":{"title":"hi","vault":"(withheld)"}}`, "", ""},
		{"settings of an unknown charm", `{"application":"other","config":{"title":"hello","n":12345}}`,
			`{"application":"other","config":{"n":"(withheld)","title":"(withheld)"}}`, "hello 12345", "(withheld) (withheld)"},
		{"a file of settings", `{"application":"web","config-yaml":"web: {title: hi, vault: hidden-1}\nother: {title: hidden-2}\n"}`,
			`{"application":"web","config-yaml":{"other":"(withheld)","web":{"title":"hi","vault":"(withheld)"}}}`,
			"hi hidden-1 hidden-2", "hi (withheld) (withheld)"},
		{"what juju config prints", `{"application":"web","config-yaml":"application: web\nsettings:\n  title: {value: hi}\n  vault: {value: hidden, source: user}\n"}`,
			`{"application":"web","config-yaml":{"web":{"title":"hi","vault":"(withheld)"}}}`, "hi hidden", "hi (withheld)"},
		{"a file that can't be read", `{"application":"web","config-yaml":"web: {vault: hidden"}`,
			`{"application":"web","config-yaml":"(withheld)"}`, "line 1: hidden", "(withheld)"},
		{"content of users' secrets", `{"args":[{"uri":"secret:1","content":{"data":{"user":"Ym9iYnk=","pin":"MTIz"}},"label":"login"}]}`,
			`{"args":[{"content":{"data":{"pin":"(withheld)","user":"(withheld)"}},"label":"login","uri":"secret:1"}]}`, "it is Ym9iYnk=", "it is (withheld)"},
		{"content of another form", `{"args":[{"content":{"data":{"user":"Ym9iYnk="},"value":"x"}}]}`, `{"args":[{"content":"(withheld)"}]}`, "", ""},
		{"who asks for content", `{"show-secrets":true,"filter":{"label":"login"}}`, `{"filter":{"label":"login"},"show-secrets":true}`, "", ""},
		{"the end of a secret is cut off", `{"password":"a very long password that goes on"}`, `{"password":"(withheld)"}`,
			"cannot use a very long password th [9 bytes cut]", "cannot use (withheld)"},
		{"no JSON", `{`, `{"left-out":"1 bytes of arguments"}`, "a { b", "(withheld)"},
		{"nothing", "", "", "", ""},
	} {
		r := &Redactor{Options: options}
		if got := string(r.Args(json.RawMessage(test.args))); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.about, got, test.want)
		}
		if got := r.Text(test.text); got != test.wantText {
			t.Errorf("%s: the error is %q, want %q", test.about, got, test.wantText)
		}
	}
}

// Arguments of any size leave an entry of limited size, which says what is missing.
func TestArgumentsAreShortened(t *testing.T) {
	t.Parallel()
	many := func(n int, entry string) string { return "[" + strings.Repeat(entry+",", n-1) + entry + "]" }
	for _, test := range []struct{ args, has string }{
		{fmt.Sprintf(`{"a":%q,"b":"kept"}`, strings.Repeat("x", 5000)), `"b":"kept"`},
		{fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 5000)), `[4000 bytes cut]`},
		{many(1000, `"machine-1"`), "… and 800 more"},
		{many(1000, `"`+strings.Repeat("y", 100)+`"`), "… and 990 more"},
		{many(50, many(50, `"z"`)), "… and 40 more"},
		{many(12, many(12, many(12, many(12, "12345")))), "bytes of arguments"},
		{many(300<<10, "1"), "bytes of arguments"},
	} {
		got := (&Redactor{Options: options}).Args(json.RawMessage(test.args))
		if len(got) > maxArgs || !json.Valid(got) || !strings.Contains(string(got), test.has) {
			t.Errorf("%d bytes of %.50s become %d: %.200s", len(test.args), test.args, len(got), got)
		}
	}
}
