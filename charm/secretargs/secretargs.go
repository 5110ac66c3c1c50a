// Package secretargs reads the content of secrets as commands and hook tools are given it. Its errors quote no value.
package secretargs

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"

	"juju/charm/safeyaml"
	"juju/state/entity"
)

// The suffixes of keys that say what the value is.
const (
	Base64     = "#base64"
	fileSuffix = "#file"
)

// Help says which arguments there are.
const Help = "An argument is key=value, key#base64=value or key#file=path."

// Check returns an error for arguments that are wrong whatever the files have that they name.
func Check(args []string) error {
	content, _, err := parse(args)
	if err != nil || len(content) == 0 {
		return err
	}
	return content.Check()
}

// Content returns the content that arguments and a file of keys and values in YAML or JSON give; nil if there are neither.
// read reads files.
func Content(args []string, file string, read func(path string) ([]byte, error)) (entity.SecretContent, error) {
	content, files, err := parse(args)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := read(f.path)
		if err != nil {
			return nil, fmt.Errorf("reading content for secret key %q: %w", f.key, err)
		}
		if err := checkSize(f.path, text); err != nil {
			return nil, err
		}
		add(content, f.key, string(text))
	}
	if file != "" {
		text, err := read(file)
		if err == nil {
			err = checkSize(file, text)
		}
		if err != nil {
			return nil, err
		}
		var values map[string]string
		if err := safeyaml.Unmarshal(text, &values, safeyaml.Hook); err != nil { // err quotes the text
			return nil, entity.WithHint(fmt.Errorf("secret content in file %q not valid", file),
				"It must be a map of texts, in YAML or JSON.")
		}
		more := entity.SecretContent{}
		for key, value := range values {
			add(more, key, value)
		}
		maps.Copy(content, more)
	}
	if len(content) == 0 {
		return nil, nil
	}
	return content, content.Check()
}

// A valueFile is a file that has the value of a key.
type valueFile struct{ key, path string }

func parse(args []string) (content entity.SecretContent, files []valueFile, err error) {
	content = entity.SecretContent{}
	for i, arg := range args {
		// "=" at the end is the padding of base64.
		at := strings.IndexByte(strings.TrimRight(arg, "="), '=')
		if at < 1 {
			return nil, nil, entity.WithHint(fmt.Errorf("key value %d not valid", i+1), Help)
		}
		key, value := arg[:at], arg[at+1:]
		if key, ok := strings.CutSuffix(key, fileSuffix); ok {
			files = append(files, valueFile{key, value})
			continue
		}
		add(content, key, value)
	}
	return content, files, nil
}

// add adds a value to content, in base64 unless the key's suffix says that it is already.
func add(content entity.SecretContent, key, value string) {
	if key, ok := strings.CutSuffix(key, Base64); ok {
		content[key] = value
		return
	}
	content[key] = base64.StdEncoding.EncodeToString([]byte(value))
}

func checkSize(path string, text []byte) error {
	if len(text) > entity.MaxSecret {
		return fmt.Errorf("secret content in file %q too large: %d bytes", path, len(text))
	}
	return nil
}
