#!/usr/bin/env bash
# macaroon 3.0.4 (npm): it can't read the form that pymacaroons 0.13 writes unless it is told otherwise
#
# Guess: the three libraries read each other's macaroons in every form.
# Seen:  Go's macaroon.v2 and pymacaroons do, in binary and in JSON, of versions 1 and 2. The library of npm reads JSON of
#        both versions and binary of version 2, and refuses binary of version 1, which is pymacaroons' default.
. "$(dirname "$0")/lib/expect.sh"
needs go node npm
[ -x /usr/bin/python3 ] || skip "there is no /usr/bin/python3"

debian python3-pymacaroons=0.13.0-6 python3-nacl=1.5.0-2 python3-six
(cd "$tmp" && npm install --silent --no-audit --no-fund --prefix "$tmp" macaroon@3.0.4 >/dev/null 2>&1) || skip "npm can't install macaroon@3.0.4"
cat >"$tmp/write.py" <<'PY'
from pymacaroons import Macaroon, MACAROON_V2
from pymacaroons.serializers import JsonSerializer
for name, version in ("default", {}), ("version2", {"version": MACAROON_V2}):
    m = Macaroon(location="here", identifier="who", key="key", **version)
    m.add_first_party_caveat("a caveat")
    for form, text in ("binary", m.serialize()), ("json", m.serialize(JsonSerializer())):
        with open(name + "." + form, "w") as f:
            f.write(text)
PY
cat >"$tmp/read.js" <<'JS'
const macaroon = require('macaroon'), fs = require('fs'), file = process.argv[2], text = fs.readFileSync(file, 'utf8');
try {
	const m = macaroon.importMacaroon(file.endsWith('.json') ? JSON.parse(text) : text);
	m.verify(Buffer.from('key'), () => null, []);
	console.log('verified');
} catch (e) { console.log(e.message); }
JS
mkdir "$tmp/go"
cat >"$tmp/go/main.go" <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"gopkg.in/macaroon.v2"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	var m macaroon.Macaroon
	if err == nil && strings.HasSuffix(os.Args[1], ".json") {
		err = json.Unmarshal(text, &m)
	} else if err == nil {
		var data []byte
		if data, err = macaroon.Base64Decode(text); err == nil {
			err = m.UnmarshalBinary(data)
		}
	}
	if err == nil {
		err = m.Verify([]byte("key"), func(string) error { return nil }, nil)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("verified")
}
GO
(cd "$tmp/go" && go mod init read && go get gopkg.in/macaroon.v2@v2.1.0 && go build -o read .) >/dev/null 2>&1 || skip "macaroon.v2 can't be had"
cd "$tmp"
PYTHONPATH=$tmp/root/usr/lib/python3/dist-packages /usr/bin/python3 write.py
for file in default.json version2.json version2.binary; do
	expect "Go, $file" verified "$(go/read $file)"
	expect "npm, $file" verified "$(node read.js $file)"
done
expect "Go, default.binary" verified "$(go/read default.binary)"
expect "npm, default.binary" "Version 1 binary format not supported" "$(node read.js default.binary)"
cd /
finish
