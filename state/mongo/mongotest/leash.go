package mongotest

import (
	"io"
	"os/exec"
	"testing"
)

// leash runs a program until that or the input of the script ends.
const leash = `exec 3<&0
"$@" </dev/null 3<&- & program=$!
{ read -r line; kill $program 2>/dev/null; } <&3 & leash=$!
exec 3<&-
wait $program; code=$?
kill $leash 2>/dev/null
exit $code`

// Leashed returns a command that ends, by SIGTERM, when release is called or this process ends: if a test takes too long, no
// test ends what it has started.
func Leashed(t testing.TB, program string, args ...string) (cmd *exec.Cmd, release io.Closer) {
	t.Helper()
	cmd = exec.Command("sh", append([]string{"-c", leash, "leash", program}, args...)...)
	release, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return cmd, release
}
