package testcalls

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Tests are found that call a function themselves, through a helper, through a method of a type that they name, or
// through test support in another folder; those that only have a method of the same name are not.
func TestCallsAreFollowed(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go": `package a

import ("time"; "m/b/helptest"; nap "time")

func TestItself(t *T)  { time.Sleep(1) }
func TestRenamed(t *T) { nap.Sleep(1) }
func TestHelper(t *T)  { help() }
func TestMethod(t *T)  { var r rig; r.run() }
func TestOther(t *T)   { helptest.Wait() }
func TestNot(t *T)     { x.Sleep(1); helptest.Not() }
func TestMain(m *M)    { time.Sleep(1) }
func help()            { time.Sleep(1) }
func (r *rig) run()    { help() }
`,
		"b/helptest/help.go": "package helptest\n\nimport \"time\"\n\nfunc Wait() { time.Sleep(1) }\n\nfunc Not() {}\n",
		"b/b.go":             "package b\n\nimport \"time\"\n\nfunc TestProduct() { time.Sleep(1) }\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls, err := Read(root, "m")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, test := range calls.Tests(Func{"time", "Sleep"}) {
		names = append(names, test.Dir+" "+test.Name)
	}
	if want := []string{"a TestHelper", "a TestItself", "a TestMethod", "a TestOther", "a TestRenamed"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}
