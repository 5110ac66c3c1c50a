package secretargs

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"juju/state/entity"
)

func read(path string) ([]byte, error) {
	text, ok := map[string]string{"cert": "PEM\n", "map": `{"user": "bob", "port": 5432, "raw#base64": "eA=="}`,
		"large": strings.Repeat("x", entity.MaxSecret+1), "list": "- hush"}[path]
	if !ok {
		return nil, os.ErrNotExist
	}
	return []byte(text), nil
}

func TestContent(t *testing.T) {
	got, err := Content([]string{"user=al", "token=a=b", "key#base64=c2VjcmV0", "padded=eA==", "cert#file=cert"}, "map", read)
	want := entity.SecretContent{"user": "Ym9i", "token": "YT1i", "key": "c2VjcmV0", "padded": "ZUE9PQ==", "cert": "UEVNCg==",
		"port": "NTQzMg==", "raw": "eA=="}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("read %v, %v", map[string]string(got), err)
	}
	if got, err := Content(nil, "", read); got != nil || err != nil {
		t.Errorf("nothing is %v, %v", got, err)
	}
}

// Errors say what is wrong, in Juju's words, and quote no value.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		args []string
		file string
		want string
	}{
		{[]string{"hush"}, "", "key value 1 not valid"},
		{[]string{"user=bob", "=hush"}, "", "key value 2 not valid"},
		{[]string{"ab=hush"}, "", `key "ab" not valid`},
		{[]string{"a_b_c=hush"}, "", `key "a_b_c" not valid`},
		{[]string{"key#base64=%hush"}, "", `the value of key "key" is not valid base64`},
		{[]string{"key#file=none"}, "", `reading content for secret key "key": file does not exist`},
		{[]string{"key#file=large"}, "", `secret content in file "large" too large: 1000001 bytes`},
		{nil, "list", `secret content in file "list" not valid`},
		{nil, "none", "file does not exist"},
	} {
		t.Run(fmt.Sprint(c.args, c.file), func(t *testing.T) {
			_, err := Content(c.args, c.file, read)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error()+entity.Hint(err), "hush") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
