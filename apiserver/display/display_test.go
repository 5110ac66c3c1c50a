package display_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"gopkg.in/yaml.v3"

	"juju/apiserver/display"
)

func TestEscaping(t *testing.T) {
	for _, test := range []struct{ text, line string }{
		{"plain, naïve, 日本語, e\u0301, \u00a0 and \u3000", "plain, naïve, 日本語, e\u0301, \u00a0 and \u3000"},
		{"\x1b]0;x\x07", `\x1b]0;x\x07`},
		{"\u009b2J", `\x9b2J`}, // a terminal's other name for ESC [
		{"\u202eabc\u202c", `\u202eabc\u202c`},
		{"\u2066\u2069\u200e\u200f\u061c", `\u2066\u2069\u200e\u200f\u061c`},
		{"\u200b\u200d\ufeff\u00ad\u3164", `\u200b\u200d\ufeff\xad\u3164`},
		{"\u2028\u2029\u0085", `\u2028\u2029\x85`},
		{"\U000e0041", `\U000e0041`}, // a tag
		{"\x7f\x00", `\x7f\x00`},
		{"\xff\xc3", `\xff\xc3`},
		{"a\nb\tc\rd", `a\nb\tc\rd`},
	} {
		if got := display.Line(test.text); got != test.line {
			t.Errorf("Line(%+q) = %+q, want %+q", test.text, got, test.line)
		}
		if again := display.Line(test.line); again != test.line {
			t.Errorf("%q is shown as %q the second time", test.line, again)
		}
	}
	if got := display.Text("a\n\tb\rc\x1b"); got != "a\n\tb"+`\rc\x1b` {
		t.Errorf("%q", got)
	}
	if got := display.Message("a\r\nb\nc\n\n", "> "); got != "a\n> b\n> c" {
		t.Errorf("%q", got)
	}
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "日本": 4, "e\u0301": 1, "Ａ": 2, "ä…": 2} {
		if got := display.Width(text); got != want {
			t.Errorf("%q is %d wide, want %d", text, got, want)
		}
	}
	if got := display.Cut("日本語", 5); got != "日本" {
		t.Errorf("%q", got)
	}
}

// Long lines go on below, indented; aligned lines stay, and words stay whole.
func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"short\n":                       "short\n",
		"one two three four":            "one two\n  three\n  four",
		"  → one two three\nx":          "  → one\n    two\n    three\nx",
		"a  b  ccccccccccc":             "a  b  ccccccccccc",
		"averyveryverylongword and one": "averyveryverylongword\n  and one",
		"日本 日本 日本":                      "日本 日本\n  日本",
	} {
		if got := display.Fold(text, 9); got != want {
			t.Errorf("Fold(%q) = %q, want %q", text, got, want)
		}
	}
}

// What is encoded for programs decodes to the same value, but contains nothing that a terminal
// acts on.
func TestEncoding(t *testing.T) {
	type doc struct {
		Text string            `json:"text" yaml:"text"`
		Map  map[string]string `json:"map" yaml:"map"`
		N    any               `json:"n" yaml:"n"`
		List []string          `json:"list" yaml:"list"`
	}
	for _, text := range []string{"plain", " hi\n", "\n\nhi", "123", "yes", "two\nlines\n", "tab\tonly", "a\ttab\nand a line", " \x1b[2J",
		"\u009b\u202e\u2028\u200b\ufeff\x7f\u0085",
		"#\u202e: - 'x' \"y\" \\u202e", "\U000e0041\U0001f600", "two\nlines\u202e\n\tand a tab", "\r\n", "null", "~", "日本語"} {
		in := doc{text, map[string]string{text: text}, nil, []string{text}}
		encoded, err := display.JSON(in)
		if err != nil {
			t.Fatal(err)
		}
		var out doc
		if err := json.Unmarshal(encoded, &out); err != nil || out.Text != text || out.Map[text] != text || out.List[0] != text {
			t.Errorf("%+q is read from JSON as %+q: %v\n%s", text, out, err, encoded)
		}
		if shown := display.Text(string(encoded)); shown != string(encoded) {
			t.Errorf("JSON of %+q is shown as %s", text, shown)
		}
		if encoded, err = display.YAML(in, 2); err != nil {
			t.Fatal(err)
		}
		out = doc{}
		if err := yaml.Unmarshal(encoded, &out); err != nil || out.Text != text || out.Map[text] != text || out.List[0] != text {
			t.Errorf("%+q is read from YAML as %+q: %v\n%s", text, out, err, encoded)
		}
		if shown := display.Text(string(encoded)); shown != string(encoded) {
			t.Errorf("YAML of %+q is shown as %s", text, shown)
		}
	}
}

func TestWriter(t *testing.T) {
	var b bytes.Buffer
	w := display.NewWriter(&b)
	if display.NewWriter(w) != w {
		t.Error("a writer in front of a writer")
	}
	if n, err := w.Write([]byte("a\x1bb\n")); n != 4 || err != nil {
		t.Error(n, err)
	}
	if _, err := w.Raw().Write([]byte("\x1b[0m")); err != nil {
		t.Error(err)
	}
	if got := b.String(); got != `a\x1bb`+"\n\x1b[0m" {
		t.Errorf("%q", got)
	}
}
